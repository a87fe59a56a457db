"""What quads show, by hand: changes, looks and words."""

import math

import pytest
from tests.support.comparisons import SETTINGS, changes, quads_of

from mla_var3.core import quads
from mla_var3.core.comparison import Leg, Letter, Quad
from mla_var3.core.comparison_verdict import Effect, Look
from mla_var3.core.errors import ContradictoryRecord


def quad(order: str, *medians: float, **more: object) -> Quad:
    """Legs of three calls with these medians, an outlier in each."""
    letters: list[Letter] = ["A" if letter == "A" else "B" for letter in order]
    legs = (
        Leg(side=letter, samples_ns=(ns, ns * 9, ns * 0.99), **more)  # type: ignore[arg-type]
        for letter, ns in zip(letters, medians, strict=True)
    )
    return Quad(legs=tuple(legs))


def effect(change: float, low: float, high: float, p: float = 0.0) -> Effect:
    return Effect(change_pct=change, low_pct=low, high_pct=high, level_pct=99.07, n=12, p=p)


def test_the_change_of_a_quad() -> None:
    """ln of the legs' medians: (ln 110 + ln 112) / 2 - (ln 100 + ln 104) / 2."""
    found = quads.quad_log(quad("ABBA", 100, 110, 112, 104))
    assert found == pytest.approx(math.log(math.sqrt(110 * 112) / math.sqrt(100 * 104)))
    assert quads.quad_log(quad("BAAB", 110, 100, 104, 112)) == pytest.approx(found)


@pytest.mark.parametrize("order", ["ABBA", "BAAB"])
def test_linear_drift_falls_out(order: str) -> None:
    """Each leg is 2 % longer than the one before."""
    assert quads.quad_log(quad(order, *(100 * 1.02**at for at in range(4)))) == pytest.approx(0.0)


def test_a_penalty_after_each_switch_falls_out_of_a_pair_of_quads() -> None:
    """1.2 % on a leg that follows the other side: ABBA charges B once and A once."""
    for order in ("ABBA", "BAAB"):
        times = [100.0, 101.2, 100.0, 101.2]
        assert quads.quad_log(quad(order, *times)) == pytest.approx(0.0)


def test_four_legs_in_one_of_two_orders() -> None:
    for order in ("ABAB", "AABB", "ABB"):
        with pytest.raises(ContradictoryRecord, match=order):
            quad(order, *[100.0] * len(order))


def test_cycles_from_a_clock_or_counted_in_band() -> None:
    """100 ns at 1500 MHz are 150 cycles; what is counted goes before what is derived."""
    leg = Leg(side="A", samples_ns=(100.0,), mhz=1500.0)
    assert quads.leg_log(leg, "cycles") == pytest.approx(math.log(150.0))
    counted = Leg(side="A", samples_ns=(100.0,), mhz=1500.0, cycles=(7.0, 9.0, 8.0))
    assert quads.leg_log(counted, "cycles") == pytest.approx(math.log(8.0))
    assert quads.leg_log(Leg(side="A", samples_ns=(100.0,)), "cycles") is None


def test_one_leg_without_a_clock_leaves_no_cycles() -> None:
    known = quads_of([1.0] * 11, (1400.0, 1400.0))
    assert quads.effect_of(known, 95.0, "cycles") is not None
    assert quads.effect_of((*known, *quads_of([1.0])), 95.0, "cycles") is None
    assert quads.effect_of((), 95.0) is None


def test_the_effect_of_twelve_quads() -> None:
    """The spread of the twelve is symmetric but for 0.05 %: its mean of means is 0.0."""
    found = quads.effect_of(quads_of(changes(2.0)), 99.0)
    assert found is not None
    assert found.change_pct == pytest.approx(2.0, abs=0.05)
    assert found.low_pct < 2.0 < found.high_pct
    assert found.level_pct == pytest.approx(99.07, abs=0.01)
    assert (found.n, found.p) == (12, 2 / 4096)


