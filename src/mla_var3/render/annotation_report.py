"""`report.md` of annotation mode: stages, both sides of the roofline, comparisons, every figure."""

from mla_var3 import conf
from mla_var3.core import artifacts, units
from mla_var3.core.annotation import AcrossRuns
from mla_var3.core.record import Stage
from mla_var3.render.annotation_screen import before_text, measure_text, notes, tune_text
from mla_var3.render.annotation_tables import (
    Rows,
    operator_rows,
    roofline_rows,
    side_by_side,
    stage_rows,
    total_text,
    work_rows,
)
from mla_var3.render.annotation_view import AnnotationView, headline, is_cpu
from mla_var3.render.event_regimes import REGIME_LEGEND, regime_rows
from mla_var3.render.event_report import gap_texts
from mla_var3.render.event_table import conditions, is_slow
from mla_var3.render.kernel_block import CLASS_WORDS, opportunity_text
from mla_var3.render.layout import shorten
from mla_var3.render.markdown import md, md_list, md_table, value_text
from mla_var3.render.method_note import method_section
from mla_var3.render.report import kernel_section

ALL_KERNELS = 100
DESCRIBED = 10
"""Launches described in full: the longest, one of each kernel and grid."""
OPERATORS_SHOWN = 15
PLOT = f"![roofline: TFLOP/s over FLOP/byte, a point a stage]({artifacts.ROOFLINE_PLOT})"
GPU_LEGEND = (
    "Durations and percentages of stages are ncu's: one launch at a time, caches flushed before "
    "each pass. The total is the plan's own time by events; the two are never mixed."
)
ROOFLINE_LEGEND = (
    "By model: the plan's own FLOPs and bytes that must move once. By counters: what was counted. "
    "Roofline: max(FLOPs / dense peak at the measured SM clock, bytes / DRAM peak); '% of it' is "
    "that over ncu's duration."
)
CPU_LEGEND = (
    "Roofline: max(FLOPs / matmul rate, bytes / memory rate), at rates measured on this very CPU. "
    "Cold: caches flushed before each call, so the bytes come from DRAM. Warm: no flush; a working "
    "set that fits the last cache is held against the cache's rate."
)


def render_annotation_report(view: AnnotationView, no_contract: str = "") -> str:
    """The whole report as Markdown."""
    first = " · ".join(line.strip() for line in headline(view))
    lines = [f"# {md(view.title)}: annotation", "", md(first), ""]
    if view.profile.failure:
        lines += [f"**PARTIAL: {md(view.profile.failure)}**", ""]
    lines += _verdict(view)
    lines += _cpu(view) if is_cpu(view) else _gpu(view)
    lines += _against(view.run.before)
    lines += _tiling(view)
    if not is_cpu(view):
        for position, stage in enumerate(_described(view), start=1):
            lines += ["", *kernel_section(position, stage, view.verdicts[stage.name])]
        lines += _rest(view)
    lines += _conditions(view)
    lines += _figures(view)
    lines += _closing(view, no_contract)
    return "\n".join(lines) + "\n"


def _verdict(view: AnnotationView) -> list[str]:
    diagnosis = view.diagnosis
    word = CLASS_WORDS[diagnosis.bound]
    cause = md(diagnosis.root_cause).rstrip(".")
    text = f"**{word}**: {cause}. Confidence {diagnosis.confidence}."
    tries = [
        opportunity_text(item) + f"; trigger: {item.trigger}" for item in diagnosis.opportunities
    ]
    return [text, "", *([*md_list(f"try: {text}" for text in tries), ""] if tries else [])]


def _gpu(view: AnnotationView) -> list[str]:
    lines = ["## Stages", "", *md_table(stage_rows(view, ALL_KERNELS)), ""]
    lines += [md(f"Total: {total_text(view)}"), "", md(GPU_LEGEND)]
    if any(group.name not in view.run.cut for group in view.profile.groups):
        lines += ["", md(conf.table("annotation")["group"]["rule"])]
    cut = [f"{stage} was cut: {why}; no time or sum of it" for stage, why in view.run.cut.items()]
    lines += ["", *md_list(cut)] if cut else []
    lines += ["", "## Roofline: model and counters", "", *md_table(roofline_rows(view.rooflines))]
    lines += ["", PLOT, "", md(ROOFLINE_LEGEND)]
    gaps = [f"{row.stage} by {row.side}: {row.missing}" for row in view.rooflines if row.missing]
    lines += ["", *md_list(gaps)] if gaps else []
    lines += ["", "## Work: the plan's own against the counted", ""]
    lines += md_table(work_rows(view.work))
    if len(view.profile.of_plan) > 1:
        lines += ["", "## Stage against stage", "", *md_table(side_by_side(view))]
    else:
        lines += ["", "## The stage's figures", "", *md_table(side_by_side(view))]
    if view.methods is not None:
        lines += ["", "## Time by events and by ncu", "", *method_section(view.methods)]
    return lines


