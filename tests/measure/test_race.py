"""Races on invented timers: the order of the legs, what counts of one, and the ratios."""

from pathlib import Path

import msgspec
import pytest
from tests.support.comparisons import WHERE
from tests.support.fake_timer import FLUSH_NS, FakeTimer
from tests.support.noise import NoisyDevice, NoisyTimer

from mla_var3.core.comparison import Side
from mla_var3.core.errors import BadArgument, ContradictoryRecord, NoUsableData
from mla_var3.core.race import (
    Contender,
    Race,
    RaceLeg,
    Round,
    load_race,
    round_ratio,
    save_race,
    standings,
)
from mla_var3.measure import race, timing
from mla_var3.measure.quads import LegClock

CHOSEN = race.settings()
MILLI = 1e6


def race_of(rounds: tuple[Round, ...], contenders: int) -> Race:
    names = ("P1", "P2", "P3")[:contenders]
    who = tuple(Contender(side=Side(label=name, kernel=name)) for name in names)
    return Race(created="", contenders=who, rounds=rounds, conditions=WHERE, settings=CHOSEN)


def test_rounds_go_there_and_back_and_their_start_goes_round() -> None:
    assert [race.order_of(number, 3) for number in range(4)] == [
        [0, 1, 2, 2, 1, 0],
        [1, 2, 0, 0, 2, 1],
        [2, 0, 1, 1, 0, 2],
        [0, 1, 2, 2, 1, 0],
    ]


def test_legs_of_200_ms_lose_their_first_50() -> None:
    """A call of 1.94 ms and a flush of 60 µs are 2 ms: 25 thrown away, 75 kept."""
    a, b = FakeTimer([2 * MILLI - FLUSH_NS]), FakeTimer([4 * MILLI - FLUSH_NS])
    rounds = race.run([a, b], CHOSEN)
    assert len(rounds) == 8
    first, second = rounds[0].legs[:2]
    assert (len(first.thrown_ns), len(first.samples_ns)) == (25, 75)
    assert (len(second.thrown_ns), len(second.samples_ns)) == (13, 38)
    assert len(a.batches) == 1 + 2 * 8


@pytest.mark.parametrize(
    ("call_ns", "thrown", "kept"), [(300 * MILLI, 1, 3), (1e3, 820, 2460), (0.0, 834, 2500)]
)
def test_long_and_short_calls(call_ns: float, thrown: int, kept: int) -> None:
    """With a flush of 60 µs; a call that takes no time at all is refused."""
    timers = [FakeTimer([call_ns]), FakeTimer([call_ns])]
    if not call_ns:
        with pytest.raises(NoUsableData, match="a leg of contender 1 has no usable times"):
            race.run(timers, CHOSEN)
        return
    leg = race.run(timers, CHOSEN)[0].legs[0]
    assert (len(leg.thrown_ns), len(leg.samples_ns)) == (thrown, kept)


def test_the_head_of_a_leg_does_not_count() -> None:
    """The first 25 of 100 calls are ten times slower; the probe before takes 3 more."""
    calls = [2 * MILLI - FLUSH_NS] * 3
    for _ in range(16):
        calls += [20 * MILLI] * 25 + [2 * MILLI - FLUSH_NS] * 75
    rounds = race.run([FakeTimer(calls), FakeTimer([2 * MILLI - FLUSH_NS])], CHOSEN)
    assert {ns for r in rounds for leg in r.legs for ns in leg.samples_ns} == {2 * MILLI - FLUSH_NS}


def test_a_ratio_of_a_round_by_hand() -> None:
    """P2 takes 20 and 45, P1 10 and 10: sqrt(20 * 45) / 10 = 3."""
    legs = [(0, 10.0), (1, 20.0), (1, 45.0), (0, 10.0)]
    round_ = Round(legs=tuple(RaceLeg(contender=c, samples_ns=(ns,)) for c, ns in legs))
    assert round_ratio(round_, 1) == pytest.approx(3.0)
    assert round_ratio(round_, 0) == 1.0


