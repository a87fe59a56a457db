"""Where a series of runs has changed: Pettitt's test, again on both sides of each change found.

For a series x of n values, U(t) = 2 (r1 + … + rt) - t (n + 1) with r the ranks (equal values share
their mean rank): how far the ranks of the first t values are from those of the rest. The largest
|U(t)| is K, and p = 2 exp(-6 K² / (n³ + n²)) of "no change", at most 1. The place is then moved by
up to three runs to where both sides lie closest to their medians. A change is told only with
enough runs on each side. The test assumes runs that do not resemble their neighbours; nothing is
drawn at random.
Source: Pettitt 1979, doi:10.2307/2346729.
"""

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from mla_var3.core import stats

NEAR = 3
"""How far the place of a change may be moved from where the ranks put it."""


class Change(NamedTuple):
    """A place where a series changed; positions count its values from 0."""

    first_after: int
    p: float
    before: float
    """Median of the values since the change before, or since the first."""
    after: float
    """Median of the values up to the next change, or the last."""
    runs_before: int
    runs_after: int

    @property
    def pct(self) -> float:
        return 100.0 * (self.after / self.before - 1.0)


class Limits(NamedTuple):
    """When a change is one."""

    least_runs: int
    p: float
    floor_pct: float
    """Smaller changes of the median are none."""


def change_points(values: Sequence[float], limits: Limits) -> tuple[Change, ...]:
    """All changes of a series of positive values, in its order; none where it is short."""
    places = sorted(_split(values, 0, limits))
    ends = [0, *(place for place, _ in places), len(values)]
    found = []
    for number, (place, p) in enumerate(places, start=1):
        before, after = values[ends[number - 1] : place], values[place : ends[number + 1]]
        change = Change(
            place, p, stats.median(before), stats.median(after), len(before), len(after)
        )
        if abs(change.pct) >= limits.floor_pct:
            found.append(change)
    return tuple(found)


def pettitt(values: Sequence[float]) -> tuple[int, float]:
    """The likeliest place of a change, as the position of the first value after it, and its p.

    Raises `ValueError` below two values.
    """
    n = len(values)
    if n < 2:
        raise ValueError("one value has no change")
    sums = list(accumulate(_ranks(values)))
    far = {t: abs(2.0 * sums[t - 1] - t * (n + 1)) for t in range(1, n)}
    place = max(far, key=lambda t: (far[t], -t))
    return place, min(1.0, 2.0 * math.exp(-6.0 * far[place] ** 2 / (n**3 + n**2)))


def _split(values: Sequence[float], start: int, limits: Limits) -> list[tuple[int, float]]:
    """Changes of a part of the series that begins at `start`, as (position, p).

    A change with too few runs on one side is none yet; those few are left out of what is looked at
    next, so that they move no other place.
    """
    found: list[tuple[int, float]] = []
    parts = [(start, values)]
    while parts:
        begin, part = parts.pop()
        if len(part) < 2 * limits.least_runs:
            continue
        place, p = pettitt(part)
        if p > limits.p:
            continue
        place = _nearest_fit(part, place)
        if min(place, len(part) - place) >= limits.least_runs:
            found.append((begin + place, p))
        parts += [(begin, part[:place]), (begin + place, part[place:])]
    return found


def _nearest_fit(values: Sequence[float], place: int) -> int:
    """The place within `NEAR` runs whose two sides lie closest to their own medians.

    Ranks alone may take the first low value of the slow side for one of the fast side.
    """
    places = range(max(1, place - NEAR), min(len(values) - 1, place + NEAR) + 1)
    return min(places, key=lambda t: (_spread(values[:t]) + _spread(values[t:]), abs(t - place)))


def _spread(values: Sequence[float]) -> float:
    middle = stats.median(values)
    return math.fsum(abs(value - middle) for value in values)


def _ranks(values: Sequence[float]) -> list[float]:
    """From 1; equal values share the mean of their ranks."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for position in range(start, end + 1):
            ranks[order[position]] = (start + end) / 2.0 + 1.0
        start = end + 1
    return ranks