@pytest.mark.parametrize(
    ("change", "low", "high", "word"),
    [
        (-3.4, -3.9, -2.8, "faster"),
        (3.4, 2.8, 3.9, "slower"),
        (-1.0, -1.5, -0.1, "faster"),
        (-0.9, -1.5, -0.1, "inconclusive"),  # off zero, too small, not inside the floor
        (-0.4, -0.9, -0.1, "no change"),  # off zero, but inside the floor
        (0.0, -0.9, 0.99, "no change"),
        (0.0, -0.9, 1.0, "inconclusive"),
        (2.0, -0.1, 4.0, "inconclusive"),
        (0.3, -0.8, 1.1, "inconclusive"),
    ],
)
def test_words_at_a_floor_of_one_percent(change: float, low: float, high: float, word: str) -> None:
    assert quads.word_of(effect(change, low, high), 1.0, 99.0) == word


def test_the_floor_decides_what_is_a_change() -> None:
    assert quads.word_of(effect(2.0, 1.5, 2.5), 1.0, 99.0) == "slower"
    assert quads.word_of(effect(2.0, 1.5, 2.5), 2.6, 99.0) == "no change"
    assert quads.word_of(effect(2.0, 1.5, 2.5), 2.2, 99.0) == "inconclusive"


def test_too_few_quads_for_the_level_say_nothing() -> None:
    """Five equal signs reach 93.75 %, however clear they look."""
    found = quads.effect_of(quads_of([1.05] * 5), 99.0)
    assert found is not None
    assert found.level_pct == 93.75
    assert quads.word_of(found, 1.0, 99.0) == "inconclusive"


def test_both_looks_of_the_protocol() -> None:
    assert quads.planned_looks(SETTINGS) == ((12, 99.0), (30, 96.0))
    assert quads.total_error(SETTINGS) == pytest.approx(0.05)


@pytest.mark.parametrize(("shapes", "first"), [(1, 12), (20, 12), (21, 14), (100, 16)])
def test_many_shapes_need_more_quads_at_the_first_look(shapes: int, first: int) -> None:
    """Twelve equal signs are p = 1/2048: as one of 20 at 1 %, and no more."""
    assert quads.planned_looks(SETTINGS, shapes)[0].quads == first
    assert quads.planned_looks(SETTINGS, shapes)[1].quads == 30


def test_a_clear_answer_ends_at_the_first_look() -> None:
    for pct, word in ((3.0, "slower"), (-3.0, "faster"), (0.0, "no change")):
        found = quads.looks(quads_of(changes(pct, 30)), SETTINGS, 1.0)
        assert [(look.quads, look.word) for look in found] == [(12, word)]


def test_an_unclear_one_goes_on_to_the_second_and_no_further() -> None:
    """0.9 % with a spread of 4 x 0.3 %: neither off the floor nor inside it."""
    found = quads.looks(quads_of(changes(0.9, 36, wide=4.0)), SETTINGS, 1.0)
    assert [look.quads for look in found] == [12, 30]
    assert [look.level_pct for look in found] == [99.0, 96.0]
    assert quads.looks(quads_of(changes(0.9, 29, wide=4.0)), SETTINGS, 1.0) == found[:1]
    assert quads.looks(quads_of(changes(3.0, 11)), SETTINGS, 1.0) == ()


def test_a_first_look_that_is_clear_alone_may_not_be_so_among_many() -> None:
    look = Look(quads=12, level_pct=99.0, effect=effect(2.0, 0.5, 3.0, p=0.005), word="slower")
    assert quads.is_final(look)
    assert quads.is_final(look, shapes=2)
    assert not quads.is_final(look, shapes=3)


def test_each_look_spends_its_own_share_of_the_error() -> None:
    """1 % of 5 % at the first: times 5. 4 % at the second: times 1.25."""
    first = Look(quads=12, level_pct=99.0, effect=effect(2.0, 0.5, 3.0, p=0.002), word="slower")
    second = Look(quads=30, level_pct=96.0, effect=effect(2.0, 0.5, 3.0, p=0.04), word="slower")
    assert quads.overall_p(first, SETTINGS) == pytest.approx(0.01)
    assert quads.overall_p(second, SETTINGS) == pytest.approx(0.05)


def test_the_self_check_fails_on_a_change_that_would_be_one() -> None:
    for pct, unreliable in ((0.1, False), (0.8, False), (1.5, True), (-1.5, True)):
        check = quads.self_check_of(quads_of(changes(pct, 6)), SETTINGS)
        assert check is not None
        assert check.level_pct == 96.875
        assert quads.is_unreliable(check, 1.0, SETTINGS) is unreliable
