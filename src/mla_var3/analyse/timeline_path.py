"""The critical path, as far as spans tell it: see `core.timeline_findings.CriticalPath`."""

from bisect import bisect_right
from itertools import pairwise

from mla_var3.analyse.timeline_work import Work, is_sync, limit
from mla_var3.core.timeline import Call
from mla_var3.core.timeline_findings import CriticalPath, PathPart


def critical_path(work: Work, positions: list[int]) -> CriticalPath | None:
    """The longest chain among operations that are given by start; None: there are none.

    Each operation has at most three that it may follow, so the chain is found in one pass.
    """
    if not positions:
        return None
    operations = work.timeline.operations
    finder = _Before(work, positions)
    best = [0] * len(operations)
    came_from = [-1] * len(operations)
    for position in positions:
        operation = operations[position]
        before, longest = -1, 0
        for at in finder.before(position):
            if best[at] > longest:
                before, longest = at, best[at]
        best[position] = operation.end - operation.start + longest
        came_from[position] = before
        finder.ran(position)
    chain = [max(positions, key=best.__getitem__)]
    while came_from[chain[-1]] >= 0:
        chain.append(came_from[chain[-1]])
    return _told(work, chain[::-1], best[chain[0]])


class _Before:
    """Tells which operations one may follow; asked in the order of their start."""

    def __init__(self, work: Work, positions: list[int]) -> None:
        self._lane = work.lane
        self._operations, self._calls = work.timeline.operations, work.timeline.calls
        self._join = limit("join_ns")
        self._last = [-1] * len(work.keys)
        self._all = Ended(work, positions)
        self._lanes = [Ended(work, own) for own in work.lanes(positions)]
        self._waits = _waits(work)

    def ran(self, position: int) -> None:
        """An operation has been placed: it is the last of its stream."""
        lane = self._lane[position]
        last = self._last[lane]
        if last < 0 or self._operations[position].end >= self._operations[last].end:
            self._last[lane] = position

    def before(self, position: int) -> list[int]:
        """By its stream, by a join that was seen, by the host's waiting."""
        operation, last = self._operations[position], self._last[self._lane[position]]
        start = operation.start
        last_end = self._operations[last].end if last >= 0 else -1
        found = [last] if 0 <= last_end <= start else []
        if operation.call < 0:
            return found
        call = self._calls[operation.call]
        since = call.start if call.start > last_end else last_end
        if since < start:
            found += self._joined(position, since)
        if self._waits:
            found.append(self._waited_for(call))
        return [at for at in found if at >= 0 and at != position]

    def _joined(self, position: int, since: int) -> list[int]:
        """What ended between, if the last of it ended just before the start: one a stream."""
        start = self._operations[position].start
        if not self._all.joins(position, since, self._join):
            return []
        ended = [lane.pass_to(start) for lane in self._lanes]
        return [at for at in ended if at >= 0 and self._operations[at].end > since]

    def _waited_for(self, call: Call) -> int:
        """What ended last before the host came back from waiting, and then made this call."""
        begins, ends = self._waits.get((call.process, call.thread), ([], []))
        number = bisect_right(ends, call.start) - 1
        if number < 0:
            return -1
        ended = self._all.by(ends[number])
        return ended if ended >= 0 and self._operations[ended].end >= begins[number] else -1


class Ended:
    """Operations in the order of their end."""

    def __init__(self, work: Work, positions: list[int]) -> None:
        operations = work.timeline.operations
        self._operations = operations
        self._order = sorted(positions, key=lambda at: operations[at].end)
        self._ends = [operations[at].end for at in self._order]
        self._passed = 0

    def joins(self, position: int, since: int, most: int) -> bool:
        """Whether another one ended after `since` and at most `most` ns before one began.

        To be asked in the order of the starts.
        """
        start = self._operations[position].start
        self.pass_to(start)
        at = self._passed - 1
        if at >= 0 and self._order[at] == position:
            at -= 1
        return at >= 0 and self._ends[at] > since and start - self._ends[at] <= most

    def by(self, time: int) -> int:
        """The operation that ended last, no later than a time; -1: none had."""
        number = bisect_right(self._ends, time) - 1
        return self._order[number] if number >= 0 else -1

    def pass_to(self, time: int) -> int:
        """The same, for times that never go back: without a search."""
        ends, at = self._ends, self._passed
        while at < len(ends) and ends[at] <= time:
            at += 1
        self._passed = at
        return self._order[at - 1] if at else -1


def _waits(work: Work) -> dict[tuple[int, int], tuple[list[int], list[int]]]:
    """Begins and ends of the synchronising calls of each thread."""
    waits: dict[tuple[int, int], tuple[list[int], list[int]]] = {}
    for call in work.timeline.calls:
        if is_sync(work.timeline.names[call.name]):
            begins, ends = waits.setdefault((call.process, call.thread), ([], []))
            if not ends or call.end > ends[-1]:
                begins.append(call.start)
                ends.append(call.end)
    return waits


def _told(work: Work, chain: list[int], total: int) -> CriticalPath:
    names: dict[str, tuple[int, int]] = {}
    for position in chain:
        operation = work.operation(position)
        name = work.timeline.shape_of(operation).name
        count, time = names.get(name, (0, 0))
        names[name] = (count + 1, time + operation.end - operation.start)
    parts = [
        PathPart(name=name, operations=count, total_ns=time)
        for name, (count, time) in names.items()
    ]
    return CriticalPath(
        total_ns=total,
        operations=len(chain),
        joins=sum(work.lane[a] != work.lane[b] for a, b in pairwise(chain)),
        parts=tuple(sorted(parts, key=lambda part: -part.total_ns)),
    )
