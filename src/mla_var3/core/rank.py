"""Rank statistics: centre and exact interval of a few values that may hold outliers.

No random numbers and no normal approximation: the same values always give the same interval, and
the level that so few values can really reach is told with it. Levels and p-values are 0..1.
Sources: Hodges & Lehmann 1963 and Wilcoxon 1945 (signed ranks), Holm 1979, Zou & Donner 2008
(interval of a sum from the intervals of its terms, MOVER).
"""

import math
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import accumulate
from typing import NamedTuple

from mla_var3.core import stats

BLOCKS = 10
BLOCK_SAMPLES = 10
"""Fewer blocks, or fewer samples in one, give no interval: the run is short."""
SHORT_RUN = "short run, not given"


class Interval(NamedTuple):
    """A centre with the interval around it, in the unit of the values it came from."""

    estimate: float
    low: float
    high: float
    level: float
    """Reached by `n` values; below the one asked for where n is too small."""
    n: int

    @property
    def excludes_zero(self) -> bool:
        return self.low > 0.0 or self.high < 0.0


def hodges_lehmann(values: Sequence[float]) -> float:
    """The median of all means of two values, each value with itself too."""
    return stats.median(_walsh(values))


def signed_rank_interval(values: Sequence[float], level: float) -> Interval:
    """Hodges-Lehmann estimate and the exact interval of the signed-rank test.

    Holds for independent values, symmetric about their centre. Equal values make it wider than
    needed, never narrower. Raises `ValueError` for no values, or one that is not finite.
    """
    _need_level(level)
    means, n = _walsh(values), len(values)
    below = _at_most(n)
    left_out = _left_out(below, n, level)
    return Interval(
        stats.median(means),
        means[left_out],
        means[-1 - left_out],
        1.0 - math.ldexp(2.0 * below[left_out], -n),
        n,
    )


def signed_rank_p(values: Sequence[float]) -> float:
    """Two-sided p-value of "the centre is 0".

    An interval that reaches the level asked for excludes 0 exactly where that is at most 1 - p.
    """
    means, n = _walsh(values), len(values)
    against = min(sum(mean <= 0.0 for mean in means), sum(mean >= 0.0 for mean in means))
    return min(1.0, math.ldexp(2.0 * _at_most(n)[against], -n))


def least_count(p: float) -> int:
    """How many values the signed-rank test needs before it can reach `p` at all."""
    if not 0.0 < p <= 1.0:
        raise ValueError(f"p {p} is not within 0 and 1")
    n = 1
    while 2.0 ** (1 - n) > p:
        n += 1
    return n


def median_interval(values: Sequence[float], level: float) -> Interval:
    """The median and its exact interval by order statistics: no symmetry is assumed."""
    _need_level(level)
    ordered, n = sorted(_finite(values)), len(values)
    below = list(accumulate(math.comb(n, k) for k in range(n // 2 + 1)))
    left_out = min(_left_out(below, n, level), (n - 1) // 2)
    reached = max(0.0, 1.0 - math.ldexp(2.0 * below[left_out], -n))
    low, high = ordered[left_out], ordered[-1 - left_out]
    return Interval(stats.median(ordered), low, high, reached, n)


def block_medians(samples: Sequence[float], blocks: int = BLOCKS) -> list[float]:
    """Medians of consecutive blocks; where it does not divide, the first are one longer."""
    if not 0 < blocks <= len(samples):
        raise ValueError(f"{len(samples)} samples make no {blocks} blocks")
    size, longer = divmod(len(samples), blocks)
    ends = list(accumulate(size + (block < longer) for block in range(blocks)))
    starts = [0, *ends[:-1]]
    return [stats.median(samples[a:b]) for a, b in zip(starts, ends, strict=True)]


def block_interval(samples: Sequence[float], level: float = 0.95) -> Interval | None:
    """Interval of a series whose neighbours resemble each other, from medians of its blocks.

    None below 10 blocks of 10 samples: print `SHORT_RUN`. The clock may wander more slowly than a
    block lasts; then this interval is still too narrow.
    """
    if len(samples) < BLOCKS * BLOCK_SAMPLES:
        return None
    return signed_rank_interval(block_medians(samples), level)


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values corrected for being several (Holm, step down), in the order given."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    steps = (min(1.0, p_values[i] * (len(order) - rank)) for rank, i in enumerate(order))
    adjusted = dict(zip(order, accumulate(steps, max), strict=True))
    return [adjusted[i] for i in range(len(p_values))]


def mean_interval(intervals: Sequence[Interval]) -> Interval:
    """Interval of the mean of independent quantities, each known with an interval of one level."""
    low, high = (_root(i.estimate - i.low for i in intervals),
                 _root(i.high - i.estimate for i in intervals))  # fmt: skip
    count = len(intervals)
    centre = math.fsum(i.estimate for i in intervals) / count
    return _joined(intervals, centre, low / count, high / count)


def difference_interval(minuend: Interval, subtrahend: Interval) -> Interval:
    """Interval of the difference of two independent quantities, each with its own."""
    low = math.hypot(minuend.estimate - minuend.low, subtrahend.high - subtrahend.estimate)
    high = math.hypot(minuend.high - minuend.estimate, subtrahend.estimate - subtrahend.low)
    centre = minuend.estimate - subtrahend.estimate
    return _joined((minuend, subtrahend), centre, low, high)


def geometric_mean(ratios: Sequence[float]) -> float:
    """Of positive ratios."""
    if not ratios:
        raise ValueError("no ratios")
    return math.exp(math.fsum(map(math.log, ratios)) / len(ratios))


def _joined(parts: Sequence[Interval], centre: float, low: float, high: float) -> Interval:
    least = min(part.n for part in parts)
    return Interval(centre, centre - low, centre + high, min(p.level for p in parts), least)


def _root(distances: Iterable[float]) -> float:
    return math.hypot(*distances)


def _walsh(values: Sequence[float]) -> list[float]:
    known = _finite(values)
    return sorted((a + b) / 2.0 for i, a in enumerate(known) for b in known[i:])


def _finite(values: Sequence[float]) -> Sequence[float]:
    if not values:
        raise ValueError("no values")
    if not all(map(math.isfinite, values)):
        raise ValueError("a value is not finite")
    return values


def _need_level(level: float) -> None:
    if not 0.0 < level < 1.0:
        raise ValueError(f"level {level} is not within 0 and 1")


def _left_out(at_most: Sequence[int], n: int, level: float) -> int:
    """How many ordered values lie outside the interval at each end: as many as the level allows."""
    allowed = math.ldexp((1.0 - level) / 2.0, n)
    fitting = sum(count <= allowed for count in at_most)
    return max(0, fitting - 1)


@cache
def _at_most(n: int) -> tuple[int, ...]:
    """Of the 2^n signs, how many give a positive rank sum of at most 0, 1, 2, …"""
    counts = [1]
    for rank in range(1, n + 1):
        without, with_ = counts + [0] * rank, [0] * rank + counts
        counts = [a + b for a, b in zip(without, with_, strict=True)]
    return tuple(accumulate(counts))