def test_the_ratio_is_the_median_of_the_rounds() -> None:
    """Ratios 1.1 to 1.8: median 1.45, interval [1.1, 1.8] of 99.2 %, eight rounds."""
    rounds = []
    for number in range(8):
        ns = 10.0 * (1.1 + 0.1 * number)
        legs = [RaceLeg(contender=0, samples_ns=(10.0,), mhz=1500.0)]
        legs.append(RaceLeg(contender=1, samples_ns=(ns,), mhz=1400.0 + number))
        rounds.append(Round(legs=(*legs, *legs[::-1])))
    first, second = standings(race_of(tuple(rounds), 2))
    assert (first.ratio, first.low, first.high, first.differs) == (1.0, 1.0, 1.0, False)
    assert (second.ratio, second.low, second.high) == pytest.approx((1.45, 1.1, 1.8))
    assert second.level_pct == pytest.approx(99.21875)
    assert second.differs
    assert second.median_ns == pytest.approx(14.5)
    assert len(second.mhz) == 16
    assert second.mhz[0] == 1400.0


def noisy_race(model: str, seed: int, *factors: float) -> Race:
    device = NoisyDevice(model, seed)
    timers = [NoisyTimer(device, factor) for factor in factors]
    return race_of(race.run(timers, CHOSEN), len(factors))


def test_drift_leaves_equal_contenders_equal() -> None:
    """4 % of drift over the first rounds; P3 is 3 % slower."""
    found = standings(noisy_race("drift", 7, 1.0, 1.0, 1.03))
    assert found[1].low <= 1.0 <= found[1].high
    assert [found[1].ratio, found[2].ratio] == pytest.approx([1.0, 1.03], abs=0.002)
    assert found[2].differs


def test_the_interval_holds_the_truth_under_all_noise() -> None:
    """Of 30 races of two equal contenders at 99.2 %, one may miss: 97.5 % of such tests pass."""
    both = [standings(noisy_race("all", seed, 1.0, 1.0))[1] for seed in range(30)]
    assert sum(standing.differs for standing in both) <= 1


def test_the_clock_of_each_leg_is_kept() -> None:
    class Clock:
        source = "nvml"

        def of_leg(self, timer, batch, begin_ns, end_ns):  # type: ignore[no-untyped-def]
            assert end_ns - begin_ns == pytest.approx(200 * MILLI)
            return LegClock(1500.0 if timer is timers[0] else 1450.0)

    timers = [FakeTimer([2 * MILLI - FLUSH_NS]), FakeTimer([2 * MILLI - FLUSH_NS])]
    rounds = race.run(timers, CHOSEN, clock=Clock())
    assert [leg.mhz for leg in rounds[1].legs] == [1450.0, 1500.0, 1500.0, 1450.0]


def test_one_contender_is_no_race() -> None:
    with pytest.raises(BadArgument, match="two contenders"):
        race.run([FakeTimer([1.0])], CHOSEN)
    with pytest.raises(ContradictoryRecord, match="not there and back"):
        Round(legs=tuple(RaceLeg(contender=c, samples_ns=(1.0,)) for c in (0, 1, 0, 1)))


def test_all_contenders_warm_up_in_turn() -> None:
    warm = race.warm_up([FakeTimer([MILLI])] * 3, timing.settings("cuda:0"))
    assert set(warm.window_ns) == {3 * MILLI}


def test_a_race_is_read_as_it_was_written(tmp_path: Path) -> None:
    device = NoisyDevice("independent", 1)
    chosen = CHOSEN | {"leg_ns": 2e7, "drop_ns": 5e6}
    rounds = race.run([NoisyTimer(device), NoisyTimer(device, 1.1)], chosen)
    raced = race_of(rounds, 2)
    save_race(raced, tmp_path / "race.json")
    assert load_race(tmp_path / "race.json") == raced
    assert msgspec.json.decode((tmp_path / "race.json").read_bytes())["format"] == "mla_var3/race"
    (tmp_path / "race.json").write_text("{}", encoding="utf-8")
    with pytest.raises(NoUsableData, match=r"race.json is no race"):
        load_race(tmp_path / "race.json")
