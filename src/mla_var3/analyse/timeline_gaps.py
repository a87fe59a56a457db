"""Time in which a device, or a stream, had nothing to do, and what the host did meanwhile.

The host is the thread that launched the operation which ended the gap.
"""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import chain

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


_Why = tuple[GapCause, int, int, int, int | None]
"""Cause, call, its time in the gap, the call waited in, and time in no call: as in `Gap`."""


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
        self._syncs = [is_sync(name) for name in work.timeline.names]
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
        operations, inside, cut = self._work.timeline.operations, self._inside, self._window.cut
        stream = None if lane is None else self._work.keys[lane]
        found: list[Gap] = []
        last, end = -1, 0
        for position in positions:
            operation = operations[position]
            start = operation.start
            if last >= 0 and start > end:
                cause, call, call_ns, waited, outside_ns = self._why(end, start, operation.call)
                found.append(
                    Gap(
                        device=device,
                        stream=stream,
                        begin=end,
                        end=start,
                        after=last,
                        before=position,
                        cause=cause,
                        call=call,
                        call_ns=call_ns,
                        waited=waited,
                        outside_ns=outside_ns,
                        in_window=last in inside and position in inside,
                        left_out_ns=_covered(cut, end, start) if cut else 0,
                    )
                )
            if last < 0 or operation.end > end:
                last, end = position, operation.end
        return found

    def _why(self, begin: int, end: int, launch: int) -> _Why:
        """What the host did in a gap before an operation that a call launched."""
        if launch < 0:
            return "unknown", -1, 0, -1, None
        made = self._work.timeline.calls[launch]
        host = self._hosts[made.process, made.thread]
        call, share, inside = host.within(begin, end)
        outside, main = end - begin - inside, self._main * (end - begin)
        if self._slow and _covered(self._slow, begin, end) >= main:
            return "first launch", call, share, -1, outside
        if made.start < begin:
            return "on the device", call, share, -1, outside
        running = host.during(begin)
        if running >= 0 and self._syncs[self._work.timeline.calls[running].name]:
            return "synchronise", call, share, running, outside
        return "call" if share >= main else "host", call, share, -1, outside


def _covered(spans: list[Span], begin: int, end: int) -> int:
    """How much of a gap spans cover; most gaps lie far from all of them."""
    if not spans or end <= spans[0][0] or begin >= spans[-1][1]:
        return 0
    return length(between(spans, begin, end))
