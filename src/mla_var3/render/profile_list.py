"""The table of stored profiles."""

from collections.abc import Sequence

import msgspec

from mla_var3.render.layout import WIDTH, shorten

NOTHING = "No profiles are stored here yet. Store one with: mla import report.ncu-rep\n"


class StoredProfile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One folder of the store; `damage` says why it cannot be read."""

    folder: str
    """Relative to the root of the store: `mode/kernel/params/time`."""
    mode: str = ""
    kernel: str = ""
    params: str = ""
    time: str = ""
    status: str = ""
    bottleneck: str = ""
    """The class of its contract; empty without one."""
    damage: str = ""


def render_list(profiles: Sequence[StoredProfile], root: str) -> str:
    """One line a profile by folder; damaged ones with the reason. `root` as the user types it."""
    if not profiles:
        return NOTHING
    sound = [profile for profile in profiles if not profile.damage]
    damaged = [profile for profile in profiles if profile.damage]
    lines = []
    if sound:
        lines.append(f"{'status':<13}  {'class':<8}  mode/kernel/params/time")
    for profile in sound:
        word = profile.bottleneck or "n/a"
        lines.append(shorten_tail(f"{profile.status:<13}  {word:<8}  {profile.folder}"))
    lines += [shorten(f"damaged: {entry.folder}: {entry.damage}", WIDTH) for entry in damaged]
    numbers = f"{len(sound)} stored" + (f", {len(damaged)} damaged" if damaged else "")
    newest = max(sound, key=lambda profile: profile.time, default=None)
    verb = "report" if newest and newest.mode in ("compare", "race") else "diagnose"
    step = f". Next: mla {verb} {root}/{newest.folder}" if newest else "."
    last = [numbers + step] if len(numbers + step) <= WIDTH else [numbers + ".", step[2:]]
    return "\n".join([*lines, "", *last]) + "\n"


def shorten_tail(line: str) -> str:
    """A table line cut at 100 columns; its inner blanks stay."""
    return line if len(line) <= WIDTH else line[: WIDTH - 1] + "…"
