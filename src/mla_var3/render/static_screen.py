"""What `static` shows: the compiled stages, what their code gives away, and what to do next."""

from collections.abc import Sequence

import msgspec

from mla_var3.core.diagnosis import ProfileDiagnosis
from mla_var3.core.params import params_text
from mla_var3.core.record import PlanIdentity, Profile
from mla_var3.render.layout import WIDTH, flow, paragraph, plain
from mla_var3.render.static_table import LEFT, Totals, rows

NO_FINDING = "none in the compiled code"
NOTHING_COMPILED = "nothing was compiled: only the model speaks"
COLUMN = 10
"""Where the text beside a label begins."""


class StaticRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What the screen shows beside the record and its diagnosis."""

    arch: str
    folder: str
    """Where the profile lies, as the user would type it."""
    totals: Totals
    advice: dict[str, str] = {}
    """Text of a finding to what to do about it."""
    no_contract: str = ""
    next_steps: tuple[tuple[str, str], ...] = ()
    """Commands to type next, and what each gives."""


def render_static(profile: Profile, diagnosis: ProfileDiagnosis, request: StaticRequest) -> str:
    """What follows the headline, as plain text at most 100 columns wide."""
    lines = [*_notes(diagnosis), ""]
    lines += aligned(rows(profile, diagnosis, request.totals))
    lines += ["", *_findings(profile, diagnosis, request.advice), *_missing(profile), ""]
    lines += _report(request)
    if request.no_contract:
        lines += _paragraph("contract", request.no_contract)
    steps = commands(request.next_steps, COLUMN)
    if steps:
        lines += [_line("next", steps[0].strip()), *steps[1:]]
    return "\n".join(lines) + "\n"


def commands(steps: Sequence[tuple[str, str]], indent: int) -> list[str]:
    """Commands with what each gives beside it, or below it where the line would be too long."""
    room = WIDTH - indent - 3 - max((len(gives) for _, gives in steps), default=0)
    width = max((len(command) for command, _ in steps if len(command) <= room), default=0)
    lines = []
    for command, gives in steps:
        if len(command) <= room:
            lines.append(f"{' ' * indent}{command.ljust(width)}   {gives}")
        else:
            lines += [f"{' ' * indent}{command}", f"{' ' * (indent + 4)}{gives}"]
    return lines


def headline(plan: PlanIdentity, target: str, arch: str) -> list[str]:
    """`flash_mla v1 · cutile · b=32 … · for NVIDIA H200 (sm_90)`: what is compiled for what.

    `target` is the product's name, or the architecture once more.
    """
    target = f"for {plain(target)} ({arch})" if target != arch else f"for {arch}"
    version = plan.version or "base"
    parts = [f"{plan.kernel} {version}", plan.language, params_text(plan.params), target]
    return flow(parts, indent="  ")


def aligned(table: list[tuple[str, ...]]) -> list[str]:
    """Rows with their columns aligned: words to the left, figures to the right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    roomy = sum(widths) + 2 * (len(widths) - 1) <= WIDTH
    left = [heading in LEFT for heading in table[0]]
    lines = []
    for row in table:
        cells = (
            cell.ljust(width) if is_left else cell.rjust(width)
            for cell, width, is_left in zip(row, widths, left, strict=True)
        )
        lines.append(("  " if roomy else " ").join(cells).rstrip())
    return lines


def _report(request: StaticRequest) -> list[str]:
    others = "profile.json, compiled/" if request.no_contract else "contract.md, profile.json, …"
    line = _line("report", f"{request.folder}/report.md")
    both = f"{line}  ({others})"
    return [both] if len(both) <= WIDTH else [line, _line("", f"({others})")]


def _notes(diagnosis: ProfileDiagnosis) -> list[str]:
    return [line for note in diagnosis.notes for line in flow([note])]


def _findings(profile: Profile, diagnosis: ProfileDiagnosis, advice: dict[str, str]) -> list[str]:
    """Each finding with its stage and what to do; stages that share one are named together."""
    stages: dict[str, list[str]] = {}
    for verdict in diagnosis.stages:
        for item in verdict.evidence:
            stages.setdefault(item.text, []).append(verdict.stage)
    lines: list[str] = []
    for text, names in stages.items():
        lines += _paragraph("finding", f"{', '.join(names)}: {text}")
        if text in advice:
            lines += _paragraph("  try", advice[text])
    if lines:
        return lines
    compiled = any(stage.value("registers") is not None for stage in profile.stages)
    return [_line("finding", NO_FINDING if compiled else NOTHING_COMPILED)]


def _missing(profile: Profile) -> list[str]:
    """Why figures of the table are n/a, each reason once."""
    shown = ("registers", "spill_bytes", "waves", "roofline_time", "ceiling_time")
    reasons: dict[str, list[str]] = {}
    for stage in profile.stages:
        for key in shown:
            if key in stage.missing:
                names = reasons.setdefault(stage.missing[key], [])
                names += [stage.name] if stage.name not in names else []
    return [
        line
        for reason, names in reasons.items()
        for line in _paragraph("n/a", f"{', '.join(names)}: {reason}")
    ]


def _line(label: str, text: str) -> str:
    return f"{label.ljust(COLUMN)}{text}"


def _paragraph(label: str, text: str) -> list[str]:
    wrapped = paragraph("", text, column=COLUMN, width=WIDTH)
    return [_line(label, wrapped[0].strip()), *wrapped[1:]] if wrapped else []
