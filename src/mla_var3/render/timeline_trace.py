"""`timeline.json`: the spans in the Chrome trace format, for Perfetto and chrome://tracing.

https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU: complete events
(`X`) with ts and dur in microseconds, metadata (`M`) for the names of rows, flow events (`s`, `f`)
from an API call to what it launched.
"""

from collections.abc import Iterator

import msgspec

from mla_var3 import conf
from mla_var3.render.layout import printable
from mla_var3.render.timeline_view import TimelineView

_GPUS = 1_000_000
"""Devices are processes of their own, beyond the numbers that hosts are given."""


class Event(msgspec.Struct, omit_defaults=True):
    """One event. `ts` and `dur` in µs."""

    name: str
    ph: str
    pid: int
    tid: int
    ts: float | None = None
    dur: float | None = None
    cat: str | None = None
    id: int | None = None
    bp: str | None = None
    args: dict[str, str | int | float] | None = None


class _Rows:
    """Numbers for processes and threads; names of both."""

    def __init__(self, view: TimelineView) -> None:
        self._view = view
        self._hosts: dict[int, int] = {}
        self._threads: dict[tuple[int, int, str], int] = {}
        self.names: list[Event] = []

    def host(self, process: int) -> int:
        if process not in self._hosts:
            pid = self._hosts[process] = len(self._hosts) + 1
            self._name("process_name", pid, 0, f"host, process {process}")
        return self._hosts[process]

    def device(self, device: int, process: int) -> int:
        """Of operators that ran on the CPU: the host's."""
        if device < 0:
            return self.host(process)
        pid = _GPUS + device
        if (pid, 0, "device") not in self._threads:
            self._threads[pid, 0, "device"] = 0
            self._name("process_name", pid, 0, self._view.device_name(device))
        return pid

    def thread(self, pid: int, number: int, what: str, name: str) -> int:
        """The row of a thread or stream; `what` keeps rows of one thread apart."""
        key = (pid, number, what)
        if key not in self._threads:
            self._threads[key] = len(self._threads) + 1
            self._name("thread_name", pid, self._threads[key], name)
        return self._threads[key]

    def _name(self, kind: str, pid: int, tid: int, name: str) -> None:
        self.names.append(Event(kind, "M", pid, tid, args={"name": name}))


def chrome_trace(view: TimelineView) -> bytes:
    """The whole file."""
    flows = len(view.timeline.operations) <= conf.table("timeline")["trace"]["flows"]["value"]
    rows = _Rows(view)
    events = [*_ranges(view, rows), *_calls(view, rows, every=flows)]
    events += _operations(view, rows, flows)
    other = {
        "collector": view.timeline.collector,
        "tool": view.timeline.tool,
        "title": view.title,
        "left_out": "" if flows else "arrows, and API calls that neither launched nor waited",
    }
    trace = {"displayTimeUnit": "ns", "otherData": other, "traceEvents": rows.names + events}
    return msgspec.json.encode(trace) + b"\n"


def _ranges(view: TimelineView, rows: _Rows) -> Iterator[Event]:
    """NVTX ranges in CPU time; those that need not nest have a row of their own."""
    timeline = view.timeline
    latest = max([view.findings.capture.end, *(one.end or 0 for one in timeline.ranges)])
    for one in timeline.ranges:
        pid = rows.host(one.process)
        nested = "" if one.nested else "start/end "
        tid = rows.thread(pid, one.thread, nested + "ranges", f"{nested}ranges {one.thread}")
        end = latest if one.end is None else one.end
        name = printable(timeline.names[one.name])
        yield Event(name, "X", pid, tid, one.start / 1e3, (end - one.start) / 1e3, "range")


def _calls(view: TimelineView, rows: _Rows, every: bool) -> Iterator[Event]:
    timeline = view.timeline
    told = {one.call for one in timeline.operations}
    told.update(gap.waited for gap in view.findings.gaps)
    names = view.call_names
    places: dict[tuple[int, int], tuple[int, int]] = {}
    for at, call in enumerate(timeline.calls):
        if not every and at not in told:
            continue
        key = (call.process, call.thread)
        if key not in places:
            places[key] = _call_row(view, rows, at)
        pid, tid = places[key]
        name = names[at]
        yield Event(name, "X", pid, tid, call.start / 1e3, (call.end - call.start) / 1e3, "call")


def _call_row(view: TimelineView, rows: _Rows, at: int) -> tuple[int, int]:
    call = view.timeline.calls[at]
    pid = rows.host(call.process)
    return pid, rows.thread(pid, call.thread, "calls", f"API calls {call.thread}")


def _operations(view: TimelineView, rows: _Rows, flows: bool) -> Iterator[Event]:
    timeline, findings, labels = view.timeline, view.findings, view.labels
    names = [printable(shape.name) for shape in timeline.shapes]
    streams = {
        (key.device, key.process, key.context, key.stream): label for key, label in labels.items()
    }
    places: dict[tuple[int, int, int, int], tuple[int, int]] = {}
    for at, (one, launch) in enumerate(zip(timeline.operations, findings.launches, strict=True)):
        key = (one.device, one.process, one.context, one.stream)
        if key not in places:
            if key not in streams:  # it ends before it starts
                continue
            pid = rows.device(one.device, one.process)
            row = f"{one.process} {one.context}"
            places[key] = pid, rows.thread(pid, one.stream, row, streams[key])
        pid, tid = places[key]
        args: dict[str, str | int | float] = {"operation": at, "state": launch.state}
        if findings.stages[launch.stage] != names[one.shape]:
            args["stage"] = findings.stages[launch.stage]
        if launch.latency_ns is not None:
            args["latency_us"] = launch.latency_ns / 1e3
        start, kind = one.start / 1e3, timeline.shapes[one.shape].kind
        length = (one.end - one.start) / 1e3
        yield Event(names[one.shape], "X", pid, tid, start, length, kind, args=args)
        if flows and one.call >= 0:
            from_pid, from_tid = _call_row(view, rows, one.call)
            begin = timeline.calls[one.call].start / 1e3
            yield Event("launch", "s", from_pid, from_tid, begin, cat="launch", id=at)
            yield Event("launch", "f", pid, tid, start, cat="launch", id=at, bp="e")
