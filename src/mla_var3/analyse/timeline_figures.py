"""The figures of a scope: devices, streams, pairs of streams, kernels."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import combinations, pairwise
from statistics import median
from typing import NamedTuple

from mla_var3.analyse.timeline_path import critical_path
from mla_var3.analyse.timeline_spans import Span, between, length, merge, together
from mla_var3.analyse.timeline_work import Work
from mla_var3.core.timeline import Kind
from mla_var3.core.timeline_findings import (
    DeviceFigures,
    Gap,
    KernelFigures,
    Launch,
    PairOverlap,
    Scope,
    ScopeName,
    StreamFigures,
    StreamKey,
)

COUNTED: tuple[Kind, ...] = ("kernel", "memcpy", "memset", "cpu")
"""Kinds whose overlap counts. A graph that was traced as a whole spans what is idle inside too."""


class Part(NamedTuple):
    """What a scope is computed from."""

    name: ScopeName
    begin: int
    end: int
    members: list[int]
    cut: list[Span]
    gaps: list[Gap]
    """Of devices."""
    launches: Sequence[Launch]


class _Lane(NamedTuple):
    """The operations of one stream in a scope, as spans."""

    key: StreamKey
    positions: list[int]
    spans: list[Span]
    merged: list[Span]


def scope(work: Work, part: Part) -> Scope:
    """All figures of the capture, or of the window."""
    lanes = [
        _Lane(key, own, spans, merge(spans))
        for key, own in zip(work.keys, work.lanes(part.members), strict=True)
        if (spans := work.spans(own))
    ]
    launched = [part.launches[at] for at in part.members]
    launched = [one for one in launched if one.state not in ("no call", "same call")]
    latencies = [
        one.latency_ns for one in launched if one.state == "idle" and one.latency_ns is not None
    ]
    devices, pairs = _devices(work, part, lanes)
    return Scope(
        name=part.name,
        begin=part.begin,
        end=part.end,
        length_ns=part.end - part.begin - length(part.cut),
        operations=len(part.members),
        devices=tuple(devices),
        streams=tuple(_stream(work, part, lane) for lane in lanes),
        pairs=tuple(sorted(pairs, key=lambda pair: (-pair.overlap_ns, pair.a, pair.b))),
        kernels=_kernels(work, part.members),
        path=critical_path(work, part.members),
        launch_latency_ns=median(latencies) if latencies else None,
        idle_launches=len(latencies),
        waited_launches=sum(one.state == "waited" for one in launched),
        launches=len(launched),
    )


def _devices(
    work: Work, part: Part, lanes: list[_Lane]
) -> tuple[list[DeviceFigures], list[PairOverlap]]:
    by_device: dict[int, list[_Lane]] = defaultdict(list)
    for lane in lanes:
        by_device[lane.key.device].append(lane)
    gaps = gap_lengths(part.gaps, part.cut)
    figures: list[DeviceFigures] = []
    pairs: list[PairOverlap] = []
    for device, own in sorted(by_device.items()):
        met = together([lane.merged for lane in own])
        busy = sum(met.by_count.values())
        between_them = gaps.get(device, [])
        # Operators of a CPU stand inside one another: only the outermost count.
        summed = [length(lane.merged if device < 0 else lane.spans) for lane in own]
        figures.append(
            DeviceFigures(
                device=device,
                operations=sum(len(lane.positions) for lane in own),
                sum_ns=sum(summed),
                busy_ns=busy,
                idle_ns=part.end - part.begin - length(part.cut) - busy,
                gaps=len(between_them),
                gap_median_ns=median(between_them) if between_them else None,
                gap_max_ns=max(between_them, default=None),
                by_count=met.by_count,
            )
        )
        pairs += _pairs(work, own, met.pairs)
    return figures, pairs


def gap_lengths(gaps: list[Gap], cut: list[Span]) -> dict[int, list[int]]:
    """Lengths of devices' gaps without what is left out of them; those left out whole are gone."""
    found: dict[int, list[int]] = defaultdict(list)
    for gap in gaps:
        left = gap.end - gap.begin - (gap.left_out_ns if cut else 0)
        if left > 0:
            found[gap.device].append(left)
    return found


