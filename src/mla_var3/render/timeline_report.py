"""`report.md` of a timeline: verdicts with their evidence, the figures, what was left out."""

from mla_var3.core import artifacts, units
from mla_var3.render.layout import OPEN, plain
from mla_var3.render.markdown import md, md_list, md_table
from mla_var3.render.timeline_tables import (
    Rows,
    cause_rows,
    gap_rows,
    iteration_rows,
    kernel_rows,
    left_out_rows,
    pair_rows,
    stage_rows,
    stream_rows,
    summary_rows,
)
from mla_var3.render.timeline_view import TimelineView, headline, scope_text
from mla_var3.render.timeline_words import advice_texts, verdict_texts

KERNELS, GAPS, PAIRS, ITERATIONS, LEFT_OUT = 15, 10, 8, 10, 40
PICTURE = f"![a row a stream, stages coloured, the window marked]({artifacts.TIMELINE_SVG})"
LEGEND = (
    "Busy: time in which at least one operation ran; kernels, copies and memsets count alike. "
    "Sum over union: 1 is one after the other. Launch latency: start of the operation minus start "
    "of its call, only where the stream was idle; elsewhere it is the time in the queue. Waited: "
    "the stream was idle, but something on another stream ended just before the operation began, "
    "so it may have waited for that; it has no latency."
)
PATH_LEGEND = (
    "Critical path: the longest chain of operations, by their durations, that follow each other: "
    "in a stream; after what ended while one waited on an idle stream; or after what the host "
    "waited for. Spans do not tell which event was waited for, so it is what the order allows."
)
OVERLAP_LEGEND = (
    "Overlap is time in which both ran, in % of the less busy one. It is not time saved: what runs "
    "at once shares the GPU and may take longer."
)
FILES = (
    (artifacts.TIMELINE_SVG, "the picture"),
    (artifacts.TIMELINE_JSON, "the trace, for https://ui.perfetto.dev or chrome://tracing"),
    (artifacts.LAUNCHES_CSV, "every operation: order, call, latency, stage, stream"),
    (artifacts.KERNELS_CSV, "every kernel, copy and memset by its shape"),
    (artifacts.STREAMS_CSV, "devices and streams: busy, idle, gaps"),
    (artifacts.RANGES_CSV, "every NVTX range in CPU and GPU time"),
    (artifacts.GAPS_CSV, "every gap, and what the host did meanwhile"),
    (artifacts.OVERLAP_CSV, "every pair of streams or stages"),
    (artifacts.SPANS, "all of it, as it was collected"),
)


def render_timeline_report(view: TimelineView, no_contract: str = "") -> str:
    """The whole report as Markdown."""
    first = " · ".join(line.strip() for line in headline(view))
    lines = [f"# {md(view.title)}: timeline", "", md(first), ""]
    if view.profile.failure:
        lines += [f"**{view.profile.status}: {md(view.profile.failure)}**", ""]
    lines += ["## Verdicts", "", *md_list(verdict_texts(view))]
    lines += [f"- try: {md(text)}" for text in advice_texts(view)]
    lines += ["", "## Timeline", "", md(f"Window: {scope_text(view)}."), ""]
    lines += [*md_table(summary_rows(view)), "", md(LEGEND), "", md(PATH_LEGEND), "", PICTURE]
    stages = "Stages" if view.on_cpu else "Stages, projected to GPU time"
    lines += _table(stages, stage_rows(view), _stages_legend(view))
    lines += _table("The iterations", iteration_rows(view, ITERATIONS), _iterations_legend(view))
    lines += _table("Overlap of streams", pair_rows(view, PAIRS), OVERLAP_LEGEND)
    for scope in view.scopes:
        lines += _table(f"Streams, {scope.name}", stream_rows(view, scope))
    lines += _table("Idle time of the window", cause_rows(view))
    lines += _table("Longest gaps of the window", gap_rows(view, GAPS), _gaps_legend(view))
    for scope in view.scopes:
        lines += _table(f"Operations, {scope.name}", kernel_rows(view, scope, KERNELS))
    lines += _path(view)
    lines += _table("Left out of the window", left_out_rows(view, LEFT_OUT))
    lines += ["", "## How it was recorded", "", *md_list(_recorded(view))]
    texts = [*notes(view), *([no_contract] if no_contract else [])]
    lines += ["", "## Notes", "", *md_list(texts)] if texts else []
    gaps = _not_told(view)
    lines += ["", "## Not told", "", *md_list(gaps)] if gaps else []
    lines += ["", "## Files", "", *md_table([("File", "Holds"), *FILES])]
    return "\n".join(lines) + "\n"


