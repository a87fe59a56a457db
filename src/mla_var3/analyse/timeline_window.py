"""The window: the capture without start-up, warm-up, and idle time of first launches and loading.

Of our own captures it holds the `iteration` ranges. Of others: from the first to the last operation
that was launched in a range; without ranges, from the first operation after the last load of the
start-up. Inside it, time in which the host loaded code or was in a kernel's slow first launch is
left out where the device stood idle meanwhile; no operation is.
"""

from bisect import bisect_left
from collections.abc import Iterable
from typing import NamedTuple

from mla_var3.analyse.timeline_ranges import Placed
from mla_var3.analyse.timeline_spans import Span, between, holes, intersect, length, merge
from mla_var3.analyse.timeline_work import Work, is_load, limit, plain_name
from mla_var3.core.timeline import ITERATION, SOLO, WARM_UP
from mla_var3.core.timeline_findings import LeftOut, LeftOutKind

RULES = {
    "iterations": "from the first to the last operation of the iterations",
    "ranges": "from the first to the last operation launched in an NVTX range",
    "loads": "no NVTX ranges: from the first operation after the last load of the start-up",
    "all": "no NVTX ranges and no load before the first operation's end: the whole capture",
}


class Window(NamedTuple):
    """What counts."""

    begin: int
    end: int
    members: list[int]
    """Operations, by start."""
    cut: list[Span]
    """Idle time that is left out."""
    left_out: list[LeftOut]
    rule: str


class SlowCall(NamedTuple):
    """A call that loads code, or a kernel's first launch that took long."""

    begin: int
    end: int
    kind: LeftOutKind
    what: str
    call: int


def slow_calls(work: Work) -> list[SlowCall]:
    """Loads and slow first launches, by begin."""
    timeline = work.timeline
    least = limit("first_launch_ns")
    found: dict[int, SlowCall] = {}
    for at, call in enumerate(timeline.calls):
        if call.end - call.start >= least and is_load(timeline.names[call.name]):
            what = plain_name(timeline.names[call.name])
            found[at] = SlowCall(call.start, call.end, "loading", what, at)
    seen: set[tuple[int, str]] = set()
    for position in work.order:
        operation = timeline.operations[position]
        shape = timeline.shape_of(operation)
        if shape.kind not in ("kernel", "graph") or operation.call < 0:
            continue
        name = shape.full_name or shape.name
        if (operation.process, name) in seen:
            continue
        seen.add((operation.process, name))
        call = timeline.calls[operation.call]
        if call.end - call.start >= least:
            api = plain_name(timeline.names[call.name])
            what = f"{shape.name} ({api})"
            found[operation.call] = SlowCall(
                call.start, call.end, "first launch", what, operation.call
            )
    return sorted(found.values())


def find_window(work: Work, placed: Placed, slow: list[SlowCall]) -> Window:
    """The window of a timeline with at least one operation."""
    inside, rule = _of_interest(work, placed, slow)
    operations = work.timeline.operations
    begin = operations[inside[0]].start
    last = max(operations[at].start for at in inside)
    members = [at for at in work.order if begin <= operations[at].start <= last]
    end = max(operations[at].end for at in members)
    idle = holes(merge(work.spans(members)), begin, end)
    left_out = [*_around(work, (begin, end), members), *_own_ranges(work, placed)]
    cut: list[Span] = []
    for one in slow:
        parts = intersect(holes(cut, one.begin, one.end), between(idle, one.begin, one.end))
        left_out.append(
            LeftOut(
                kind=one.kind,
                what=one.what,
                begin=one.begin,
                end=one.end,
                left_out_ns=length(parts),
            )
        )
        cut = merge(sorted([*cut, *parts]))
    left_out.sort(key=lambda item: (item.begin, item.end))
    return Window(begin, end, members, cut, left_out, rule)


def _of_interest(work: Work, placed: Placed, slow: list[SlowCall]) -> tuple[list[int], str]:
    """Operations by start that the window must hold, and by which rule."""
    names, ranges = work.timeline.names, work.timeline.ranges
    ours = {
        number
        for number, stack in enumerate(placed.stacks)
        if any(names[ranges[at].name] == ITERATION for at in stack)
    }
    inside = [at for at in work.order if placed.of[at] in ours]
    if inside:
        return inside, RULES["iterations"]
    preparing = {
        number
        for number, stack in enumerate(placed.stacks)
        if names[ranges[stack[0]].name] in (WARM_UP, SOLO)
    }
    inside = [at for at in work.order if placed.of[at] >= 0 and placed.of[at] not in preparing]
    if inside:
        return inside, RULES["ranges"]
    after = _after_start_up(work, slow)
    return (after, RULES["loads"]) if after else (work.order, RULES["all"])


def _after_start_up(work: Work, slow: list[SlowCall]) -> list[int]:
    """Operations after the last load that has few operations before it; none: no such load."""
    operations = work.timeline.operations
    starts = [operations[at].start for at in work.order]
    most = limit("start_up_share") * len(starts)
    ends = [one.end if one.kind == "loading" else one.begin for one in slow]
    late = [end for end in ends if bisect_left(starts, end) <= most]
    if not late:
        return []
    return [at for at in work.order if operations[at].start >= max(late)]


def _around(work: Work, window: Span, members: list[int]) -> Iterable[LeftOut]:
    """What came before and after the window."""
    operations = work.timeline.operations
    begin, end = window
    before = [at for at in work.order if operations[at].start < begin]
    after = [at for at in work.order if operations[at].start > operations[members[-1]].start]
    if before:
        first = operations[before[0]].start
        yield LeftOut(
            kind="start-up",
            what="before the window",
            begin=first,
            end=begin,
            left_out_ns=begin - first,
            operations=len(before),
        )
    if after:
        last = max(end, *(operations[at].end for at in after))
        yield LeftOut(
            kind="after",
            what="after the window",
            begin=end,
            end=last,
            left_out_ns=last - end,
            operations=len(after),
        )


def _own_ranges(work: Work, placed: Placed) -> Iterable[LeftOut]:
    """Our `warm-up` and `solo` ranges, each from its begin to its last operation's end."""
    kinds: dict[str, LeftOutKind] = {WARM_UP: "warm-up", SOLO: "solo"}
    timeline = work.timeline
    spans: dict[int, tuple[int, int]] = {}
    for position in work.order:
        stack = placed.of[position]
        outer = placed.stacks[stack][0] if stack >= 0 else -1
        if outer >= 0 and timeline.names[timeline.ranges[outer].name] in kinds:
            count, end = spans.get(outer, (0, 0))
            spans[outer] = (count + 1, max(end, timeline.operations[position].end))
    for outer, (count, end) in spans.items():
        one = timeline.ranges[outer]
        name = timeline.names[one.name]
        end = max(end, one.end or 0)
        yield LeftOut(
            kind=kinds[name],
            what=f"range {name}",
            begin=one.start,
            end=end,
            left_out_ns=0,
            operations=count,
        )
