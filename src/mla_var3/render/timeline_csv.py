"""The six CSV files of a timeline: RFC 4180, units in the names of the columns, empty is missing.

Times are microseconds, moments counted from the start of the capture.
"""

import csv
import io
from collections.abc import Iterable, Iterator

from mla_var3.core import artifacts
from mla_var3.core.timeline_findings import StreamKey
from mla_var3.render.layout import printable
from mla_var3.render.timeline_view import TimelineView, idle_pct, short_call

Cell = str | int | float | None
Row = tuple[Cell, ...]

_END = "\r\n"
STREAM = ("device", "process", "context", "stream")


def csv_files(view: TimelineView) -> dict[str, bytes]:
    """Each file by its name."""
    return {
        artifacts.KERNELS_CSV: _file(_kernels(view)),
        artifacts.LAUNCHES_CSV: "".join(_launches(view)).encode(),
        artifacts.STREAMS_CSV: _file(_streams(view)),
        artifacts.RANGES_CSV: _file(_ranges(view)),
        artifacts.GAPS_CSV: "".join(_gaps(view)).encode(),
        artifacts.OVERLAP_CSV: _file(_overlap(view)),
    }


def _file(rows: Iterable[Row]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator=_END).writerows(rows)
    return text.getvalue().encode()


def _line(*cells: Cell) -> str:
    """One row as the csv module writes it."""
    return _file([cells]).decode()


def _cell(text: str) -> str:
    """A text as a cell within a row: quoted where it must be."""
    return _line(printable(text), None).removesuffix(f",{_END}")


def _us(ns: float | None) -> float | None:
    """Written by its shortest digits: whole nanoseconds have at most three decimals."""
    return None if ns is None else ns / 1e3


def _pct(value: float | None) -> str | None:
    return None if value is None else f"{value:.2f}"


def _times(values: Iterable[int], between: str = "x") -> str:
    """`16x8x1`."""
    return between.join(map(str, values))


def _key(key: StreamKey) -> tuple[int, int, int, int]:
    return key.device, key.process, key.context, key.stream


def _kernels(view: TimelineView) -> Iterator[Row]:
    yield (
        "scope", "kind", "name", "launches", "total_us", "share_pct", "min_us", "median_us",
        "max_us", "grid", "block", "registers", "shared_memory_byte",
        "local_memory_byte_per_thread", "moved_byte", "full_name",
    )  # fmt: skip
    for scope in view.scopes:
        total = sum(kernel.total_ns for kernel in scope.kernels)
        for kernel in scope.kernels:
            shape = view.timeline.shapes[kernel.shape]
            yield (
                scope.name,
                kernel.kind,
                printable(shape.name),
                kernel.operations,
                _us(kernel.total_ns),
                _pct(100.0 * kernel.total_ns / total) if total else None,
                _us(kernel.min_ns),
                _us(kernel.median_ns),
                _us(kernel.max_ns),
                _times(shape.grid),
                _times(shape.block),
                shape.registers,
                shape.shared_bytes,
                shape.local_bytes,
                kernel.bytes,
                printable(shape.full_name),
            )


def _launches(view: TimelineView) -> Iterator[str]:
    """As finished lines: of hundreds of thousands of rows the csv writer takes most of the time."""
    yield _line(
        "operation", "launch_order", "stage", "iteration", "kind", "name", *STREAM, "call",
        "call_start_us", "call_us", "start_us", "duration_us", "stream_state", "latency_us",
        "queue_us", "moved_byte", "graph_node", "in_window", "ranges",
    )  # fmt: skip
    timeline, findings = view.timeline, view.findings
    shapes = [f"{shape.kind},{_cell(shape.name)}" for shape in timeline.shapes]
    inside = [f"1,{path}" for path in _paths(view)] + ["1,"]
    outside = [f"0,{path}" for path in _paths(view)] + ["0,"]
    staged = _staged(view)
    told = _calls(view)
    for at, (one, launch) in enumerate(zip(timeline.operations, findings.launches, strict=True)):
        size, node = one.bytes, one.graph_node
        yield (
            f"{at},{launch.order or ''},{staged[launch.stage][launch.ranges]},{shapes[one.shape]},"
            f"{one.device},{one.process},{one.context},{one.stream},{told[one.call]},"
            f"{one.start / 1e3},{(one.end - one.start) / 1e3},{launch.state},"
            f"{'' if launch.latency_ns is None else launch.latency_ns / 1e3},"
            f"{'' if launch.queue_ns is None else launch.queue_ns / 1e3},"
            f"{'' if size is None else size},{'' if node is None else node},"
            f"{(inside if launch.in_window else outside)[launch.ranges]}{_END}"
        )


def _paths(view: TimelineView) -> list[str]:
    """The cell of each stack of ranges."""
    names = [
        [printable(view.range_name(at)) for at in stack] for stack in view.findings.range_stacks
    ]
    return [_cell(" > ".join(own)) for own in names]


def _staged(view: TimelineView) -> list[list[str]]:
    """Cells of a stage and an iteration, by stage and stack; the last stack, -1, is none."""
    findings = view.findings
    numbers = {at: number for number, at in enumerate(findings.iterations, start=1)}
    iterations = [numbers.get(stack[0], "") for stack in findings.range_stacks]
    cells = [_cell(stage) for stage in findings.stages]
    return [[f"{cell},{number}" for number in (*iterations, "")] for cell in cells]


