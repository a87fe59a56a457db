"""Time in which a device, or a stream, had nothing to do, and what the host did meanwhile.

The host is the thread that launched the operation which ended the gap.
"""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import chain
from typing import NamedTuple

from mla_var3.analyse.timeline_spans import Span, between, length, merge
from mla_var3.analyse.timeline_window import SlowCall, Window
from mla_var3.analyse.timeline_work import Work, is_sync, limit
from mla_var3.core.timeline_findings import Gap, GapCause

_BLOCK = 64

Thread = tuple[int, int]


class _Host:
    """The outermost API calls of one thread, in the order of time."""

    def __init__(self, work: Work, positions: list[int]) -> None:
        calls = work.timeline.calls
        self.at: list[int] = []
        end = -1
        for position in sorted(positions, key=lambda at: (calls[at].start, -calls[at].end)):
            if calls[position].start >= end:  # a driver call inside a runtime call is part of it
                self.at.append(position)
                end = calls[position].end
        self.starts = [calls[at].start for at in self.at]
        self.ends = [calls[at].end for at in self.at]
        self._sums = [0]
        for begin, last in zip(self.starts, self.ends, strict=True):
            self._sums.append(self._sums[-1] + last - begin)
        self._longest = [
            max(range(low, min(low + _BLOCK, len(self.at))), key=self._length)
            for low in range(0, len(self.at), _BLOCK)
        ]

    def _length(self, number: int) -> int:
        return self.ends[number] - self.starts[number]

    def within(self, begin: int, end: int) -> tuple[int, int, int]:
        """The call with most of the time between, its share of it, and the time in any call."""
        first, last = bisect_right(self.ends, begin), bisect_left(self.starts, end)
        if first >= last:
            return -1, 0, 0
        if last == first + 1:
            share = min(self.ends[first], end) - max(self.starts[first], begin)
            return self.at[first], share, share
        most, share = first, 0
        for number in self._candidates(first, last):
            own = min(self.ends[number], end) - max(self.starts[number], begin)
            if own > share:
                most, share = number, own
        inside = self._sums[last] - self._sums[first]
        inside -= max(0, begin - self.starts[first]) + max(0, self.ends[last - 1] - end)
        return self.at[most], share, inside

    def _candidates(self, first: int, last: int) -> Iterable[int]:
        """Calls from `first` up to `last`; of whole blocks between the longest alone."""
        low, high = -(-(first + 1) // _BLOCK), (last - 1) // _BLOCK
        if low >= high:
            return range(first, last)
        edges = chain(range(first, low * _BLOCK), self._longest[low:high])
        return chain(edges, range(high * _BLOCK, last))

    def during(self, time: int) -> int:
        """The call in which the thread was at a time, -1: in none."""
        number = bisect_left(self.starts, time) - 1
        return self.at[number] if number >= 0 and self.ends[number] >= time else -1


class _Why(NamedTuple):
    cause: GapCause
    call: int = -1
    call_ns: int = 0
    waited: int = -1
    outside_ns: int | None = None


class Finder:
    """Finds gaps and tells why they are there."""

    def __init__(self, work: Work, slow: list[SlowCall], window: Window) -> None:
        self._work, self._window = work, window
        self._inside = set(window.members)
        threads: dict[Thread, list[int]] = defaultdict(list)
        for position, call in enumerate(work.timeline.calls):
            threads[call.process, call.thread].append(position)
        self._hosts = {thread: _Host(work, own) for thread, own in threads.items()}
        self._slow = merge(sorted((one.begin, one.end) for one in slow))
        self._main = limit("main_share")

    def of_devices(self) -> list[Gap]:
        """Gaps of every device, all its streams together."""
        devices: dict[int, list[int]] = defaultdict(list)
        for position in self._work.order:
            devices[self._work.operation(position).device].append(position)
        return [
            gap for device, own in sorted(devices.items()) for gap in self._gaps(device, None, own)
        ]

    def of_streams(self) -> list[Gap]:
        """Gaps of every stream, on devices with several: else they are those of the device."""
        several = Counter(key.device for key in self._work.keys)
        lanes = self._work.lanes(self._work.order)
        return [
            gap
            for lane, own in enumerate(lanes)
            if several[self._work.keys[lane].device] > 1
            for gap in self._gaps(self._work.keys[lane].device, lane, own)
        ]

    def _gaps(self, device: int, lane: int | None, positions: list[int]) -> list[Gap]:
        operations = self._work.timeline.operations
        found: list[Gap] = []
        last, end = -1, 0
        for position in positions:
            start = operations[position].start
            if last >= 0 and start > end:
                why = self._why(end, start, position)
                found.append(
                    Gap(
                        device=device,
                        stream=None if lane is None else self._work.keys[lane],
                        begin=end,
                        end=start,
                        after=last,
                        before=position,
                        cause=why.cause,
                        call=why.call,
                        call_ns=why.call_ns,
                        waited=why.waited,
                        outside_ns=why.outside_ns,
                        in_window=last in self._inside and position in self._inside,
                        left_out_ns=self._left_out(end, start),
                    )
                )
            if last < 0 or operations[position].end > end:
                last, end = position, operations[position].end
        return found

    def _left_out(self, begin: int, end: int) -> int:
        return _covered(self._window.cut, begin, end)

    def _why(self, begin: int, end: int, before: int) -> _Why:
        """What the host did in a gap before an operation."""
        calls = self._work.timeline.calls
        launch = self._work.operation(before).call
        if launch < 0:
            return _Why("unknown")
        host = self._hosts[calls[launch].process, calls[launch].thread]
        call, share, inside = host.within(begin, end)
        outside = end - begin - inside
        main = self._main * (end - begin)
        if _covered(self._slow, begin, end) >= main:
            return _Why("first launch", call, share, -1, outside)
        if calls[launch].start < begin:
            return _Why("on the device", call, share, -1, outside)
        running = host.during(begin)
        names = self._work.timeline.names
        if running >= 0 and is_sync(names[calls[running].name]):
            return _Why("synchronise", call, share, running, outside)
        return _Why("call" if share >= main else "host", call, share, -1, outside)


def _covered(spans: list[Span], begin: int, end: int) -> int:
    """How much of a gap spans cover; most gaps lie far from all of them."""
    if not spans or end <= spans[0][0] or begin >= spans[-1][1]:
        return 0
    return length(between(spans, begin, end))
