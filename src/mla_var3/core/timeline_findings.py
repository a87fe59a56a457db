"""What is concluded from a timeline: types only, made by `analyse`, shown by `render`.

All times are nanoseconds on the timeline's clock, all shares percent, 0..100. Every figure of a
`Scope` stands twice: over the whole `capture`, and over the `window`, which leaves out start-up,
warm-up, and the time in which the device stood idle while the host loaded code or made a first
launch. What was left out is listed in `left_out`. What cannot be known is None, with its reason.
"""

from typing import Literal

import msgspec

from mla_var3.core.timeline import Collector, Kind, PlanTimeline
from mla_var3.core.timeline_streams import StreamKey, stream_labels
from mla_var3.core.timeline_verdicts import GroupVerdict, LaunchBound, PairVerdict, Saved, Word

__all__ = [
    "CriticalPath",
    "DeviceFigures",
    "Gap",
    "GroupVerdict",
    "KernelFigures",
    "Launch",
    "LaunchBound",
    "LeftOut",
    "PairOverlap",
    "PairVerdict",
    "PathPart",
    "PlanTimeline",
    "ProjectedRange",
    "Saved",
    "Scope",
    "StageSpan",
    "StreamFigures",
    "StreamKey",
    "TimelineFindings",
    "Word",
    "stream_labels",
]

ScopeName = Literal["capture", "window"]
LaunchState = Literal["idle", "waited", "first launch", "queued", "same call", "no call"]
"""Of the stream when the operation was launched: `idle` gives a latency, `first launch` too, but it
holds the loading of code; `waited`: idle, but something on another stream ended while the launch
waited, at most `join_ns` before the operation began (the join of `CriticalPath`: an event's wait,
or no room), so the time is no latency; `same call`: a further operation of one call, such as a node
of a graph; `no call`: its call is not known."""
GapCause = Literal["first launch", "synchronise", "call", "host", "on the device", "unknown"]
"""What the host did while the device stood idle: it loaded code or made a first launch; it had
waited for the device; it was in another API call; it was outside the API; it had launched the next
operation already, so the device itself was slow to start it; or no call is known."""
LeftOutKind = Literal["start-up", "warm-up", "solo", "first launch", "loading", "after"]


class DeviceFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One device in one scope."""

    device: int
    operations: int
    sum_ns: int
    """Durations of all operations, added."""
    busy_ns: int
    """Union of all operations: time in which at least one ran."""
    idle_ns: int
    """Length of the scope minus busy."""
    gaps: int
    gap_median_ns: float | None = None
    gap_max_ns: int | None = None
    by_count: dict[int, int] = {}
    """Streams busy at the same time to the time for which that many were: {1: 2087716, 2: ...}."""

    @property
    def concurrency(self) -> float | None:
        """Sum over union: 1 is one after the other."""
        return self.sum_ns / self.busy_ns if self.busy_ns else None


class StreamFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One stream with work in one scope. Gaps are between its own operations."""

    key: StreamKey
    operations: int
    kernels: int
    copies: int
    memsets: int
    begin: int
    end: int
    sum_ns: int
    busy_ns: int
    idle_ns: int
    """From its first to its last operation, minus busy, minus what the scope leaves out."""
    gaps: int
    gap_median_ns: float | None = None
    gap_max_ns: int | None = None


class PairOverlap(msgspec.Struct, frozen=True, kw_only=True):
    """Two streams of one device in one scope: time in which both ran."""

    a: StreamKey
    b: StreamKey
    overlap_ns: int
    """Kernels, copies and memsets."""
    without_memsets_ns: int
    kernels_ns: int
    """Kernels with kernels alone."""
    shorter_ns: int
    """Busy time of the less busy of the two."""

    @property
    def percent(self) -> float | None:
        """Of the shorter one's busy time."""
        return 100.0 * self.overlap_ns / self.shorter_ns if self.shorter_ns else None


class KernelFigures(msgspec.Struct, frozen=True, kw_only=True):
    """All operations of one shape (`Timeline.shapes`) in one scope."""

    shape: int
    kind: Kind
    operations: int
    total_ns: int
    min_ns: int
    median_ns: float
    max_ns: int
    bytes: int | None = None


class PathPart(msgspec.Struct, frozen=True, kw_only=True):
    """Operations of one name on the critical path."""

    name: str
    operations: int
    total_ns: int


