"""How each operation came to run: the order of the calls, and the latency where it has a meaning.

Start of the operation minus start of its call is launch latency only where the stream was idle at
the call; on a busy stream it is the time in the queue. Where something on another stream ended just
before the operation began, as by the join of the critical path, it is the wait for that.
"""

from collections.abc import Sequence

from mla_var3.analyse.timeline_path import Ended
from mla_var3.analyse.timeline_window import SlowCall
from mla_var3.analyse.timeline_work import Work, limit
from mla_var3.core.timeline_findings import Launch, LaunchState


def launches(
    work: Work, place: Sequence[tuple[int, int]], members: set[int], slow: list[SlowCall]
) -> tuple[Launch, ...]:
    """A row an operation, in the order of `Timeline.operations`.

    `place` holds the stack of ranges and the stage of each.
    """
    first = {one.call for one in slow}
    order = _order(work)
    states = _states(work)
    operations, calls = work.timeline.operations, work.timeline.calls
    rows = []
    for position, operation in enumerate(operations):
        state = states[position]
        latency = queue = None
        if state in ("idle", "waited", "queued"):
            if state != "queued" and operation.call in first:
                state = "first launch"
            call = calls[operation.call]
            queue = operation.start - call.end
            if state in ("idle", "first launch"):
                latency = operation.start - call.start
        rows.append(
            Launch(
                order.get(operation.call, 0),
                state,
                latency,
                queue,
                *place[position],
                position in members,
            )
        )
    return tuple(rows)


def _order(work: Work) -> dict[int, int]:
    """Each launching call's number, from 1, by the start of the calls."""
    calls = work.timeline.calls
    launching = {one.call for one in work.timeline.operations if one.call >= 0}
    ordered = sorted(launching, key=lambda at: (calls[at].start, at))
    return {call: number for number, call in enumerate(ordered, start=1)}


def _states(work: Work) -> list[LaunchState]:
    """Whether each operation's stream was idle when it was launched."""
    operations, calls = work.timeline.operations, work.timeline.calls
    states: list[LaunchState] = ["no call"] * len(operations)
    busy_until = [-1] * len(work.keys)
    seen: set[int] = set()
    ended, most = Ended(work, work.order), limit("join_ns")
    for position in work.order:
        operation, lane = operations[position], work.lane[position]
        if operation.call >= 0:
            if operation.call in seen:
                states[position] = "same call"
            else:
                called = calls[operation.call].start
                if busy_until[lane] > called:
                    states[position] = "queued"
                else:
                    states[position] = "waited" if ended.joins(position, called, most) else "idle"
            seen.add(operation.call)
        busy_until[lane] = max(busy_until[lane], operation.end)
    return states
