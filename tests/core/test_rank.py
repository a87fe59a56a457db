"""Rank statistics against enumeration of all signs, scipy's exact tests, and published examples."""

import math
from itertools import combinations_with_replacement, product

import pytest

from mla_var3.core import rank, stats

EIGHT = [-0.731, 0.504, -0.11, 0.444, -1.186, 0.791, 1.665, 1.324]
NINE = [0.464, -0.176, 0.25, 0.005, 0.858, -0.155, 0.841, 1.011, 1.153]
TWELVE = [-0.414, -1.68, -1.243, 1.377, 1.739, 1.742, 1.74, 0.058, -0.873, -0.017, 0.479, 2.095]
TWENTY = [
    *(0.227, 0.423, -0.04, 1.122, -0.032, 0.078, 0.02, -0.421, -0.693, -0.279, 0.103),
    *(-0.553, 2.023, 0.489, 1.201, 1.533, -0.389, -0.387, 2.237, 1.629),
]
THIRTY = [
    *(0.431, 0.199, 0.788, 3.261, 0.511, 0.02, -0.188, -0.515, -0.58, -0.222, 0.39, -0.866, 0.013),
    *(-0.505, 1.075, 1.712, 1.653, -0.33, -0.43, -1.351, 0.035, 0.655, 0.642, 0.669, 2.19),
    *(-1.292, 0.673, -0.059, 1.127, 3.123),
]


def rank_sums(n: int) -> list[int]:
    """The positive rank sum under each of the 2^n signs, by writing them all out."""
    return [
        sum(r for r, sign in zip(range(1, n + 1), signs, strict=True) if sign)
        for signs in product((False, True), repeat=n)
    ]


@pytest.mark.parametrize("n", range(1, 13))
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.96, 0.99])
def test_the_level_reached_is_that_of_all_signs(n: int, level: float) -> None:
    """Outside lie as many means at each end as the level allows; at least the interval is all."""
    sums = rank_sums(n)

    def tail(k: int) -> float:
        return sum(s <= k for s in sums) / len(sums)

    outside = max((k for k in range(max(sums) + 1) if 2 * tail(k) <= 1 - level), default=0)
    values = [math.sqrt(prime) for prime in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)][:n]
    means = sorted((a + b) / 2 for a, b in combinations_with_replacement(values, 2))
    found = rank.signed_rank_interval(values, level)
    assert found.level == pytest.approx(1 - 2 * tail(outside), abs=1e-15)
    assert (found.low, found.high) == (means[outside], means[-1 - outside])
    assert found.n == n


@pytest.mark.parametrize(("n", "level", "reached"), [(6, 0.95, 0.96875), (12, 0.99, 0.9907)])
def test_levels_of_the_protocol(n: int, level: float, reached: float) -> None:
    values = [float(v) for v in range(n)]
    assert rank.signed_rank_interval(values, level).level == pytest.approx(reached, abs=1e-4)


@pytest.mark.parametrize("n", range(1, 13))
def test_p_is_the_share_of_signs_that_are_as_one_sided(n: int) -> None:
    values = [(-1) ** (v % 3) * (v + 0.5) for v in range(n)]
    ranks = range(1, n + 1)
    plus = sum(r for r, v in zip(ranks, values, strict=True) if v > 0)
    least = min(plus, n * (n + 1) // 2 - plus)
    share = 2 * sum(s <= least for s in rank_sums(n)) / 2**n
    assert rank.signed_rank_p(values) == pytest.approx(min(1.0, share))


@pytest.mark.parametrize(
    ("values", "p"),
    [(NINE, 0.0390625), (THIRTY, 0.07324407435953617), ([0.923, -1.485, -0.377, 0.389, -0.58, 3.202,
     0.612, 1.052], 0.3828125)],
)  # fmt: skip
def test_p_as_scipy_gives_it(values: list[float], p: float) -> None:
    """`scipy.stats.wilcoxon(values, method="exact")`, scipy 1.17.1."""
    assert rank.signed_rank_p(values) == pytest.approx(p, rel=1e-12)


@pytest.mark.parametrize(
    ("values", "level", "low", "high"),
    [
        (EIGHT, 0.95, -0.648, 1.228),
        (EIGHT, 0.99, -1.186, 1.665),
        (TWELVE, 0.95, -0.5925, 1.558),
        (TWELVE, 0.99, -0.8485, 1.74),
        (TWENTY, 0.95, -0.102, 0.8245),
        (TWENTY, 0.99, -0.2095, 1.011),
    ],
)
def test_interval_holds_what_scipys_test_does_not_reject(
    values: list[float], level: float, low: float, high: float
) -> None:
    """Shifts with `scipy.stats.wilcoxon(values - shift, method="exact").pvalue` > 1 - level,
    searched between all means of two values, scipy 1.17.1.
    """
    found = rank.signed_rank_interval(values, level)
    assert (found.low, found.high) == pytest.approx((low, high))


def test_a_published_example() -> None:
    """Hollander & Wolfe 1973, depression scale: pseudo-median -0.46, 95 % of -0.786 to -0.010,
    as R's wilcox.test(conf.int = TRUE) gives them; its level for nine pairs is 96.1 %.
    """
    before = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]
    after = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]
    found = rank.signed_rank_interval(
        [a - b for a, b in zip(after, before, strict=True)], level=0.95
    )
    assert found[:3] == pytest.approx((-0.46, -0.786, -0.010))
    assert found.level == pytest.approx(0.9609, abs=1e-4)


