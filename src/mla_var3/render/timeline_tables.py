"""The figures of a timeline in rows, for the screen and the report; every figure twice."""

from collections import defaultdict
from collections.abc import Callable

from mla_var3.core import stats, units
from mla_var3.core.timeline_findings import DeviceFigures, LeftOut, Scope, StageSpan
from mla_var3.render.layout import shorten_name
from mla_var3.render.timeline_view import TimelineView, idle_pct, percent, words
from mla_var3.render.timeline_words import gap_text, idle_by_cause, longest_gaps

Rows = list[tuple[str, ...]]


def summary_rows(view: TimelineView) -> Rows:
    """The timeline in figures, over the capture and over the window."""
    rows: Rows = [("", "capture", "window")]
    rows.append(("length", *_each(view, lambda scope: units.total(scope.length_ns))))
    rows.append(("operations", *_each(view, lambda scope: str(scope.operations))))
    several = len(view.findings.capture.devices) > 1
    for device in view.findings.capture.devices:
        name = f"{view.device_name(device.device)}: " if several else ""
        rows += [
            (f"{name}{label}", *_of_device(view, device.device, text))
            for label, text in _DEVICE_ROWS
        ]
    rows.append(("launch latency, idle stream", *_each(view, _latency)))
    rows.append(("critical path", *_each(view, _path)))
    return rows


def _each(view: TimelineView, text: Callable[[Scope], str]) -> tuple[str, ...]:
    return tuple(text(scope) for scope in view.scopes)


def _of_device(
    view: TimelineView, device: int, text: Callable[[DeviceFigures, Scope], str]
) -> tuple[str, ...]:
    cells = []
    for scope in view.scopes:
        own = next((one for one in scope.devices if one.device == device), None)
        cells.append(units.NA if own is None else text(own, scope))
    return tuple(cells)


def _busy(device: DeviceFigures, scope: Scope) -> str:
    return units.duration(device.busy_ns)


def _idle(device: DeviceFigures, scope: Scope) -> str:
    return f"{units.duration(device.idle_ns)} ({percent(idle_pct(device, scope))})"


def _concurrency(device: DeviceFigures, scope: Scope) -> str:
    factor = device.concurrency
    return units.NA if factor is None else f"{factor:.3f} x"


def _two_or_more(device: DeviceFigures, scope: Scope) -> str:
    return units.duration(sum(time for count, time in device.by_count.items() if count > 1))


def _gap(device: DeviceFigures, scope: Scope) -> str:
    if device.gap_median_ns is None:
        return "no gap"
    return (
        f"{units.duration(device.gap_median_ns)} of {device.gaps}, "
        f"longest {units.duration(device.gap_max_ns)}"
    )


_DEVICE_ROWS: tuple[tuple[str, Callable[[DeviceFigures, Scope], str]], ...] = (
    ("busy (union)", _busy),
    ("idle", _idle),
    ("sum over union", _concurrency),
    ("two streams or more at once", _two_or_more),
    ("median gap", _gap),
)


def _latency(scope: Scope) -> str:
    waited = f"{scope.waited_launches} waited" if scope.waited_launches else ""
    if scope.launch_latency_ns is None:
        none = "n/a: none into an idle stream" if scope.launches else "n/a: no launch is known"
        return f"{none} without a wait ({waited})" if waited else none
    counted = f"{scope.idle_launches} of {scope.launches} launches"
    told = ", ".join(filter(None, (counted, waited)))
    return f"{units.duration(scope.launch_latency_ns)} ({told})"


def _path(scope: Scope) -> str:
    path = scope.path
    if path is None:
        return units.NA
    share = percent(100.0 * path.total_ns / scope.length_ns) if scope.length_ns else units.NA
    return f"{units.duration(path.total_ns)} ({share}), {units.count(path.operations, 'operation')}"


def stage_rows(view: TimelineView) -> Rows:
    """Each stage over the window's iterations; empty where there are none."""
    spans: dict[str, list[StageSpan]] = defaultdict(list)
    for span in view.findings.spans:
        spans[span.stage].append(span)
    alone = {name: time for item in view.findings.saved for name, time in item.solo_ns.items()}
    for stage in view.profile.stages:
        solo = stage.value("duration_solo")
        if solo is not None:
            alone.setdefault(stage.name, solo)
    bounds = {verdict.stage: verdict.bound for verdict in view.diagnosis.stages}
    planned = view.findings.plan is not None
    span_name = "Span" if view.on_cpu else "GPU span"
    rows: Rows = [("Stage", span_name, "Busy", "Alone", "Calls", "Ops", "Streams", "Model")]
    for name, own in spans.items():
        used = sorted({key for span in own for key in span.streams})
        bound = bounds.get(name, "Unknown") if planned else "Unknown"
        rows.append(
            (
                shorten_name(name, 24),
                units.duration(stats.median([span.end - span.begin for span in own])),
                units.duration(stats.median([span.busy_ns for span in own])),
                units.duration(alone.get(name)),
                str(len(own)),
                f"{stats.median([span.operations for span in own]):.4g}",
                ", ".join(view.labels[key].removeprefix("stream ") for key in used),
                units.NA if bound == "Unknown" else bound,
            )
        )
    if not planned:
        rows = [(*row[:3], *row[4:7]) for row in rows]
    return rows if len(rows) > 1 else []


