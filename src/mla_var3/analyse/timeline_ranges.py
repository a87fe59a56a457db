"""NVTX ranges, which are CPU time, projected to the operations that were launched inside them.

An operation belongs to a range where its API call began inside the range, on the same thread of
the same process. An operator that ran on the CPU has no call: its own start and thread count.
"""

from collections import defaultdict
from typing import NamedTuple

from mla_var3.analyse.timeline_work import Work
from mla_var3.core.timeline import Range
from mla_var3.core.timeline_findings import ProjectedRange

_NEVER = 1 << 62

Stack = tuple[int, ...]


class Placed(NamedTuple):
    """Where operations stand among the ranges."""

    stacks: list[Stack]
    """Distinct stacks, outermost first, as positions in `Timeline.ranges`."""
    of: list[int]
    """Each operation's stack; -1: in no range."""
    depth: dict[int, int]
    """Each range's depth on its thread, from 0."""


def place(work: Work) -> Placed:
    """The stack of ranges around each operation's launch."""
    timeline = work.timeline
    ranges: dict[tuple[int, int], list[int]] = defaultdict(list)
    for position, one in enumerate(timeline.ranges):
        ranges[one.process, one.thread].append(position)
    moments: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for position in work.order if ranges else ():
        operation = timeline.operations[position]
        call = work.call_of(position)
        if call is not None:
            moments[call.process, call.thread].append((call.start, position))
        elif operation.device < 0:
            moments[operation.process, operation.stream].append((operation.start, position))
    numbers: dict[Stack, int] = {}
    of = [-1] * len(timeline.operations)
    depth: dict[int, int] = {}
    for thread, own in ranges.items():
        own.sort(key=lambda at: timeline.ranges[at].start)
        walk = _Walk(timeline.ranges, own, depth)
        for time, position in sorted(moments.get(thread, ())):
            stack = walk.at(time)
            if stack:
                of[position] = numbers.setdefault(stack, len(numbers))
        walk.at(_NEVER)
    return Placed(list(numbers), of, depth)


class _Walk:
    """Goes through the ranges of one thread in the order of time."""

    def __init__(
        self, ranges: tuple[Range, ...], positions: list[int], depth: dict[int, int]
    ) -> None:
        self._ranges, self._positions, self._depth = ranges, positions, depth
        self._next = 0
        self._open: list[int] = []
        self._soonest = _NEVER
        """When the first of the open ranges ends."""
        self._stack: Stack = ()

    def at(self, time: int) -> Stack:
        """The ranges that are open at a time, no earlier than the last one asked for."""
        before = self._next
        while (
            self._next < len(self._positions)
            and self._ranges[self._positions[self._next]].start <= time
        ):
            position = self._positions[self._next]
            self._close(self._ranges[position].start)
            self._depth[position] = len(self._open)
            self._open.append(position)
            self._soonest = min(self._soonest, self._end(position))
            self._next += 1
        if self._close(time) or self._next != before:
            self._stack = tuple(self._open)
        return self._stack

    def _close(self, time: int) -> bool:
        """Drop what ended before a time; whether anything did. Any open one may end first."""
        if self._soonest >= time:
            return False
        self._open = [at for at in self._open if self._end(at) >= time]
        self._soonest = min(map(self._end, self._open), default=_NEVER)
        return True

    def _end(self, position: int) -> int:
        end = self._ranges[position].end
        return _NEVER if end is None else end


def project(work: Work, placed: Placed, iteration_of: dict[int, int]) -> list[ProjectedRange]:
    """Each range with the operations that it launched, in the order of `Timeline.ranges`.

    `iteration_of` tells the iteration of a stack.
    """
    sums = [_Sum() for _ in work.timeline.ranges]
    for position in work.order:
        stack = placed.of[position]
        if stack < 0:
            continue
        operation = work.timeline.operations[position]
        for at in placed.stacks[stack]:
            end = work.timeline.ranges[at].end
            sums[at].add(operation.start, operation.end, end is not None and operation.start > end)
            sums[at].iteration = iteration_of.get(stack, -1)
    return [
        ProjectedRange(
            range=position,
            depth=placed.depth.get(position, 0),
            cpu_ns=None if one.end is None else one.end - one.start,
            operations=found.operations,
            begin=found.begin if found.operations else None,
            end=found.end if found.operations else None,
            busy_ns=found.busy,
            sum_ns=found.sum,
            after_close=found.after_close,
            iteration=found.iteration,
        )
        for position, (one, found) in enumerate(zip(work.timeline.ranges, sums, strict=True))
    ]


class _Sum:
    """Adds operations that come in the order of their start."""

    __slots__ = ("after_close", "begin", "busy", "end", "iteration", "operations", "sum")

    def __init__(self) -> None:
        self.operations = self.sum = self.busy = self.after_close = 0
        self.begin = self.end = 0
        self.iteration = -1

    def add(self, start: int, end: int, after_close: bool) -> None:
        if not self.operations:
            self.begin = self.end = start
        self.operations += 1
        self.sum += end - start
        if end > self.end:
            self.busy += end - (start if start > self.end else self.end)
            self.end = end
        self.after_close += after_close