@pytest.mark.parametrize("values", [EIGHT, NINE, TWELVE, TWENTY, THIRTY, [1.0, 1.0, 1.0, 1.0]])
def test_p_and_interval_say_the_same(values: list[float]) -> None:
    """Also with ties, and with values that are exactly 0."""
    for shift in (0.0, 0.3, -0.7, values[0], 2.5):
        shifted = [v - shift for v in values]
        p = rank.signed_rank_p(shifted)
        for level in (0.5, 0.8, 0.95, 0.99):
            found = rank.signed_rank_interval(shifted, level)
            if found.level >= level:
                assert found.excludes_zero == (p <= 1 - level + 1e-12)


def test_ties_make_it_cautious() -> None:
    """Six equal effects: the interval is a point off zero, and p is that of six signs."""
    found = rank.signed_rank_interval([0.02] * 6, 0.95)
    assert found[:3] == (0.02, 0.02, 0.02)
    assert rank.signed_rank_p([0.02] * 6) == 2 / 64
    assert rank.signed_rank_p([0.0] * 6) == 1.0


def test_outliers_move_the_centre_little() -> None:
    assert rank.hodges_lehmann([1.0, 2.0, 3.0]) == 2.0
    assert rank.hodges_lehmann([1.0, 1.0, 1.0, 1.0, 1.0, 50.0]) == 1.0


@pytest.mark.parametrize("p", [0.5, 0.05, 0.01, 0.01 / 3, 0.01 / 20, 0.01 / 21])
def test_least_count_is_the_first_that_can_reach_p(p: float) -> None:
    n = rank.least_count(p)
    assert rank.signed_rank_p([1.0] * n) <= p < rank.signed_rank_p([1.0] * (n - 1))


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [(NINE, -0.155, 1.011), (THIRTY, -0.188, 0.669)],
)
def test_interval_of_the_median_as_scipy_gives_it(
    values: list[float], low: float, high: float
) -> None:
    """`scipy.stats.quantile_test(values, q=0, p=0.5).confidence_interval(0.95)`, scipy 1.17.1."""
    found = rank.median_interval(values, 0.95)
    assert found[:3] == (stats.median(values), low, high)


def test_eight_rounds_give_the_median_all_of_their_range() -> None:
    """1 - 2 / 2^8 = 99.2 %; one value less at each end would be 93.0 %."""
    found = rank.median_interval([float(v) for v in range(8)], 0.95)
    assert found == (3.5, 0.0, 7.0, 1 - 2 / 256, 8)
    assert rank.median_interval([4.0], 0.95).level == 0.0


def test_blocks_are_consecutive_and_differ_by_one_sample_at_most() -> None:
    """As numpy.array_split: 11 samples in 4 blocks are 3, 3, 3 and 2."""
    samples = [float(v) for v in (9, 1, 2, 3, 4, 50, 6, 7, 8, 10, 12)]
    assert rank.block_medians(samples, 4) == [2.0, 4.0, 7.0, 11.0]
    with pytest.raises(ValueError, match="3 samples make no 4 blocks"):
        rank.block_medians(samples[:3], 4)


def test_interval_by_blocks() -> None:
    """Block k holds k, ten times: the medians are 0 to 9. Of 55 means the ninth smallest is 2."""
    samples = [float(block) for block in range(10) for _ in range(10)]
    found = rank.block_interval(samples)
    assert found is not None
    assert found[:3] == (4.5, 2.0, 7.0)
    assert found.level == pytest.approx(0.9512, abs=1e-4)
    assert rank.block_interval(samples[:99]) is None


def test_holm_by_hand() -> None:
    """0.01 * 3, then max with 0.02 * 2, then max with 0.04."""
    assert rank.holm([0.04, 0.01, 0.02]) == pytest.approx([0.04, 0.03, 0.04])
    assert rank.holm([0.3, 0.6, 0.5]) == pytest.approx([0.9, 1.0, 1.0])
    assert rank.holm([0.03]) == [0.03]
    assert rank.holm([]) == []


def test_interval_of_a_mean_of_two() -> None:
    """Distances 3 and 4 below, 6 and 8 above: 5 and 10, over two."""
    a = rank.Interval(10.0, 7.0, 16.0, 0.99, 12)
    b = rank.Interval(20.0, 16.0, 28.0, 0.96, 30)
    assert rank.mean_interval([a, b]) == (15.0, 12.5, 20.0, 0.96, 12)


def test_interval_of_a_difference() -> None:
    """The low end of one meets the high end of the other: 3 and 8, then 6 and 4."""
    a = rank.Interval(10.0, 7.0, 16.0, 0.95, 10)
    b = rank.Interval(20.0, 16.0, 28.0, 0.95, 10)
    found = rank.difference_interval(a, b)
    low, high = -10.0 - math.hypot(3, 8), -10.0 + math.hypot(6, 4)
    assert found[:3] == pytest.approx((-10.0, low, high))


def test_geometric_mean() -> None:
    """`scipy.stats.gmean`, scipy 1.17.1."""
    assert rank.geometric_mean([1.1, 0.9, 1.25]) == pytest.approx(1.0736145845094707)
    assert rank.geometric_mean([0.5, 2.0]) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "call",
    [
        lambda: rank.signed_rank_interval([], 0.95),
        lambda: rank.signed_rank_interval([1.0, math.nan], 0.95),
        lambda: rank.signed_rank_interval([1.0], 1.0),
        lambda: rank.median_interval([], 0.95),
        lambda: rank.hodges_lehmann([math.inf]),
        lambda: rank.geometric_mean([]),
        lambda: rank.least_count(0.0),
    ],
)
def test_what_has_no_figure(call) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError):
        call()
