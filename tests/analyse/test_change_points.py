"""Pettitt's test against its definition by signs, by hand, and on simulated series."""

import math
import random

import pytest

from mla_var3.analyse.change_points import Limits, change_points, pettitt

LIMITS = Limits(least_runs=10, p=0.002, floor_pct=3.0)


def by_signs(values: list[float], place: int) -> int:
    """U(t) as Pettitt defines it: signs of all differences across the place."""
    return sum((b < a) - (b > a) for a in values[:place] for b in values[place:])


def test_ten_against_ten_by_hand() -> None:
    """Ranks 1..10 sum to 55: U = 2·55 - 10·21 = -100, p = 2 exp(-6·10⁴ / (8000 + 400))."""
    values = [100.0 + n for n in range(10)] + [200.0 + n for n in range(10)]
    found = pettitt(values)
    assert found[0] == 10
    assert (
        found[1] == pytest.approx(2 * math.exp(-60000 / 8400)) == pytest.approx(0.00158, rel=0.01)
    )
    (change,) = change_points(values, LIMITS)
    assert (change.first_after, change.runs_before, change.runs_after) == (10, 10, 10)
    assert (change.before, change.after) == (104.5, 204.5)
    assert change.pct == pytest.approx(100 * (204.5 / 104.5 - 1))


@pytest.mark.parametrize("seed", range(20))
def test_the_statistic_is_the_one_of_signs(seed: int) -> None:
    draw = random.Random(seed)
    values = [float(draw.randrange(8)) for _ in range(draw.randrange(6, 40))]
    n = len(values)
    found = pettitt(values)
    far = {t: abs(by_signs(values, t)) for t in range(1, n)}
    assert far[found[0]] == max(far.values())
    assert found[1] == pytest.approx(
        min(1.0, 2 * math.exp(-6 * far[found[0]] ** 2 / (n**3 + n**2)))
    )


@pytest.mark.parametrize("runs", [(9, 40), (40, 9), (9, 9), (0, 30)])
def test_fewer_than_ten_runs_on_a_side_decide_nothing(runs: tuple[int, int]) -> None:
    before, after = runs
    values = [100.0 + 0.1 * (n % 3) for n in range(before)]
    values += [150.0 + 0.1 * (n % 3) for n in range(after)]
    assert change_points(values, LIMITS) == ()


def test_two_changes_are_told_apart() -> None:
    draw = random.Random(3)
    levels = [100.0] * 15 + [110.0] * 15 + [104.5] * 15
    found = change_points([level * draw.gauss(1.0, 0.005) for level in levels], LIMITS)
    assert [change.first_after for change in found] == [15, 30]
    assert [round(change.pct) for change in found] == [10, -5]
    assert [(c.runs_before, c.runs_after) for c in found] == [(15, 15), (15, 15)]


def test_a_sure_change_below_the_floor_is_none() -> None:
    values = [100.0 + 0.01 * (n % 5) for n in range(20)]
    assert change_points(values + [value * 1.02 for value in values], LIMITS) == ()
    (found,) = change_points(values + [value * 1.04 for value in values], LIMITS)
    assert found.first_after == 20


def test_series_without_a_change_show_none() -> None:
    """500 series of 60 runs with 2 % noise; p alone allows one of them to be wrong."""
    wrong = 0
    for seed in range(500):
        draw = random.Random(seed)
        values = [100.0 * draw.lognormvariate(0.0, 0.02) for _ in range(60)]
        wrong += bool(change_points(values, LIMITS))
    assert wrong <= 1


def test_a_planted_change_is_found_where_it_is() -> None:
    """5 % after run 30, 1 % noise: 200 series, each within two runs of the place."""
    for seed in range(200):
        draw = random.Random(seed)
        values = [100.0 * draw.lognormvariate(0.0, 0.01) * (1.05 if n >= 30 else 1.0)
                  for n in range(60)]  # fmt: skip
        (found,) = change_points(values, LIMITS)
        assert abs(found.first_after - 30) <= 2, seed
        assert found.pct == pytest.approx(5.0, abs=1.5)


def test_equal_values_and_short_series() -> None:
    with pytest.raises(ValueError, match="one value"):
        pettitt([1.0])
    assert pettitt([1.0] * 20) == (1, 1.0)
    assert change_points([], LIMITS) == change_points([1.0] * 40, LIMITS) == ()
