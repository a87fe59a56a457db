"""torch.profiler's trace (Chrome format, of libkineto) as a `Timeline`.

Times stand in the trace as microseconds with up to three decimals, often so large that a float
would lose the last ones: they are read as decimals and kept as whole nanoseconds. Host name and
paths of the trace are not kept.
"""

import json
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from mla_var3.core.errors import NoUsableData
from mla_var3.core.timeline import (
    Call,
    Kind,
    Operation,
    Range,
    Shape,
    Timeline,
    TimelineDevice,
)
from mla_var3.measure.ncu_reader.names import short_name

_KINDS: dict[str, Kind] = {"kernel": "kernel", "gpu_memcpy": "memcpy", "gpu_memset": "memset"}
_CALLS = ("cuda_runtime", "cuda_driver")
_OPERATOR, _RANGE = "cpu_op", "user_annotation"
_DIRECTION = re.compile(r"\b([HDPA]to[HDPA])\b")
CPU = -1
"""`Operation.device` of what ran on the CPU."""
BACKWARDS = "ends before it starts"
NO_TIME = "has no time"
_MISSING_ON_CPU = {
    "calls": "torch's profiler ran on a CPU: nothing calls CUDA there",
    "memcpy": "torch's profiler ran on a CPU: what is copied there is an operator",
}
_MISSING_ON_GPU = {"local_bytes": "torch's profiler does not tell the local memory of a kernel"}


class _Event(NamedTuple):
    """One complete event (`"ph": "X"`) of the trace, ns since the first one."""

    category: str
    name: str
    start: int
    end: int
    thread: int
    process: int
    args: Mapping[str, Any]


def read_kineto(document: bytes | str, tool: str, on_gpu: bool) -> Timeline:
    """The timeline of a trace that `export_chrome_trace` wrote; `tool` is `torch 2.11.0`.

    `on_gpu`: its operations are the GPU's, none where the trace has none; else the outermost
    operators of each CPU thread. Raises `NoUsableData` for text that is no such trace.
    """
    try:
        trace = json.loads(document, parse_float=Decimal)
        rows = [row for row in trace["traceEvents"] if row.get("ph") == "X"]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise NoUsableData(f"torch's profiler left no readable trace: {error}") from error
    events, impossible = _events(rows)
    made = _Builder()
    calls = [event for event in events if event.category in _CALLS]
    host = next((event.process for event in events if event.category not in _KINDS), 0)
    by_correlation = _first_by_correlation(calls)
    if on_gpu:
        for event in events:
            if event.category in _KINDS:
                call = by_correlation.get(_whole(event.args.get("correlation")), -1)
                made.add_gpu(event, call, host)
    else:
        for event in _outermost(e for e in events if e.category == _OPERATOR):
            made.add_operator(event)
    return Timeline(
        collector="kineto",
        tool=tool,
        devices=_devices(trace.get("deviceProperties")),
        calls=tuple(Call(made.name(e.name), e.start, e.end, e.thread, e.process) for e in calls),
        ranges=tuple(
            Range(made.name(e.name), e.start, e.end, e.thread, e.process)
            for e in events
            if e.category == _RANGE
        ),
        names=tuple(made.names),
        shapes=tuple(made.shapes),
        operations=tuple(made.operations),
        impossible=impossible,
        missing=dict(_MISSING_ON_GPU if on_gpu else _MISSING_ON_CPU),
    )


