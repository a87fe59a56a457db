"""The tables of annotation mode in rows, for screen and report; the first row is the heading."""

from itertools import groupby

from mla_var3 import conf
from mla_var3.core import units
from mla_var3.core.annotation import RooflineRow, WorkRow
from mla_var3.core.operators import Operator, StageOperators
from mla_var3.core.record import Stage
from mla_var3.render.annotation_view import AnnotationView, is_cpu, speaker
from mla_var3.render.event_regimes import GIGA, TERA
from mla_var3.render.event_table import SLOW_TFLOPS, rate
from mla_var3.render.layout import distinct_names

Rows = list[tuple[str, ...]]
NAME_WIDTH = 20
STAGES = ("Stage", "Duration", "TC%", "DRAM%", "Occ%", "Bottleneck", "Key issue")
MOST_KERNELS = 6
"""Kernels of one stage that the screen lists, the longest ones."""
_INDENT = "  "
_SIDES = {"model": "by model", "counters": "by counters"}


def stage_rows(view: AnnotationView, most: int = MOST_KERNELS) -> Rows:
    """Every stage by ncu; below one of several kernels its longest ones."""
    rows: Rows = [STAGES]
    for stage, kernels in view.profile.of_plan:
        if not kernels:
            verdict = view.verdicts[stage.name]
            rows.append(_stage_row(stage, stage.name, verdict.bound, verdict.key_issue))
            continue
        told = speaker(view, kernels)
        issue = f"{stage.kernel}; {told.key_issue}"
        rows.append(_stage_row(stage, stage.name, told.bound, issue))
        rows += _kernel_rows(view, kernels, most)
    return [STAGES, *_named(rows[1:])]


def total_text(view: AnnotationView) -> str:
    """`1089.4 µs · 541 TFLOP/s · 62 % of the roofline at the measured clock (1.62 GHz of 1.98)`.

    The plan's own time by events, never the sum of ncu's durations.
    """
    whole = view.profile.end_to_end
    time = whole.value("duration") if whole else None
    if whole is None or time is None:
        return f"n/a: {view.run.no_event or 'the plan was not timed end to end'}"
    parts = [f"{units.duration(time)} end to end"]
    flops, moved = whole.value("achieved_tflops"), whole.value("achieved_gbps")
    if flops:
        parts.append(flop_rate(flops))
    elif moved:
        parts.append(f"{rate(moved)} GB/s")
    parts.append(_share_text(view, whole))
    return " · ".join(part for part in parts if part)


def roofline_rows(rows: tuple[RooflineRow, ...]) -> Rows:
    """Each stage against its roof, by the model and by the counters side by side."""
    giga = all(row.tflops is None or row.tflops < SLOW_TFLOPS for row in rows)
    headings = ("Stage", "Work", "FLOP", "Bytes", "FLOP/byte", GIGA if giga else TERA, "GB/s",
                "Roofline", "% of it")  # fmt: skip
    lines: Rows = [headings]
    for row in rows:
        flops = row.tflops * 1e3 if giga and row.tflops is not None else row.tflops
        lines.append(
            (
                row.stage,
                row.state or _SIDES[row.side],
                _figure(row.flops),
                _figure(row.bytes),
                _figure(row.intensity),
                rate(flops),
                rate(row.gbps),
                units.duration(row.roofline_ns),
                f"{row.share_pct:.1f}" if row.share_pct is not None else units.NA,
            )
        )
    return lines


def work_rows(rows: tuple[WorkRow, ...]) -> Rows:
    """Work of the plan against what was counted; a gap beyond the limit bears a mark."""
    lines: Rows = [("Stage", "What", "Model", "Counted", "Gap", "")]
    for row in rows:
        gap = f"{row.gap_pct:+.1f} %".replace("-", "−") if row.gap_pct is not None else units.NA
        mark = f"beyond the limit: {row.note}" if row.flagged else row.note
        model, counted = (
            f"{value:.4g} {row.unit}" if value is not None else units.NA
            for value in (row.model, row.counted)
        )
        lines.append((row.stage, row.what, model, counted, gap, mark))
    return lines


def side_by_side(view: AnnotationView) -> Rows:
    """Stage against stage: one column a stage, one row a figure that any of them has."""
    stages = [stage for stage, _ in view.profile.of_plan]
    facts = {fact["key"]: fact for name in ("metrics", "static") for fact in _facts(name)}
    rows: Rows = [("Figure", *(stage.name for stage in stages))]
    rows.append(("share of ncu's time", *_shares(stages)))
    for key in conf.table("annotation")["side_by_side"]:
        if any(stage.value(key) is not None for stage in stages):
            rows.append((facts[key]["label"], *(_cell(stage, key) for stage in stages)))
    stalls = [_stalls(stage) for stage in stages]
    if any(stalls):
        rows.append(("largest stalls", *(text or units.NA for text in stalls)))
    return rows


def _shares(stages: list[Stage]) -> list[str]:
    """Of the time of all stages; none where the time of one is not known."""
    times = [stage.value("duration") for stage in stages]
    known = [time for time in times if time is not None]
    if len(known) < len(times) or not sum(known):
        return [units.NA] * len(stages)
    return [f"{100.0 * time / sum(known):.1f} %" for time in known]