def notes(view: TimelineView) -> list[str]:
    """Every doubt, each once: of the analysis, of the record, of the collector."""
    timeline = view.timeline
    said = (timeline.lost, *timeline.impossible)
    texts = [*view.findings.notes]
    graphs = timeline.graphs_as_whole
    for text in view.profile.warnings:
        again = any(word and word in text for word in said)
        if not again and not (graphs and "traced as a whole" in text):
            texts.append(text)
    texts += timeline.remarks
    texts += [f"the collector says: {text}" for text in timeline.diagnostics]
    locked = view.profile.environment.clocks_locked
    if not view.on_cpu and not locked:
        state = "clocks were not locked" if locked is False else "locked clocks are not told of"
        texts.append(f"{state}: times of separate recordings may differ by 15 %")
    return list(dict.fromkeys(plain(text) for text in texts))


def _table(title: str, rows: Rows, legend: str = "") -> list[str]:
    if not rows:
        return []
    return ["", f"## {title}", "", *md_table(rows), *(["", md(legend)] if legend else [])]


def _stages_legend(view: TimelineView) -> str:
    span = "Span" if view.on_cpu else "GPU span"
    text = (
        f"Medians of the window's iterations. {span}: from the first to the last operation that "
        "was launched inside the range."
    )
    return text if view.findings.plan is None else f"{text} Alone: run alone before, synchronised."


def _iterations_legend(view: TimelineView) -> str:
    rest = len(view.findings.iterations) - ITERATIONS
    texts = [f"{rest} more stand in {artifacts.RANGES_CSV}."] if rest > 0 else []
    if view.findings.cut:
        texts.append("Left out: idle time of loading and first launches; no time here holds it.")
    return " ".join(texts)


def _gaps_legend(view: TimelineView) -> str:
    return "At: from the window's begin. The host: the thread that launched what ended the gap."


def _path(view: TimelineView) -> list[str]:
    path = view.findings.window.path
    if path is None:
        return []
    rows: Rows = [("Operation", "On the path", "Time")]
    rows += [
        (part.name, str(part.operations), units.duration(part.total_ns))
        for part in path.parts[:KERNELS]
    ]
    joins = units.count(path.joins, "step")
    return _table("Critical path of the window", rows, f"{joins} from one stream to another.")


def _recorded(view: TimelineView) -> list[str]:
    """The collector and what it tells of itself."""
    environment, timeline = view.profile.environment, view.timeline
    texts = [f"collector: {timeline.collector}, {timeline.tool}"]
    if environment.reader_tool:
        texts.append(f"read by {environment.reader_tool}")
    if environment.driver:
        texts.append(f"driver {environment.driver}")
    if view.profile.source:
        texts.append(f"file {view.profile.source.file}, sha256 {view.profile.source.sha256[:16]}…")
    lost = timeline.lost or "nothing that the collector tells of"
    texts.append(f"lost: {lost}")
    impossible = sum(timeline.impossible.values())
    texts.append(f"impossible rows: {impossible or 'none'}")
    counted = [units.count(len(timeline.operations), "operation")]
    counted += [units.count(len(timeline.calls), "API call")]
    counted += [units.count(len(timeline.ranges), "range")]
    texts.append(", ".join(counted))
    return texts


def _not_told(view: TimelineView) -> list[str]:
    told = view.timeline.missing | view.profile.missing
    return [f"{name}: {reason.removeprefix(OPEN)}" for name, reason in told.items()]
