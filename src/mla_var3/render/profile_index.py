"""`index.md`: the overview page of a store, a row a profile with links to its reports."""

from collections.abc import Sequence
from urllib.parse import quote

import msgspec

from mla_var3.core import units
from mla_var3.render.layout import plain
from mla_var3.render.profile_list import StoredProfile

LEFT = (
    "Left by runs that failed or were killed. Logs and raw data are kept until you delete the "
    "folder; without any, the next run of the same problem removes it."
)


class IndexEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One stored profile, its time, and the reports that lie in its folder."""

    stored: StoredProfile
    duration_ns: float | None = None
    """End to end, else the sum of its stages; None: not measured, or not all of them."""
    reports: tuple[str, ...] = ()


class IndexLeftover(msgspec.Struct, frozen=True, kw_only=True):
    """A folder that is no profile: of a run that failed or was killed, or that goes on."""

    folder: str
    """Below the root of the store."""
    raw: tuple[str, ...] = ()
    """What was measured or logged there."""
    in_use: bool = False


def render_index(entries: Sequence[IndexEntry], left: Sequence[IndexLeftover] = ()) -> str:
    """The page as Markdown: by kernel and problem, the newest first; damaged ones at the end, then
    what is no profile.
    """
    sound = [entry for entry in entries if not entry.stored.damage]
    damaged = [entry for entry in entries if entry.stored.damage]
    numbers = f"{units.count(len(sound), 'stored profile')}"
    if damaged:
        numbers += f", {len(damaged)} damaged"
    lines = ["# Profiles", "", f"{numbers}. Times of separate runs are not a comparison.", ""]
    if sound:
        lines += ["| Kernel | Problem | Mode | Time (UTC) | Status | Class | Duration | Files |"]
        lines += ["|---|---|---|---|---|---|---|---|"]
        lines += map(_row, _ordered(sound))
    if damaged:
        lines += ["", "## Damaged", ""]
        lines += [f"- {_md(e.stored.folder)}: {_md(e.stored.damage)}" for e in damaged]
    if left:
        lines += ["", "## No profiles", "", LEFT, ""]
        lines += [f"- {_md(item.folder)}: {_holds(item)}" for item in left]
    return "\n".join(lines) + "\n"


def _holds(item: IndexLeftover) -> str:
    if item.in_use:
        return "in use: a run fills it now"
    return _md(", ".join(item.raw)) or "nothing that was measured"


def _ordered(entries: list[IndexEntry]) -> list[IndexEntry]:
    newest = sorted(entries, key=lambda entry: entry.stored.time, reverse=True)
    return sorted(newest, key=lambda entry: (entry.stored.kernel, entry.stored.params))


def _row(entry: IndexEntry) -> str:
    stored = entry.stored
    links = " ".join(f"[{_md(n)}]({quote(f'{stored.folder}/{n}')})" for n in entry.reports)
    cells = (
        _md(stored.kernel),
        _md(stored.params.replace("_", " ")),
        stored.mode,
        _md(stored.time),
        stored.status,
        stored.bottleneck or units.NA,
        units.duration(entry.duration_ns),
        links or units.NA,
    )
    return f"| {' | '.join(cells)} |"


def _md(text: str) -> str:
    """Text that Markdown shows as it is, also inside a table."""
    for mark in ("\\", "|", "*", "_", "`", "<", "["):
        text = text.replace(mark, "\\" + mark)
    return plain(text)
