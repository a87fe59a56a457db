"""The diagnosis on one screen: a header, a block a kernel, and what to type next."""

import msgspec

from mla_var3.core import units
from mla_var3.core.device import Device, check_peak
from mla_var3.core.diagnosis import Diagnosis, ProfileDiagnosis
from mla_var3.core.record import Profile, Stage
from mla_var3.render.kernel_block import (
    CLASS_WORDS,
    LINES,
    detail_lines,
    open_points,
    verdict_lines,
)
from mla_var3.render.layout import WIDTH, flow, items, paragraph, plain

NAME_WIDTH = 18
CROWDED = 4
"""From more kernels than this on, a label takes one line, so that all fit one screen."""


class ScreenRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What the screen shows beside the record and its diagnosis."""

    title: str
    """The file's name, as the first line shows it."""
    device: Device | None = None
    top: int = 10
    """Kernels shown, the longest ones; the others are summed."""
    next_step: tuple[str, str] = ("", "")
    """The command to type next, and what it gives."""


def render_screen(profile: Profile, diagnosis: ProfileDiagnosis, request: ScreenRequest) -> str:
    """The whole screen as plain text, at most 100 columns wide."""
    verdicts = {verdict.stage: verdict for verdict in diagnosis.stages}
    shown = longest(profile.stages, request.top)
    width = name_width(shown)
    lines = [*flow(header_parts(profile, request.title), indent="  "), ""]
    most = 1 if len(shown) > CROWDED else LINES
    common = _common(shown, verdicts)
    for position, stage in enumerate(profile.stages, start=1):
        if stage in shown:
            lines += verdict_lines(position, stage, verdicts[stage.name], width)
            lines += detail_lines(stage, verdicts[stage.name], most, common)
    rest = [stage for stage in profile.stages if stage not in shown]
    if rest:
        lines.append(_others(rest, verdicts, width))
    notes = [paragraph("note", text, LINES) for text in remarks(profile, diagnosis, request.device)]
    for label, texts in common.items():
        first = [f"all kernels: {text}" for text in texts[:1]]
        notes.append(items(label, first + texts[1:], 2 * LINES))
    notes = [note for note in notes if note]
    lines += ["", *(line for note in notes for line in note)] if notes else []
    return "\n".join([*lines, "", *_last(profile.stages, request.next_step)]) + "\n"


def header_parts(profile: Profile, title: str) -> list[str]:
    """File, device, capture version, number of kernels, SM clock (range, limit, locked or not)."""
    environment = profile.environment
    tool = environment.capture_tool
    return [
        plain(title),
        plain(environment.device or "device n/a"),
        f"captured by {plain(tool)}" if tool else "capture version n/a",
        units.count(len(profile.stages), "kernel"),
        _clocks(profile),
    ]


def longest(stages: tuple[Stage, ...], top: int) -> list[Stage]:
    """The `top` longest launches, in the order of the report."""
    ranked = sorted(range(len(stages)), key=lambda i: -(stages[i].value("duration") or 0.0))
    return [stages[i] for i in sorted(ranked[:top])]


def name_width(stages: list[Stage]) -> int:
    """Columns of the name column."""
    return min(NAME_WIDTH, max((len(stage.name) for stage in stages), default=0))


def _clocks(profile: Profile) -> str:
    environment = profile.environment
    clocks = [c for stage in profile.stages if (c := stage.value("sm_clock"))]
    if not clocks:
        return "SM clock n/a"
    limit = environment.clock_max_hz
    of = f" of {limit / 1e9:.2f}" if limit else ""
    lock = {True: " (locked)", False: " (not locked)", None: ""}[environment.clocks_locked]
    return f"SM clock {units.clock_range(clocks)}{of}{lock}"


def _common(stages: list[Stage], verdicts: dict[str, Diagnosis]) -> dict[str, list[str]]:
    """By label, what holds for every kernel shown and is therefore said once, at the end."""
    if len(stages) < 2:
        return {}
    points = [open_points(stage, verdicts[stage.name]) for stage in stages]
    return {
        label: [text for text in texts if all(text in p[label] for p in points)]
        for label, texts in points[0].items()
    }


def _others(stages: list[Stage], verdicts: dict[str, Diagnosis], width: int) -> str:
    times = [stage.value("duration") for stage in stages]
    known = [time for time in times if time is not None]
    total = units.total(sum(known) if len(known) == len(times) else None)
    bounds = [verdicts[stage.name].bound for stage in stages]
    classes = " · ".join(f"{bounds.count(b)} {CLASS_WORDS[b]}" for b in dict.fromkeys(bounds))
    name = f"others ({len(stages)})".ljust(width)
    return f"   {name}  {total.rjust(10)}   {classes}"[:WIDTH]


def remarks(profile: Profile, diagnosis: ProfileDiagnosis, device: Device | None) -> list[str]:
    """Notes and doubts that concern the whole file, each once."""
    texts = [profile.failure, *profile.warnings, *diagnosis.notes]
    name = profile.environment.device
    if name and device is None:
        texts.append(f"{name} is not in the device table: no peaks to compare with (--devices)")
    if device is not None:
        checks = [check_peak(device, dtype) for dtype in device.peaks]
        texts += [f"doubtful peak, {check.text}" for check in checks if check.doubtful]
    texts += [f"{key}: {why}" for key, why in profile.missing.items()]
    return list(dict.fromkeys(plain(text) for text in texts if text))


def _last(stages: tuple[Stage, ...], step: tuple[str, str]) -> list[str]:
    known = [time for stage in stages if (time := stage.value("duration")) is not None]
    total = units.total(sum(known)) if len(known) == len(stages) else f"{units.total(sum(known))}+"
    text = f"{units.count(len(stages), 'kernel')}, {total if known else 'duration n/a'}."
    command, gives = step
    if not command:
        return [text]
    line = f"{text} Next: {command}   {gives}".rstrip()
    return [line] if len(line) <= WIDTH else [text, f"Next: {command}", f"      {gives}"]