def stream_rows(view: TimelineView, scope: Scope) -> Rows:
    """Each stream with work."""
    rows: Rows = [
        ("Stream", "Ops", "Kernels", "Copies", "Memsets", "Busy", "Idle", "Median gap", "Longest")
    ]
    for stream in scope.streams:
        rows.append(
            (
                view.labels[stream.key],
                str(stream.operations),
                str(stream.kernels),
                str(stream.copies),
                str(stream.memsets),
                units.duration(stream.busy_ns),
                units.duration(stream.idle_ns),
                units.duration(stream.gap_median_ns),
                units.duration(stream.gap_max_ns),
            )
        )
    return rows


def pair_rows(view: TimelineView, most: int) -> Rows:
    """Streams that ran at once, in both scopes."""
    rows: Rows = [
        ("Scope", "Streams", "At once", "of the shorter", "without memsets", "kernels alone")
    ]
    for scope in view.scopes:
        for pair in scope.pairs[:most]:
            rows.append(
                (
                    scope.name,
                    f"{view.labels[pair.a]} + {view.labels[pair.b]}",
                    units.duration(pair.overlap_ns),
                    percent(pair.percent),
                    units.duration(pair.without_memsets_ns),
                    units.duration(pair.kernels_ns),
                )
            )
    return rows if len(rows) > 1 else []


def kernel_rows(view: TimelineView, scope: Scope, most: int) -> Rows:
    """What took longest, by kernel or copy."""
    rows: Rows = [("Operation", "Kind", "Launches", "Total", "of the sum", "Median", "Longest")]
    total = sum(kernel.total_ns for kernel in scope.kernels)
    for kernel in scope.kernels[:most]:
        rows.append(
            (
                view.timeline.shapes[kernel.shape].name,
                kernel.kind,
                str(kernel.operations),
                units.duration(kernel.total_ns),
                percent(100.0 * kernel.total_ns / total) if total else units.NA,
                units.duration(kernel.median_ns),
                units.duration(kernel.max_ns),
            )
        )
    return rows


def gap_rows(view: TimelineView, most: int) -> Rows:
    """The longest gaps of the window, and what the host did."""
    rows: Rows = [("At", "Idle", "After", "Before", "Cause", "The host")]
    begin = view.findings.window.begin
    for gap in longest_gaps(view, most):
        rows.append(
            (
                f"{units.microseconds(gap.begin - begin)} µs" if gap.begin >= begin else "before",
                units.duration(gap.length_ns - gap.left_out_ns),
                shorten_name(view.operation_name(gap.after), 24),
                shorten_name(view.operation_name(gap.before), 24),
                gap.cause,
                gap_text(view, gap),
            )
        )
    return rows if len(rows) > 1 else []


def cause_rows(view: TimelineView) -> Rows:
    """Idle time of the window by cause."""
    found = idle_by_cause(view)
    total = sum(found.values())
    rows: Rows = [("Cause", "Idle", "of the idle time", "What it means")]
    for cause, time in found.items():
        rows.append(
            (cause, units.duration(time), percent(100.0 * time / total), words("causes")[cause])
        )
    return rows if len(rows) > 1 else []


def left_out_rows(view: TimelineView, most: int) -> Rows:
    """What the window leaves out, each with its time; times from the first operation."""
    rows: Rows = [("What", "Kind", "From", "Took", "Left out", "Ops")]
    items = view.findings.left_out
    longest = sorted(items, key=lambda item: -(item.end - item.begin))[:most]
    kept = {id(item) for item in longest}
    for item in items:
        if id(item) in kept:
            rows.append(_left_out(view, item))
    rest = [item for item in items if id(item) not in kept]
    if rest:
        took = units.total(sum(item.end - item.begin for item in rest))
        cut = units.duration(sum(item.left_out_ns for item in rest))
        rows.append((f"{len(rest)} more, shorter ones", "-", "-", took, cut, "-"))
    return rows if len(rows) > 1 else []


def _left_out(view: TimelineView, item: LeftOut) -> tuple[str, ...]:
    begin = item.begin - view.findings.capture.begin
    inside = item.begin >= view.findings.window.begin or item.left_out_ns
    cut = units.duration(item.left_out_ns) if inside else "before the window"
    return (
        item.what,
        item.kind,
        f"{'-' if begin < 0 else ''}{units.total(abs(begin))}",
        units.total(item.end - item.begin),
        cut,
        str(item.operations) if item.operations else "-",
    )


def iteration_rows(view: TimelineView, most: int) -> Rows:
    """The stages of the first iterations; all times without what the window leaves out in them."""
    spans: dict[int, dict[str, StageSpan]] = defaultdict(dict)
    for span in view.findings.spans:
        spans[span.iteration][span.stage] = span
    names = list(dict.fromkeys(span.stage for span in view.findings.spans))[:4]
    if not names:
        return []
    rows: Rows = [("Iteration", "Length", *(f"{name}: begin, span" for name in names))]
    for number, own in list(spans.items())[:most]:
        begin, end = min(s.begin for s in own.values()), max(s.end for s in own.values())
        cells = [
            f"+{units.microseconds(_counted(view, begin, own[name].begin))}, "
            f"{units.duration(_counted(view, own[name].begin, own[name].end))}"
            if name in own
            else units.NA
            for name in names
        ]
        counted = _counted(view, begin, end)
        cut = end - begin - counted
        length = units.duration(counted) + (f" + {units.duration(cut)} left out" if cut else "")
        rows.append((str(number + 1), length, *cells))
    return rows


def _counted(view: TimelineView, begin: int, end: int) -> int:
    """Time between two moments without what the window leaves out, in ns."""
    cut = (min(end, last) - max(begin, first) for first, last in view.findings.cut)
    return end - begin - sum(time for time in cut if time > 0)
