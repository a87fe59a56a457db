"""What annotation mode shows: stages, the plan end to end, why, what to try, and since when."""

import msgspec

from mla_var3.core import units
from mla_var3.core.annotation import AcrossRuns
from mla_var3.render.annotation_tables import (
    Rows,
    cpu_rows,
    operator_rows,
    stage_rows,
    total_text,
)
from mla_var3.render.annotation_view import AnnotationView, is_cpu
from mla_var3.render.event_regimes import burst_text
from mla_var3.render.layout import WIDTH, paragraph, shorten
from mla_var3.render.static_screen import commands

COLUMN = 10
"""Where the text beside a label begins."""
LEFT = ("Stage", "Bottleneck", "Key issue", "Operator", "Cache, roof", "What it is")
OPERATORS_SHOWN = 6


class AnnotationRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What the screen shows beside the view."""

    folder: str
    """Where the profile lies, as the user would type it."""
    no_contract: str = ""
    next_steps: tuple[tuple[str, str], ...] = ()
    """Commands to type next, and what each gives."""


def render_annotation(view: AnnotationView, request: AnnotationRequest) -> str:
    """What follows the headline, as plain text at most 100 columns wide."""
    lines = [*labelled("tune", tune_text(view)), *labelled("measure", measure_text(view)), ""]
    if view.profile.failure:
        lines += [*labelled("PARTIAL", view.profile.failure), ""]
    if is_cpu(view):
        lines += aligned(cpu_rows(view))
        lines += _operators(view)
    else:
        lines += aligned(stage_rows(view))
    lines += labelled("total", total_text(view))
    if view.timing is not None:
        lines += labelled("regimes", burst_text(view.timing))
    lines += ["", *labelled("Why", view.diagnosis.root_cause)]
    for number, item in enumerate(view.diagnosis.opportunities, start=1):
        bound = f" ({item.bound})" if item.bound else ""
        text = f"{number}. {item.name}, up to {units.gain(item.gain_pct)} %{bound}"
        label = "Try" if number == 1 else ""
        lines += labelled(label, f"{text} · trigger: {item.trigger}")
    if view.run.before is not None:
        lines += labelled(before_label(view, view.run.before), before_text(view.run.before))
    for text in notes(view):
        lines += labelled("note", text)
    lines += ["", *_report(request)]
    if request.no_contract:
        lines += labelled("contract", request.no_contract)
    steps = commands(request.next_steps, COLUMN)
    if steps:
        lines += [f"{'next'.ljust(COLUMN)}{steps[0].strip()}", *steps[1:]]
    return "\n".join(lines) + "\n"


def tune_text(view: AnnotationView) -> str:
    """`latent: default tiling, not tuned · combine: typed`; empty where nothing can be chosen."""
    words = {"default": "default tiling, not tuned", "typed": "typed tiling"}
    return " · ".join(
        f"{stage}: {words.get(source, source)}" for stage, source in view.run.tilings.items()
    )


def measure_text(view: AnnotationView) -> str:
    """`event 8.1 s (640 samples) · ncu 14 passes 6.8 s (84 counters, cold caches)`."""
    run, parts = view.run, []
    if run.event_s is not None and view.timing is not None:
        series = view.timing.series
        count = f"{len(series.samples_ns)} samples, {series.cache} cache"
        parts.append(f"event {run.event_s:.1f} s ({count})")
    if run.ncu_s is not None:
        passes = f"{run.passes} passes " if run.passes else ""
        parts.append(f"ncu {passes}{run.ncu_s:.1f} s ({run.counters} counters, cold caches)")
    if run.no_counters:
        parts.append("ncu without a result")
    if run.operators_s is not None:
        parts.append(f"operators {run.operators_s:.1f} s")
    return " · ".join(parts)


def before_label(view: AnnotationView, before: AcrossRuns) -> str:
    """`vs last` for the same version, `vs v0`-like for another."""
    same = before.version == (view.plan.version or "base")
    return "vs last" if same else f"vs {before.version}"


def before_text(before: AcrossRuns) -> str:
    """What changed since the last stored profile, or why that cannot be said."""
    when = f"{before.created[:16].replace('T', ' ')}, across runs (not interleaved)"
    if before.differs:
        return f"{when}: not comparable: {'; '.join(before.differs)}"
    time = next((change for change in before.changes if change.label.startswith("duration")), None)
    if time is None or before.ratio is None:
        return f"{when}: no time to compare"
    noted = f"{', '.join(before.notes)}; " if before.notes else ""
    previous, current = (units.duration(m.value) for m in (time.previous, time.current))
    change = abs(100.0 * (before.ratio - 1.0))
    said = (
        f"about {before.ratio:.2f}×"
        if change > before.floor_pct
        else f"within the {before.floor_pct:.0f} % by which separate runs differ"
    )
    return f"{noted}{previous} → {current}, {when}: {said}"


def notes(view: AnnotationView) -> list[str]:
    """Doubts about the run as a whole, each once."""
    texts = [*view.profile.warnings, *_flagged(view), *view.diagnosis.notes]
    return list(dict.fromkeys(texts))


def labelled(label: str, text: str) -> list[str]:
    """`measure   text…`, wrapped under the text's own column; nothing for no text."""
    wrapped = paragraph("", text, column=COLUMN, width=WIDTH)
    return [f"{label.ljust(COLUMN)}{wrapped[0].strip()}", *wrapped[1:]] if wrapped else []


def aligned(table: Rows) -> list[str]:
    """Words to the left, figures to the right; a last column of words is cut to fit."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    left = [heading in LEFT for heading in table[0]]
    room = WIDTH - sum(widths[:-1]) - 2 * (len(widths) - 1)
    lines = []
    for row in table:
        cells = [
            cell.ljust(width) if is_left else cell.rjust(width)
            for cell, width, is_left in zip(row, widths, left, strict=True)
        ]
        if left[-1]:
            cells[-1] = shorten(row[-1], max(room, 8))
        lines.append("  ".join(cells).rstrip())
    return lines


def _flagged(view: AnnotationView) -> list[str]:
    """Counted work that is not the plan's own, in one line; the report has each with its reason."""
    texts = []
    for row in view.work:
        if row.flagged and row.gap_pct is not None and row.what != "bytes written":
            gap = f"{row.gap_pct:+.0f} %".replace("-", "−")
            texts.append(f"{row.stage} {row.what} {gap}")
    if not texts:
        return []
    return [f"counted against the plan's own work: {', '.join(texts)} (reasons: report.md)"]


def _operators(view: AnnotationView) -> list[str]:
    """The operators of the longest stage."""
    if view.operators is None:
        return []
    longest = max(view.operators.stages, key=lambda stage: stage.operators_ns)
    title = [f"operators of {longest.stage}"] if len(view.operators.stages) > 1 else []
    return ["", *title, *aligned(operator_rows(longest, OPERATORS_SHOWN)), ""]


def _report(request: AnnotationRequest) -> list[str]:
    others = "profile.json, plots/" if request.no_contract else "contract.md, profile.json, …"
    line = f"{'report'.ljust(COLUMN)}{request.folder}/report.md"
    both = f"{line}  ({others})"
    return [both] if len(both) <= WIDTH else [line, f"{' ' * COLUMN}({others})"]