def _calls(view: TimelineView) -> list[str]:
    """Cells of each call's name, start and length; the last, -1, is none."""
    names = [_cell(short_call(name)) for name in view.timeline.names]
    calls = view.timeline.calls
    return [
        *(f"{names[c.name]},{c.start / 1e3},{(c.end - c.start) / 1e3}" for c in calls),
        ",,",
    ]


def _streams(view: TimelineView) -> Iterator[Row]:
    yield (
        "scope", "level", *STREAM, "operations", "kernels", "copies", "memsets", "begin_us",
        "end_us", "sum_us", "busy_us", "idle_us", "idle_pct", "sum_over_union", "gaps",
        "gap_median_us", "gap_max_us",
    )  # fmt: skip
    for scope in view.scopes:
        for device in scope.devices:
            factor = device.concurrency
            yield (
                scope.name, "device", device.device, None, None, None, device.operations, None,
                None, None, _us(scope.begin), _us(scope.end), _us(device.sum_ns),
                _us(device.busy_ns), _us(device.idle_ns), _pct(idle_pct(device, scope)),
                None if factor is None else f"{factor:.4f}", device.gaps,
                _us(device.gap_median_ns), _us(device.gap_max_ns),
            )  # fmt: skip
        for stream in scope.streams:
            length = stream.busy_ns + stream.idle_ns
            yield (
                scope.name, "stream", *_key(stream.key), stream.operations, stream.kernels,
                stream.copies, stream.memsets, _us(stream.begin), _us(stream.end),
                _us(stream.sum_ns), _us(stream.busy_ns), _us(stream.idle_ns),
                _pct(100.0 * stream.idle_ns / length) if length else None,
                f"{stream.sum_ns / stream.busy_ns:.4f}" if stream.busy_ns else None, stream.gaps,
                _us(stream.gap_median_ns), _us(stream.gap_max_ns),
            )  # fmt: skip


def _ranges(view: TimelineView) -> Iterator[Row]:
    yield (
        "range", "name", "depth", "process", "thread", "iteration", "cpu_start_us", "cpu_us",
        "gpu_start_us", "gpu_end_us", "gpu_span_us", "gpu_busy_us", "gpu_sum_us", "operations",
        "operations_after_close",
    )  # fmt: skip
    for one in view.findings.ranges:
        own = view.timeline.ranges[one.range]
        seen = one.begin is not None and one.end is not None
        yield (
            one.range,
            printable(view.range_name(one.range)),
            one.depth,
            own.process,
            own.thread,
            one.iteration + 1 if one.iteration >= 0 else None,
            _us(own.start),
            _us(one.cpu_ns),
            _us(one.begin),
            _us(one.end),
            _us((one.end or 0) - (one.begin or 0)) if seen else None,
            _us(one.busy_ns) if seen else None,
            _us(one.sum_ns) if seen else None,
            one.operations,
            one.after_close if seen else None,
        )


def _gaps(view: TimelineView) -> Iterator[str]:
    """As finished lines, like the launches."""
    yield _line(
        "level", *STREAM, "begin_us", "length_us", "cause", "host_call", "host_call_us",
        "host_waited_in", "host_outside_us", "after", "before", "after_operation",
        "before_operation", "in_window",
    )  # fmt: skip
    names = [_cell(shape.name) for shape in view.timeline.shapes]
    operations, calls = view.timeline.operations, view.call_names
    cells = {name: _cell(name) for name in set(calls)}
    places = {key: f"stream,{_times(_key(key), ',')}" for key in view.labels}
    for gap in view.findings.gaps:
        place = f"device,{gap.device},,," if gap.stream is None else places[gap.stream]
        outside = gap.outside_ns
        yield (
            f"{place},{gap.begin / 1e3},{(gap.end - gap.begin) / 1e3},{gap.cause},"
            f"{cells[calls[gap.call]]},{gap.call_ns / 1e3 if gap.call >= 0 else ''},"
            f"{cells[calls[gap.waited]]},{'' if outside is None else outside / 1e3},"
            f"{names[operations[gap.after].shape]},{names[operations[gap.before].shape]},"
            f"{gap.after},{gap.before},{1 if gap.in_window else 0}{_END}"
        )


def _overlap(view: TimelineView) -> Iterator[Row]:
    yield (
        "scope", "level", "a", "b", "overlap_us", "without_memsets_us", "kernels_us", "shorter_us",
        "overlap_pct", "verdict", "overlapped_iterations", "iterations", "reason",
    )  # fmt: skip
    labels = view.labels
    judged = {
        (pair.a, pair.b): pair for verdict in view.findings.verdicts for pair in verdict.pairs
    }
    for scope in view.scopes:
        for pair in scope.pairs:
            names = (labels[pair.a], labels[pair.b])
            verdict = judged.get(names) if scope.name == "window" else None
            yield (
                scope.name, "streams", *names, _us(pair.overlap_ns), _us(pair.without_memsets_ns),
                _us(pair.kernels_ns), _us(pair.shorter_ns), _pct(pair.percent),
                verdict.word if verdict else None,
                verdict.overlapped_iterations if verdict else None,
                verdict.iterations if verdict else None, verdict.reason if verdict else None,
            )  # fmt: skip
    for verdict_of in view.findings.verdicts:
        for own in verdict_of.pairs if verdict_of.planned else ():
            decided = own.word != "not decidable"
            yield (
                "window", "stages", own.a, own.b, _us(own.overlap_ns) if decided else None, None,
                _us(own.kernels_ns) if decided else None, _us(own.shorter_ns) if decided else None,
                _pct(own.percent) if decided else None, own.word, own.overlapped_iterations,
                own.iterations, own.reason,
            )  # fmt: skip