def _cpu(view: AnnotationView) -> list[str]:
    lines = ["## Stages", "", *md_table(roofline_rows(view.rooflines)), ""]
    lines += [md(f"Total: {total_text(view)}"), ""]
    lines += [md(CPU_LEGEND), "", PLOT]
    found = view.operators
    if found is None:
        return lines
    for stage in found.stages:
        lines += ["", f"## Operators of {md(stage.stage)}", ""]
        lines += md_table(operator_rows(stage, OPERATORS_SHOWN))
        profiled = units.duration(stage.operators_ns)
        lines += [
            "",
            f"{profiled} a run under torch's profiler, mean of {stage.profiled_runs} runs.",
        ]
    peaks = found.peaks
    lines += ["", "## Rates of this CPU", ""]
    rates: Rows = [("Rate", "Value", "Measured with")]
    for dtype, tflops in peaks.matmul_tflops.items():
        rates.append((f"matmul {dtype}", f"{1e3 * tflops:.4g} GFLOP/s", "torch.mm, the best run"))
    size = f"{peaks.cache_set_bytes / 1e6:.1f} MB"
    rates.append(("cache", f"{peaks.cache_gbps:.4g} GB/s", f"copy and read of {size}"))
    large = f"twice the last cache ({peaks.cache_bytes / 1e6:.0f} MB)"
    rates.append(("DRAM", f"{peaks.dram_gbps:.4g} GB/s", f"copy and read of {large}"))
    lines += md_table(rates)
    kept = f"Measured {peaks.date} with torch {peaks.torch} on {peaks.threads} threads, and kept."
    working = f"Working set of the plan: {found.working_set_bytes / 1e6:.2f} MB."
    return [*lines, "", md(f"{kept} {working}")]


def _against(before: AcrossRuns | None) -> list[str]:
    lines = ["", "## Against the last stored profile", ""]
    if before is None:
        return [*lines, "There is no earlier profile of this problem."]
    lines += [md(f"{before.profile} ({before.version}): {before_text(before)}")]
    if before.differs or not before.changes:
        return lines
    rows: Rows = [("Figure", "Previous", "Current", "Change")]
    rows += [
        (item.label, value_text(item.previous), value_text(item.current), item.change)
        for item in before.changes
    ]
    return [*lines, "", *md_table(rows)]


def _tiling(view: AnnotationView) -> list[str]:
    if not view.profile.tilings:
        return []
    rows: Rows = [("Stage", "Tiling", "From")]
    for stage, tiling in view.profile.tilings.items():
        words = ", ".join(f"{name}={value}" for name, value in tiling.items())
        rows.append((stage, words or "nothing to choose", view.run.tilings.get(stage, "-")))
    return ["", "## Tiling", "", *md_table(rows)]


def _described(view: AnnotationView) -> tuple[Stage, ...]:
    """The launches to describe in full, in their order."""
    stages = view.profile.stages
    longest = sorted(stages, key=lambda stage: -(stage.value("duration") or 0.0))
    first: dict[tuple[str, tuple[int, ...]], str] = {}
    for stage in longest:
        first.setdefault((stage.kernel, stage.grid), stage.name)
    names = set(list(first.values())[:DESCRIBED])
    return stages if len(stages) <= DESCRIBED else tuple(s for s in stages if s.name in names)


def _rest(view: AnnotationView) -> list[str]:
    left = len(view.profile.stages) - len(_described(view))
    if not left:
        return []
    places = f"{artifacts.PROFILE} and {artifacts.STAGES}/"
    return ["", f"{left} more launches stand in the table of stages, with all figures in {places}."]


def _conditions(view: AnnotationView) -> list[str]:
    """How both parts were taken."""
    rows: Rows = [("", "")]
    rows.append(("took", measure_text(view)))
    if tune_text(view):
        rows.append(("tune", tune_text(view)))
    if view.timing is not None:
        rows += conditions(view.timing)
    elif view.run.no_event:
        rows.append(("event", f"not done: {view.run.no_event}"))
    environment = view.profile.environment
    tools = [environment.capture_tool, environment.reader_tool, _driver(environment.driver)]
    rows.append(("tools", ", ".join(tool for tool in tools if tool)))
    lines = ["", "## How it was measured", "", *md_table(rows)]
    if view.timing is not None:
        whole = view.profile.end_to_end
        lines += ["", *md_table(regime_rows(whole, view.timing, is_slow(whole)))]
        lines += ["", REGIME_LEGEND]
    return lines


def _driver(version: str | None) -> str:
    return f"driver {version}" if version else ""


def _figures(view: AnnotationView) -> list[str]:
    """Every figure of the whole, then of each stage, with its origin."""
    labels = _labels()
    lines: list[str] = []
    whole = [view.profile.end_to_end] if view.profile.end_to_end else []
    for stage in (*whole, *view.profile.groups, *_described(view)):
        rows: Rows = [("Figure", "Value", "Source", "From")]
        for key, metric in stage.metrics.items():
            origin = shorten(metric.raw, 90)
            rows.append((labels.get(key, key), value_text(metric), metric.source, origin))
        lines += ["", f"## Figures: {md(stage.name)}", "", *md_table(rows)]
        gone = _grouped(stage.missing, labels)
        lines += ["", *md_list(gone)] if gone else []
    return lines


def _grouped(missing: dict[str, str], labels: dict[str, str]) -> list[str]:
    """`reason: figure, figure`, so that a reason stands once."""
    reasons: dict[str, list[str]] = {}
    for key, reason in missing.items():
        reasons.setdefault(reason, []).append(labels.get(key, key))
    return [f"n/a ({reason}): {', '.join(names)}" for reason, names in reasons.items()]


def _closing(view: AnnotationView, no_contract: str) -> list[str]:
    texts = [*notes(view), *([no_contract] if no_contract else [])]
    lines = ["", "## Notes", "", *md_list(texts)] if texts else []
    if view.profile.missing:
        lines += ["", "## Not measured", "", *md_list(gap_texts(view.profile.missing))]
    return lines


def _labels() -> dict[str, str]:
    tables = ("metrics", "static", "event", "annotation")
    facts = [fact for name in tables for fact in conf.table(name).get("metrics", [])]
    facts += conf.table("metrics")["facts"]
    return {fact["key"]: fact["label"] for fact in facts}
