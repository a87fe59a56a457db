"""Statistics of samples against values worked out by hand."""

import pytest

from mla_var3.core import stats

TEN = [float(x) for x in (7, 1, 9, 3, 5, 2, 10, 4, 8, 6)]


def test_median_of_odd_and_even_numbers() -> None:
    assert stats.median([3.0, 1.0, 2.0]) == 2.0
    assert stats.median(TEN) == 5.5
    assert stats.median([4.0]) == 4.0


@pytest.mark.parametrize(
    ("share", "value"),
    [(0.0, 1.0), (0.1, 1.9), (0.25, 3.25), (0.5, 5.5), (0.75, 7.75), (0.9, 9.1), (1.0, 10.0)],
)
def test_quantiles_lie_between_neighbours(share: float, value: float) -> None:
    """Ten samples 1 to 10: position 9 * share counted from the first."""
    assert stats.quantile(TEN, share) == pytest.approx(value)


def test_relative_iqr() -> None:
    assert stats.relative_iqr_pct(TEN) == pytest.approx(100 * (7.75 - 3.25) / 5.5)


def test_far_out_counts_what_lies_beyond_three_iqrs() -> None:
    """q3 of 1..10 and 22: position 7.5 is 8.5, q1 3.5; the limit is 8.5 + 3 * 5 = 23.5."""
    assert stats.far_out([*TEN, 22.0]) == 0
    assert stats.far_out([*TEN, 24.0]) == 1


def test_drift_compares_the_last_third_with_the_first() -> None:
    assert stats.drift_pct([10.0, 10.0, 50.0, 50.0, 11.0, 11.0]) == pytest.approx(10.0)
    assert stats.drift_pct([10.0] * 9) == 0.0


def test_spread_is_largest_over_smallest() -> None:
    assert stats.spread_pct([100.0, 100.5, 100.2]) == pytest.approx(0.5)


@pytest.mark.parametrize(
    "call",
    [
        lambda: stats.median([]),
        lambda: stats.quantile([1.0], 1.5),
        lambda: stats.drift_pct([1.0] * 5),
        lambda: stats.spread_pct([1.0, 0.0]),
        lambda: stats.spread_pct([]),
        lambda: stats.relative_iqr_pct([0.0, 0.0]),
        lambda: stats.drift_pct([0.0] * 6),
    ],
)
def test_a_figure_of_nothing_does_not_exist(call) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError):
        call()