def _stream(work: Work, part: Part, lane: _Lane) -> StreamFigures:
    begin, end = lane.spans[0][0], max(end for _, end in lane.spans)
    gaps = [b[0] - a[1] for a, b in pairwise(lane.merged)]
    if part.cut:
        free = ((a[1], b[0]) for a, b in pairwise(lane.merged))
        gaps = [end - begin - length(between(part.cut, begin, end)) for begin, end in free]
        gaps = [left for left in gaps if left > 0]
    kinds = Counter(work.kind(at) for at in lane.positions)
    busy = length(lane.merged)
    return StreamFigures(
        key=lane.key,
        operations=len(lane.positions),
        kernels=kinds["kernel"],
        copies=kinds["memcpy"],
        memsets=kinds["memset"],
        begin=begin,
        end=end,
        sum_ns=length(lane.spans),
        busy_ns=busy,
        idle_ns=end - begin - busy - length(between(part.cut, begin, end)),
        gaps=len(gaps),
        gap_median_ns=median(gaps) if gaps else None,
        gap_max_ns=max(gaps, default=None),
    )


def _pairs(work: Work, lanes: list[_Lane], every: dict[tuple[int, int], int]) -> list[PairOverlap]:
    """Every two streams of a device; `every` holds how long they ran at once, of any kind."""
    kinds = {work.timeline.shapes[at].kind for at in _shapes(work, lanes)}
    counted = every if "graph" not in kinds else _met(work, lanes, COUNTED)
    timed = counted if "memset" not in kinds else _met(work, lanes, ("kernel", "memcpy", "cpu"))
    kernels = timed if "memcpy" not in kinds else _met(work, lanes, ("kernel", "cpu"))
    busy = [length(lane.merged) for lane in lanes]
    return [
        PairOverlap(
            a=lanes[a].key,
            b=lanes[b].key,
            overlap_ns=counted.get((a, b), 0),
            without_memsets_ns=timed.get((a, b), 0),
            kernels_ns=kernels.get((a, b), 0),
            shorter_ns=min(busy[a], busy[b]),
        )
        for a, b in combinations(range(len(lanes)), 2)
    ]


def _shapes(work: Work, lanes: list[_Lane]) -> set[int]:
    operations = work.timeline.operations
    return {operations[at].shape for lane in lanes for at in lane.positions}


def _met(work: Work, lanes: list[_Lane], kinds: Sequence[Kind]) -> dict[tuple[int, int], int]:
    """How long two streams ran operations of some kinds at once."""
    if len(lanes) < 2:
        return {}
    wanted = [shape.kind in kinds for shape in work.timeline.shapes]
    operations = work.timeline.operations
    return together(
        [
            merge(work.spans([at for at in lane.positions if wanted[operations[at].shape]]))
            for lane in lanes
        ]
    ).pairs


def _kernels(work: Work, members: list[int]) -> tuple[KernelFigures, ...]:
    times: dict[int, list[int]] = defaultdict(list)
    moved: dict[int, int] = defaultdict(int)
    told: dict[int, int] = defaultdict(int)
    for position in members:
        operation = work.operation(position)
        times[operation.shape].append(operation.end - operation.start)
        if operation.bytes is not None:
            moved[operation.shape] += operation.bytes
            told[operation.shape] += 1
    figures = [
        KernelFigures(
            shape=shape,
            kind=work.timeline.shapes[shape].kind,
            operations=len(own),
            total_ns=sum(own),
            min_ns=min(own),
            median_ns=median(own),
            max_ns=max(own),
            bytes=moved[shape] if told[shape] == len(own) else None,
        )
        for shape, own in times.items()
    ]
    return tuple(sorted(figures, key=lambda item: (-item.total_ns, item.shape)))