def operator_rows(found: StageOperators, most: int) -> Rows:
    """The operators of a stage with most time of their own."""
    words = conf.table("annotation")["operators"]["words"]
    total = found.operators_ns
    rows: Rows = [("Operator", "Own time", "% of all", "Calls", GIGA, "What it is")]
    for item in found.operators[:most]:
        share = 100.0 * item.self_ns / total if total else 0.0
        rows.append(
            (
                item.name,
                units.duration(item.self_ns),
                f"{share:.1f}",
                f"{item.calls:.0f}",
                _operator_rate(item),
                words.get(item.name, ""),
            )
        )
    rest = found.operators[most:]
    if rest:
        time = sum(item.self_ns for item in rest)
        part = f"{100.0 * time / total:.1f}" if total else units.NA
        rows.append((f"others ({len(rest)})", units.duration(time), part, "", "", ""))
    return rows


def cpu_rows(view: AnnotationView) -> Rows:
    """Every stage on a CPU: cold and warm, each against the memory that it reads from."""
    rows: Rows = [("Stage", "Cache, roof", "Median", GIGA, "GB/s", "Roofline", "% of it")]
    names = distinct_names([row.stage for row in view.rooflines], NAME_WIDTH)
    for row in view.rooflines:
        rows.append(
            (
                names[row.stage],
                row.state,
                units.duration(row.duration_ns),
                rate(row.tflops * 1e3 if row.tflops is not None else None),
                rate(row.gbps),
                units.duration(row.roofline_ns),
                f"{row.share_pct:.1f}" if row.share_pct is not None else units.NA,
            )
        )
    return rows


def flop_rate(tflops: float) -> str:
    """`541 TFLOP/s`, on slow devices `41.2 GFLOP/s`."""
    if tflops < SLOW_TFLOPS:
        return f"{rate(tflops * 1e3)} {GIGA}"
    return f"{rate(tflops)} {TERA}"


def _stage_row(stage: Stage, name: str, bound: str, issue: str) -> tuple[str, ...]:
    return (
        name,
        units.duration(stage.value("duration")),
        units.percent_cell(stage.value("tensor")),
        units.percent_cell(stage.value("dram")),
        units.percent_cell(stage.value("occupancy")),
        bound if bound != "Unknown" else units.NA,
        issue or units.NA,
    )


def _named(rows: Rows) -> Rows:
    """The rows with their names cut, so that no two of a plan, or of a stage, read alike."""
    named: Rows = []
    for inner, part in groupby(rows, key=lambda row: row[0].startswith(_INDENT)):
        own = list(part)
        indent = _INDENT if inner else ""
        shown = distinct_names([row[0].strip() for row in own], NAME_WIDTH - len(indent))
        named += [(indent + shown[row[0].strip()], *row[1:]) for row in own]
    return named


def _kernel_rows(view: AnnotationView, kernels: tuple[Stage, ...], most: int) -> Rows:
    """The longest kernels of one stage, in their own order, then the sum of the others."""
    ranked = sorted(kernels, key=lambda kernel: -(kernel.value("duration") or 0.0))
    shown = ranked[:most]
    rows = []
    for kernel in kernels:
        if kernel in shown:
            verdict = view.verdicts[kernel.name]
            name = f"{_INDENT}{kernel.name.partition(': ')[2] or kernel.name}"
            rows.append(_stage_row(kernel, name, verdict.bound, verdict.key_issue))
    rest = ranked[most:]
    if rest:
        time = sum(kernel.value("duration") or 0.0 for kernel in rest)
        cells = ("",) * 4
        rows.append((f"{_INDENT}others ({len(rest)})", units.duration(time), *cells, ""))
    return rows


def _share_text(view: AnnotationView, whole: Stage) -> str:
    """Share of the roofline, at the measured clock where it is known."""
    at_clock = whole.value("clock_share")
    if at_clock is None:
        share = whole.value("roofline_share")
        if share is None:
            return whole.missing.get("roofline_share", "")
        where = "this CPU's own rates" if is_cpu(view) else "the rated peaks"
        return f"{share:.0f} % of the roofline at {where}"
    clock, most = whole.value("sm_clock"), view.profile.environment.clock_max_hz
    of = f" of {most / 1e9:.2f}" if most else ""
    reasons = view.timing.clock.reasons if view.timing and view.timing.clock else ()
    held = f", {', '.join(reasons)}" if reasons else ""
    told = f" ({clock / 1e9:.2f} GHz{of}{held})" if clock else ""
    return f"{at_clock:.0f} % of the roofline at the measured clock{told}"


def _figure(value: float | None) -> str:
    return units.NA if value is None else f"{value:.4g}"


def _cell(stage: Stage, key: str) -> str:
    metric = stage.metrics.get(key)
    if metric is None:
        return units.NA
    if metric.unit == "ns":
        return units.duration(metric.value)
    if metric.unit == "Hz":
        return f"{metric.value / 1e9:.2f} GHz"
    whole = float(metric.value).is_integer() and abs(metric.value) < 1e6
    shown = f"{metric.value:.0f}" if whole else f"{metric.value:.3g}"
    return f"{shown} {metric.unit}"


def _stalls(stage: Stage) -> str:
    if stage.stalls is None:
        return ""
    named = [
        f"{name} {share:.0f} %"
        for name, share in stage.stalls.parts.items()
        if name not in ("selected", "not_selected")
    ]
    return ", ".join(named[:2])


def _operator_rate(item: Operator) -> str:
    return rate(item.flops / item.self_ns) if item.flops and item.self_ns else ""


def _facts(name: str) -> list[dict[str, str]]:
    table = conf.table(name)
    return [*table.get("facts", []), *table.get("metrics", [])]