class CriticalPath(msgspec.Struct, frozen=True, kw_only=True):
    """The longest chain of operations that follow each other, by the sum of their durations.

    B follows A where A is the operation before it in its stream; where B, launched already, waited
    on an idle stream while A ran, and began within `join_ns` of the end of the last operation that
    it may have waited for (an event's wait, or no room: spans do not tell which); or where the host
    waited past A's end in a synchronising call before it launched B.
    """

    total_ns: int
    operations: int
    joins: int
    """Steps of it from one stream to another."""
    parts: tuple[PathPart, ...]
    """Longest first."""


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """All figures of the capture, or of the window."""

    name: ScopeName
    begin: int
    end: int
    length_ns: int
    """End minus begin, minus what was left out between."""
    operations: int
    devices: tuple[DeviceFigures, ...] = ()
    streams: tuple[StreamFigures, ...] = ()
    pairs: tuple[PairOverlap, ...] = ()
    kernels: tuple[KernelFigures, ...] = ()
    """Longest total first."""
    path: CriticalPath | None = None
    launch_latency_ns: float | None = None
    """Median over operations of state `idle`: without slow first launches and waits."""
    idle_launches: int = 0
    waited_launches: int = 0
    launches: int = 0
    """Operations with a call of their own."""


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """Something that the window leaves out, with its time."""

    kind: LeftOutKind
    what: str
    begin: int
    end: int
    left_out_ns: int
    """What the window is shorter by for it; 0 where the device worked on meanwhile."""
    operations: int = 0


class Launch(msgspec.Struct, frozen=True, array_like=True):
    """How one operation (same position in `Timeline.operations`) came to run."""

    order: int
    """Position of its call among all launching calls, from 1; 0 without a call."""
    state: LaunchState
    latency_ns: int | None = None
    """Start of the operation minus start of its call; None where the stream was not idle, or the
    operation waited for another stream."""
    queue_ns: int | None = None
    """Start of the operation minus end of its call; negative: it ran before the call was back."""
    ranges: int = -1
    """Position in `range_stacks`; -1: launched in no range."""
    stage: int = -1
    """Position in `stages`."""
    in_window: bool = True


class Gap(msgspec.Struct, frozen=True, kw_only=True):
    """Time in which a device (`stream` None) or a stream had nothing to do between operations."""

    device: int
    stream: StreamKey | None
    begin: int
    end: int
    after: int
    """Operation that ended last before it."""
    before: int
    """Operation that ended it."""
    cause: GapCause
    call: int = -1
    """The API call that tells most of it, -1: none."""
    call_ns: int = 0
    """How much of the gap the host spent in that call."""
    waited: int = -1
    """The synchronising call in which the host was when the device ran dry."""
    outside_ns: int | None = None
    """Time of the gap in which the thread that launched the next operation was in no call."""
    in_window: bool = True
    left_out_ns: int = 0
    """How much of it the window leaves out."""

    @property
    def length_ns(self) -> int:
        return self.end - self.begin


class ProjectedRange(msgspec.Struct, frozen=True, kw_only=True):
    """One NVTX range and what it launched, directly or in ranges inside."""

    range: int
    """Position in `Timeline.ranges`."""
    depth: int
    cpu_ns: int | None
    """None: it was never closed."""
    operations: int = 0
    begin: int | None = None
    """Start of the first operation."""
    end: int | None = None
    busy_ns: int = 0
    """Union of its operations."""
    sum_ns: int = 0
    after_close: int = 0
    """Operations that began after the range was closed."""
    iteration: int = -1


class StageSpan(msgspec.Struct, frozen=True, kw_only=True):
    """One stage in one iteration, projected to GPU time. `iteration` from 0."""

    stage: str
    iteration: int
    begin: int
    end: int
    busy_ns: int
    operations: int
    streams: tuple[StreamKey, ...]


class TimelineFindings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is concluded from one timeline. Positions point into the `Timeline`."""

    collector: Collector
    plan: PlanTimeline | None
    capture: Scope
    window: Scope
    window_rule: str
    """What the window is, in words."""
    left_out: tuple[LeftOut, ...]
    cut: tuple[tuple[int, int], ...] = ()
    """Begin and end of each piece of idle time that is left out inside the window, by begin."""
    launches: tuple[Launch, ...]
    stages: tuple[str, ...]
    """What colours the operations: stages of the plan, else innermost ranges, else names."""
    range_stacks: tuple[tuple[int, ...], ...]
    """Distinct stacks of ranges, outermost first, as positions in `Timeline.ranges`."""
    ranges: tuple[ProjectedRange, ...]
    gaps: tuple[Gap, ...]
    """Of each device, then of each stream where a device has several; each by begin."""
    iteration_name: str
    """Name of the ranges that are counted as iterations; empty: none."""
    iterations: tuple[int, ...]
    """Of the window, as positions in `Timeline.ranges`."""
    spans: tuple[StageSpan, ...]
    verdicts: tuple[GroupVerdict, ...]
    launch_bound: tuple[LaunchBound, ...]
    saved: tuple[Saved, ...]
    notes: tuple[str, ...]
    """Doubts: what was lost, impossible, not traced, left out of the overlap."""
