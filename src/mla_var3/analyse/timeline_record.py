"""What a timeline tells of each stage of a plan, as figures of the record."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from mla_var3 import conf
from mla_var3.core import stats
from mla_var3.core.record import Metric, Source, Stage
from mla_var3.core.timeline import ITERATION, SOLO, Range, Timeline
from mla_var3.core.timeline_findings import ProjectedRange, TimelineFindings

END_TO_END = "end to end"
_SOURCE: Source = "nsys"
"""Of spans in the record, whoever collected them; `raw` and the environment name the collector."""


class StageTimes(NamedTuple):
    """The stages with their times, the whole plan, and which stages nothing was seen of."""

    stages: tuple[Stage, ...]
    whole: Stage
    unseen: tuple[str, ...]


def with_spans(
    stages: Iterable[Stage], findings: TimelineFindings, timeline: Timeline
) -> StageTimes:
    """Put times in ns to the stages of a plan, each from its first to its last operation.

    A stage without any operation in an iteration keeps its reason instead.
    """
    alone = _alone(findings, timeline)
    made = tuple(_timed(stage, findings, alone, timeline) for stage in stages)
    unseen = tuple(stage.name for stage in made if "duration" not in stage.metrics)
    return StageTimes(made, _whole(findings, timeline), unseen)


def _timed(
    stage: Stage,
    findings: TimelineFindings,
    alone: Mapping[str, list[int]],
    timeline: Timeline,
) -> Stage:
    spans = [span for span in findings.spans if span.stage == stage.name]
    metrics: dict[str, Metric] = {}
    if spans:
        metrics = _lengths([span.end - span.begin for span in spans], "iterations", timeline)
        busy = stats.median([span.busy_ns for span in spans])
        metrics["duration_busy"] = _metric(busy, "ns", "median of the union of its operations")
        count = stats.median([span.operations for span in spans])
        metrics["operations"] = _metric(count, "operation", "median of the iterations")
    if alone.get(stage.name):
        median = stats.median(alone[stage.name])
        raw = f"median of {len(alone[stage.name])} runs alone, {timeline.collector}"
        metrics["duration_solo"] = _metric(median, "ns", raw)
    reasons = dict(conf.table("nsys_export")["not_by_nsys"])
    if not spans:
        reasons["duration"] = _why_no_spans(timeline)
    told = stage.metrics | metrics
    missing = {k: why for k, why in (stage.missing | reasons).items() if k not in told}
    return msgspec.structs.replace(stage, metrics=told, missing=missing)


def _whole(findings: TimelineFindings, timeline: Timeline) -> Stage:
    """The plan, from the first operation of an iteration to its last."""
    names, ranges = timeline.names, timeline.ranges
    lengths = [
        one.end - one.begin
        for one in findings.ranges
        if names[ranges[one.range].name] == ITERATION
        and one.begin is not None
        and one.end is not None
    ]
    metrics = _lengths(lengths, "iterations", timeline) if lengths else {}
    reasons = dict(conf.table("nsys_export")["not_by_nsys"])
    if not lengths:
        reasons["duration"] = _why_no_spans(timeline)
    return Stage(name=END_TO_END, kernel=END_TO_END, launch=0, metrics=metrics, missing=reasons)


def _lengths(lengths: list[int], of: str, timeline: Timeline) -> dict[str, Metric]:
    raw = f"of {len(lengths)} {of}, first to last operation, {timeline.collector}"
    return {
        "duration": _metric(stats.median(lengths), "ns", f"median {raw}"),
        "duration_min": _metric(min(lengths), "ns", f"shortest {raw}"),
        "duration_max": _metric(max(lengths), "ns", f"longest {raw}"),
        "iterations": _metric(len(lengths), "call", f"ranges named {ITERATION}"),
    }


def _alone(findings: TimelineFindings, timeline: Timeline) -> dict[str, list[int]]:
    """Times of the ranges that lie inside `solo`, by their name."""
    names, ranges = timeline.names, timeline.ranges
    outer = [one for one in ranges if names[one.name] == SOLO]
    found: dict[str, list[int]] = {}
    for one in findings.ranges:
        own = ranges[one.range]
        if names[own.name] != SOLO and any(_inside(own, solo) for solo in outer):
            length = _length(one)
            if length is not None:
                found.setdefault(names[own.name], []).append(length)
    return found


def _inside(own: Range, outer: Range) -> bool:
    if (own.process, own.thread) != (outer.process, outer.thread):
        return False
    return own.start >= outer.start and (outer.end is None or own.start < outer.end)


def _length(one: ProjectedRange) -> int | None:
    return None if one.begin is None or one.end is None else one.end - one.begin


def _why_no_spans(timeline: Timeline) -> str:
    return timeline.missing.get("ranges", "nothing ran on the device inside its ranges")


def _metric(value: float, unit: str, raw: str) -> Metric:
    return Metric(value, unit, _SOURCE, raw)
