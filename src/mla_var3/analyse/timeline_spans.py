"""Intervals of time as sorted lists of (begin, end) in ns; sweep-lines over them, O(n log n)."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import NamedTuple

Span = tuple[int, int]

_LANES = 20
"""Bits for a lane's position in an event's code."""


def merge(spans: Iterable[Span]) -> list[Span]:
    """The union of spans that are ordered by begin: disjoint, without those of no length."""
    merged: list[Span] = []
    begin, end = 0, -1
    for first, last in spans:
        if last <= first:
            continue
        if end < begin or first > end:
            if end > begin:
                merged.append((begin, end))
            begin, end = first, last
        elif last > end:
            end = last
    if end > begin:
        merged.append((begin, end))
    return merged


def length(spans: Iterable[Span]) -> int:
    """Total length of disjoint spans."""
    total = 0
    for begin, end in spans:
        total += end - begin
    return total


def intersect(a: Sequence[Span], b: Sequence[Span]) -> list[Span]:
    """What two lists of disjoint, ordered spans have in common."""
    common: list[Span] = []
    i = j = 0
    while i < len(a) and j < len(b):
        (a_begin, a_end), (b_begin, b_end) = a[i], b[j]
        begin = a_begin if a_begin > b_begin else b_begin
        end = a_end if a_end < b_end else b_end
        if begin < end:
            common.append((begin, end))
        if a_end < b_end:
            i += 1
        else:
            j += 1
    return common


def holes(spans: Sequence[Span], begin: int, end: int) -> list[Span]:
    """What disjoint, ordered spans leave free between begin and end."""
    free: list[Span] = []
    at = begin
    for first, last in spans:
        if first > at:
            free.append((at, min(first, end)))
        at = max(at, last)
        if at >= end:
            break
    if at < end:
        free.append((at, end))
    return [(first, last) for first, last in free if first < last]


def between(spans: Sequence[Span], begin: int, end: int) -> list[Span]:
    """The part of disjoint, ordered spans that lies between begin and end."""
    first = bisect_left(spans, (begin, begin))
    if first and spans[first - 1][1] > begin:
        first -= 1
    last = bisect_left(spans, (end, end), first)
    return [(max(a, begin), min(b, end)) for a, b in spans[first:last]]


class Together(NamedTuple):
    """How lanes run at the same time, in ns."""

    pairs: dict[tuple[int, int], int]
    """Two lanes, the lower first, to the time in which both ran; absent: they never met."""
    by_count: dict[int, int]
    """Number of lanes that ran at once, from 1, to the time."""


def together(lanes: Sequence[Sequence[Span]]) -> Together:
    """Sweep over lanes of disjoint, ordered spans.

    Each event costs as many steps as lanes run at that moment.
    """
    pairs: dict[tuple[int, int], int] = {}
    by_count: dict[int, int] = {}
    since: dict[int, int] = {}
    before = 0
    for code in _events(lanes):
        time, lane = code >> (_LANES + 1), code & ((1 << _LANES) - 1)
        if since and time > before:
            by_count[len(since)] = by_count.get(len(since), 0) + time - before
        before = time
        if code >> _LANES & 1:
            since[lane] = time
            continue
        own = since.pop(lane)
        for other, began in since.items():
            shared = time - (began if began > own else own)
            if shared:
                pair = (lane, other) if lane < other else (other, lane)
                pairs[pair] = pairs.get(pair, 0) + shared
    return Together(pairs, dict(sorted(by_count.items())))


def _events(lanes: Sequence[Sequence[Span]]) -> list[int]:
    """Begins and ends in the order of time, as numbers; at one time ends come first."""
    codes: list[int] = []
    for lane, spans in enumerate(lanes):
        for begin, end in spans:
            codes.append(begin << (_LANES + 1) | 1 << _LANES | lane)
            codes.append(end << (_LANES + 1) | lane)
    codes.sort()
    return codes