class _Builder:
    """Gives each text and each shape one index, and collects the operations."""

    def __init__(self) -> None:
        self.names: dict[str, int] = {}
        self.shapes: dict[Shape, int] = {}
        self.operations: list[Operation] = []

    def name(self, text: str) -> int:
        return self.names.setdefault(text, len(self.names))

    def add_gpu(self, event: _Event, call: int, host: int) -> None:
        """A kernel, copy or memset; on a GPU's row the trace names no process but the device."""
        args = event.args
        self.operations.append(
            Operation(
                shape=self._index(_shape(event)),
                start=event.start,
                end=event.end,
                device=_whole(args.get("device")),
                context=_whole(args.get("context"), 0),
                stream=_whole(args.get("stream"), event.thread),
                process=host,
                call=call,
                bytes=_known(args.get("bytes")),
                graph_node=_known(args.get("graph node id")) or None,
            )
        )

    def add_operator(self, event: _Event) -> None:
        shape = Shape(kind="cpu", name=event.name)
        self.operations.append(
            Operation(
                shape=self._index(shape),
                start=event.start,
                end=event.end,
                device=CPU,
                context=0,
                stream=event.thread,
                process=event.process,
            )
        )

    def _index(self, shape: Shape) -> int:
        return self.shapes.setdefault(shape, len(self.shapes))


def _events(rows: Iterable[Mapping[str, Any]]) -> tuple[list[_Event], dict[str, int]]:
    """The events of the kinds that are kept, by start, and how many make no sense."""
    kept: list[_Event] = []
    impossible: dict[str, int] = {}
    for row in rows:
        category = str(row.get("cat", ""))
        if category not in (*_KINDS, *_CALLS, _OPERATOR, _RANGE):
            continue
        start, duration = row.get("ts"), row.get("dur")
        if start is None or duration is None or duration < 0:
            reason = BACKWARDS if duration is not None and duration < 0 else NO_TIME
            impossible[reason] = impossible.get(reason, 0) + 1
            continue
        begin, end = _nanoseconds(start), _nanoseconds(Decimal(start) + Decimal(duration))
        thread, process = _whole(row.get("tid"), 0), _whole(row.get("pid"), 0)
        name = str(row.get("name", ""))
        kept.append(_Event(category, name, begin, end, thread, process, row.get("args") or {}))
    zero = min((event.start for event in kept), default=0)
    # Of two that start together the longer one is outside.
    kept.sort(key=lambda event: (event.start, -event.end))
    return [e._replace(start=e.start - zero, end=e.end - zero) for e in kept], impossible


def _outermost(operators: Iterable[_Event]) -> list[_Event]:
    """Operators that lie in no other one of their thread; they come by start."""
    ends: dict[int, int] = {}
    found = []
    for event in operators:
        if event.start >= ends.get(event.thread, event.start):
            ends[event.thread] = event.end
            found.append(event)
    return found


def _first_by_correlation(calls: Iterable[_Event]) -> dict[int, int]:
    """Position of the call of each correlation id: of nested ones the outer."""
    found: dict[int, int] = {}
    for position, event in enumerate(calls):
        correlation = _known(event.args.get("correlation"))
        if correlation:
            found.setdefault(correlation, position)
    return found


def _shape(event: _Event) -> Shape:
    kind = _KINDS[event.category]
    if kind != "kernel":
        direction = _DIRECTION.search(event.name)
        return Shape(kind=kind, name=f"{kind} {direction.group(1)}" if direction else kind)
    args = event.args
    return Shape(
        kind=kind,
        name=short_name(None, event.name),
        full_name=event.name,
        grid=tuple(map(_whole, args.get("grid") or ())),
        block=tuple(map(_whole, args.get("block") or ())),
        registers=_known(args.get("registers per thread")),
        shared_bytes=_known(args.get("shared memory")),
    )


def _devices(rows: Any) -> tuple[TimelineDevice, ...]:
    found = []
    for row in rows or ():
        major, minor = row.get("computeMajor"), row.get("computeMinor")
        found.append(
            TimelineDevice(
                name=str(row.get("name", "")),
                ordinal=_known(row.get("id")),
                compute_capability=f"{major}.{minor}" if major is not None else None,
                sm_count=_known(row.get("numSms")),
            )
        )
    return tuple(found)


def _nanoseconds(microseconds: Decimal | int) -> int:
    return round(Decimal(microseconds) * 1000)


def _known(value: Any) -> int | None:
    """A whole number, also where the trace writes it as text; None for anything else."""
    try:
        return int(value)
    except (TypeError, ValueError, ArithmeticError):
        return None


def _whole(value: Any, default: int = -1) -> int:
    known = _known(value)
    return default if known is None else known
