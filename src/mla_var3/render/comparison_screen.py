"""What `mla compare` shows: a verdict a shape, their mean, and every doubt."""

from mla_var3.core import units
from mla_var3.core.comparison import Comparison
from mla_var3.core.comparison_verdict import ComparisonVerdict
from mla_var3.render.comparison_table import (
    Row,
    headings,
    mean_text,
    method_text,
    outputs_text,
    problem_text,
    rows,
    self_check_text,
    shape_name,
    sides_text,
    varying,
)
from mla_var3.render.layout import WIDTH, flow, paragraph, shorten
from mla_var3.render.static_screen import commands

COLUMN = 10
"""Where the text beside a label begins."""
DETAIL = 5
GAP = "  "


def render_comparison(
    comparison: Comparison,
    verdict: ComparisonVerdict,
    folder: str = "",
    next_steps: tuple[tuple[str, str], ...] = (),
) -> str:
    """The whole screen as plain text, at most 100 columns wide."""
    lines = [*flow(headline(comparison, verdict), indent=GAP), ""]
    lines += _table(comparison, verdict)
    if len(verdict.shapes) > 1:
        lines += flow(mean_text(verdict).split(" · "), indent=GAP)
    noted = notes(comparison, verdict)
    lines += ["", *(line for note in noted for line in _labelled("note", note))] if noted else []
    if folder:
        lines += ["", *_report(f"{folder}/report.md")]
    steps = commands(next_steps, COLUMN)
    if steps:
        lines += [f"{'next'.ljust(COLUMN)}{steps[0].strip()}", *steps[1:]]
    return "\n".join(lines) + "\n"


def headline(comparison: Comparison, verdict: ComparisonVerdict) -> list[str]:
    """What is compared on what, and how."""
    where = comparison.shapes[0].a
    check = "" if comparison.across_runs else self_check_text(verdict)
    parts = (
        sides_text(comparison),
        problem_text(comparison),
        where.gpu or "",
        f"clocks {where.clocks}" if where.clocks else "",
        method_text(comparison, verdict),
        check,
        outputs_text(comparison),
    )
    return [part for part in parts if part]


def notes(comparison: Comparison, verdict: ComparisonVerdict) -> list[str]:
    """Doubts of single shapes, why cycles are missing, and advice; each once."""
    told: dict[str, list[str]] = {}
    for shape, judged in zip(comparison.shapes, verdict.shapes, strict=True):
        missing = judged.time and not judged.cycles and judged.no_cycles
        why = [f"cycles {units.NA}: {judged.no_cycles}"] if missing else []
        for note in (*judged.notes, *why):
            told.setdefault(note, []).append(shape_name(comparison, shape))
    found = list(comparison.warnings)
    for note, where in told.items():
        everywhere = len(where) == len(verdict.shapes)
        found.append(note if everywhere else f"{', '.join(where)}: {note}")
    return list(dict.fromkeys([*found, *verdict.notes]))


def _table(comparison: Comparison, verdict: ComparisonVerdict) -> list[str]:
    """Figures to the right, the verdict to the left; what does not fit goes to a line of its own:
    what a shape is above its row, what explains the word below it.
    """
    head, body = headings(comparison, verdict), rows(comparison, verdict)
    named = 0
    gap = GAP if _width(head, body, GAP) <= WIDTH else " "
    if _width(head, body, gap) > WIDTH:
        named = len(varying(comparison))
        head, body = head[named:], [row._replace(cells=row.cells[named:]) for row in body]
    widths = [
        max(map(len, column)) for column in zip(head, *(row.cells for row in body), strict=True)
    ]
    lines = [_line(head, widths, gap)]
    for row, shape in zip(body, comparison.shapes, strict=True):
        if named:
            lines.append(shorten(shape_name(comparison, shape), WIDTH))
        line = _line(row.cells, widths, gap)
        told = f"{line} ({row.detail})" if row.detail else line
        if len(told) <= WIDTH:
            lines.append(told)
        else:
            lines += [line, *paragraph("", row.detail, column=DETAIL)]
    return lines


def _width(head: tuple[str, ...], body: list[Row], gap: str) -> int:
    columns = zip(head, *(row.cells for row in body), strict=True)
    return sum(max(map(len, column)) for column in columns) + len(gap) * (len(head) - 1)


def _line(cells: tuple[str, ...], widths: list[int], gap: str) -> str:
    *figures, word = cells
    aligned = (cell.rjust(width) for cell, width in zip(figures, widths, strict=False))
    return f"{gap.join(aligned)}{gap}{word}".rstrip()


def _report(path: str) -> list[str]:
    """The path is never broken: it is there to be copied."""
    whole = f"{'report'.ljust(COLUMN)}{path}"
    for lines in ([f"{whole}  (comparison.json)"], [whole, f"{' ' * COLUMN}(comparison.json)"]):
        if len(lines[0]) <= WIDTH:
            return lines
    return ["report  (comparison.json)", f"{GAP}{path}"]


def _labelled(label: str, text: str) -> list[str]:
    wrapped = paragraph("", text, column=COLUMN)
    return [f"{label.ljust(COLUMN)}{wrapped[0].strip()}", *wrapped[1:]] if wrapped else []
