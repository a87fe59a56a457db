"""What `nsys` mode and an imported timeline show on the screen."""

from typing import NamedTuple

from mla_var3.core import artifacts
from mla_var3.render.layout import WIDTH, paragraph
from mla_var3.render.static_screen import commands
from mla_var3.render.timeline_report import notes
from mla_var3.render.timeline_tables import (
    Rows,
    gap_rows,
    kernel_rows,
    stage_rows,
    summary_rows,
)
from mla_var3.render.timeline_view import TimelineView, headline, scope_text
from mla_var3.render.timeline_words import advice_texts, verdict_texts

COLUMN = 10
KERNELS, GAPS, VERDICTS, NOTES = 5, 3, 8, 6
_LEFT = ("", "Stage", "Operation", "Kind", "Streams", "Model", "After", "Before", "Cause")


class TimelineRequest(NamedTuple):
    """What the screen shows beside the view."""

    folder: str
    """Where the profile lies, as the user would type it; empty: nothing was stored."""
    no_contract: str = ""
    next_steps: tuple[tuple[str, str], ...] = ()


def render_timeline(view: TimelineView, request: TimelineRequest) -> str:
    """The whole screen, as plain text at most 100 columns wide."""
    lines = headline(view)
    if view.profile.failure:
        lines += _paragraph(view.profile.status, view.profile.failure)
    lines += [*_paragraph("window", scope_text(view)), ""]
    texts = verdict_texts(view)
    for text in texts[:VERDICTS]:
        lines += _paragraph("verdict", text)
    if len(texts) > VERDICTS:
        lines += _paragraph("", f"{len(texts) - VERDICTS} more stand in {artifacts.REPORT_MD}")
    for text in advice_texts(view):
        lines += _paragraph("try", text)
    lines += ["", *_aligned(summary_rows(view))]
    stages = stage_rows(view)
    lines += ["", *_aligned(stages or kernel_rows(view, view.findings.window, KERNELS))]
    gaps = gap_rows(view, GAPS)
    if gaps and not view.on_cpu:
        lines += [""]
        for at, idle, _, before, cause, host in gaps[1:]:
            lines += _paragraph("gap", f"{idle} at {at} before {before}: {cause}: {host}")
    said = notes(view)
    for text in said[:NOTES]:
        lines += _paragraph("note", text)
    if len(said) > NOTES:
        lines += _paragraph("", f"{len(said) - NOTES} more stand in {artifacts.REPORT_MD}")
    return "\n".join([*lines, "", *_ending(request)]) + "\n"


def _ending(request: TimelineRequest) -> list[str]:
    """Where it is, and what to type next."""
    lines: list[str] = []
    if request.folder:
        others = f"({artifacts.TIMELINE_SVG}, {artifacts.TIMELINE_JSON}, six .csv)"
        line = f"{'report'.ljust(COLUMN)}{request.folder}/{artifacts.REPORT_MD}"
        both = f"{line}  {others}"
        lines += [both] if len(both) <= WIDTH else [line, f"{' ' * COLUMN}{others}"]
    if request.no_contract:
        lines += _paragraph("contract", request.no_contract)
    steps = commands(request.next_steps, COLUMN)
    if steps:
        lines += [f"{'next'.ljust(COLUMN)}{steps[0].strip()}", *steps[1:]]
    return lines


def _aligned(rows: Rows) -> list[str]:
    """Words to the left, figures to the right; long names are cut until it fits."""
    from mla_var3.render.layout import shorten_name

    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    over = sum(widths) + 2 * (len(widths) - 1) - WIDTH
    if over > 0:
        widths[0] = max(12, widths[0] - over)
    lines = []
    for row in rows:
        cells = [
            shorten_name(cell, width).ljust(width) if heading in _LEFT else cell.rjust(width)
            for cell, width, heading in zip(row, widths, rows[0], strict=True)
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def _paragraph(label: str, text: str) -> list[str]:
    wrapped = paragraph("", text, column=COLUMN, width=WIDTH)
    return [f"{label.ljust(COLUMN)}{wrapped[0].strip()}", *wrapped[1:]] if wrapped else []
