"""How quads are taken, on invented timers: order, throw-away calls, when it stops."""

import math
from typing import Any

import pytest
from tests.support.fake_timer import FakeTimer
from tests.support.noise import BASE_NS, NoisyDevice, NoisyTimer

from mla_var3.core import quads as core
from mla_var3.core.errors import BadArgument, NoUsableData
from mla_var3.core.timing import CacheState
from mla_var3.measure import quads, timing
from mla_var3.measure.quads import LegClock, Pair, Task

CHOSEN = quads.settings()
MILLI = 1e6
GPU = timing.settings("cuda:0")


class Named(FakeTimer):
    """Writes what is asked of it into a list that several share."""

    def __init__(self, name: str, times: list[float], log: list[str]) -> None:
        super().__init__(times)
        self.letter = name
        self.log = log

    def start(self, count: int, cache: CacheState) -> Any:
        self.log.append(f"start {self.letter}")
        return super().start(count, cache)

    def read(self, batch: Any) -> list[float]:
        self.log.append(f"read {self.letter}")
        return super().read(batch)


def pair(a_ms: float, b_ms: float, again_ms: float | None = None) -> tuple[Pair, list[str]]:
    log: list[str] = []
    again = None if again_ms is None else Named("again", [again_ms * MILLI], log)
    return Pair(Named("A", [a_ms * MILLI], log), Named("B", [b_ms * MILLI], log), again), log


def task(**more: Any) -> Task:
    return Task(CHOSEN, 1.0, 1 * MILLI, **more)


def test_quads_go_there_and_back_in_turn() -> None:
    both, log = pair(1.0, 1.05)
    run = quads.take(both, task())
    assert [quad.order for quad in run.quads] == ["ABBA", "BAAB"] * 6
    assert "".join(word[-1] for word in log if word.startswith("read")) == "ABBABAAB" * 6


def test_the_next_leg_is_queued_before_the_last_is_read() -> None:
    both, log = pair(1.0, 1.05)
    quads.take(both, task())
    assert log[:6] == ["start A", "start B", "read A", "start B", "read B", "start A"]
    assert log[-2:] == ["read A", "read B"]  # nothing is queued that nobody reads
    starts = [word for word in log if word.startswith("start")]
    assert len(starts) == len(log) / 2 == 48


def test_the_first_call_of_a_leg_does_not_count() -> None:
    """The first of every six calls takes ten times as long."""
    slow_first = [10 * MILLI, *[1 * MILLI] * 5] * 100
    run = quads.take(Pair(FakeTimer(slow_first), FakeTimer(slow_first)), task())
    for leg in (leg for quad in run.quads for leg in quad.legs):
        assert leg.samples_ns == (1 * MILLI,) * 5
        assert leg.thrown_ns == (10 * MILLI,)
    assert core.looks(run.quads, CHOSEN, 1.0)[-1].effect.change_pct == 0.0


@pytest.mark.parametrize(
    ("call_ns", "calls"), [(50 * MILLI, 5), (1 * MILLI, 5), (0.3 * MILLI, 17), (2e3, 1000)]
)
def test_calls_of_a_leg(call_ns: float, calls: int) -> None:
    """Five, or as many as last 5 ms: 17 of 0.3 ms; of 2 µs it would be 2500."""
    assert quads.timed_calls(call_ns, CHOSEN) == calls
    timer = FakeTimer([call_ns])
    run = quads.take(Pair(timer, FakeTimer([call_ns])), Task(CHOSEN, 1.0, call_ns, "warm"))
    assert timer.batches[0] == (calls + 1, "warm")
    assert len(run.quads[0].legs[0].samples_ns) == calls


def test_a_call_without_time_is_an_error() -> None:
    with pytest.raises(NoUsableData, match="took no time"):
        quads.timed_calls(0.0, CHOSEN)


@pytest.mark.parametrize(("b_ms", "count"), [(1.0, 12), (1.02, 12), (0.97, 12)])
def test_a_clear_answer_takes_twelve_quads(b_ms: float, count: int) -> None:
    run = quads.take(pair(1.0, b_ms)[0], task())
    assert len(run.quads) == count


def test_an_unclear_one_takes_thirty() -> None:
    """B is 0.4 % and 1.4 % slower in turn, quad by quad: 0.9 %, and not inside the floor."""
    legs = [[1.004 * MILLI] * 12, [1.014 * MILLI] * 12]
    times = [ns for at in range(100) for ns in legs[at % 2]]
    run = quads.take(Pair(FakeTimer([1 * MILLI]), FakeTimer(times)), task())
    assert len(run.quads) == 30
    assert len(core.looks(run.quads, CHOSEN, 1.0)) == 2


def test_one_of_many_shapes_takes_more_quads() -> None:
    assert len(quads.take(pair(1.0, 1.05)[0], task(shapes=21)).quads) == 14


def test_the_self_check_comes_first_and_is_of_two_builds_of_a() -> None:
    both, log = pair(1.0, 1.05, again_ms=1.002)
    run = quads.take(both, task())
    assert log[:2] == ["start A", "start again"]
    assert len(run.self_check) == 6
    check = core.self_check_of(run.self_check, CHOSEN)
    assert check is not None
    assert check.change_pct == pytest.approx(0.2)
    assert core.looks(run.quads, CHOSEN, 1.0)[-1].effect.change_pct == pytest.approx(5.0)


def test_the_self_check_can_be_left_out() -> None:
    both, log = pair(1.0, 1.05, again_ms=1.002)
    run = quads.take(both, Task(quads.settings({"self_check": 0}), 1.0, MILLI))
    assert run.self_check == ()
    assert "start again" not in log


class Fixed:
    """A clock of 1400 MHz for A and 1410 MHz for B, and its cycles."""

    source = "in-band"

    def __init__(self, a: Any) -> None:
        self.a = a
        self.asked: list[tuple[float, float]] = []

    def of_leg(self, timer: Any, batch: Any, begin_ns: float, end_ns: float) -> LegClock:
        self.asked.append((begin_ns, end_ns))
        mhz = 1400.0 if timer is self.a else 1410.0
        return LegClock(mhz, tuple(ns * mhz / 1e3 for ns in batch))


def test_the_clock_of_each_leg_and_the_cycles_of_each_call() -> None:
    both, _ = pair(1.0, 1.05)
    clock = Fixed(both.a)
    run = quads.take(both, task(), clock)
    assert (run.clock_source, run.no_clock) == ("in-band", "")
    for leg in (leg for quad in run.quads for leg in quad.legs):
        mhz = 1400.0 if leg.side == "A" else 1410.0
        assert leg.mhz == mhz
        assert leg.cycles == (round(leg.samples_ns[0] * mhz / 1e3),) * 5
    assert len(clock.asked) == 48
    assert all(begin <= end for begin, end in clock.asked)
    cycles = core.effect_of(run.quads, 99.0, "cycles")
    assert cycles is not None
    assert cycles.change_pct == pytest.approx(100 * (1.05 * 1410 / 1400 - 1), abs=1e-3)


def test_without_a_clock_the_reason_is_kept() -> None:
    run = quads.take(pair(1.0, 1.05)[0], task())
    assert run.clock_source == ""
    assert run.no_clock == "no clock is read beside this timer"


@pytest.mark.parametrize("bad", [0.0, math.nan, math.inf, -1.0])
def test_a_leg_without_a_time_is_no_result(bad: float) -> None:
    good = FakeTimer([1 * MILLI])
    with pytest.raises(NoUsableData, match=r"a leg of B has no usable times \(6 samples\)"):
        quads.take(Pair(good, FakeTimer([1 * MILLI] * 8 + [bad] * 50)), task())


def test_an_empty_leg_is_no_result() -> None:
    lost = FakeTimer([1 * MILLI], lost=lambda batch: batch == 3)
    with pytest.raises(NoUsableData, match=r"a leg of A has no usable times \(0 samples\)"):
        quads.take(Pair(lost, FakeTimer([1 * MILLI])), task())


def test_both_sides_warm_up_in_turn() -> None:
    """A takes 1 ms and B 3 ms: a call of both is 4 ms, a window of 100 ms holds 25 of each."""
    a, b = FakeTimer([1 * MILLI]), FakeTimer([3 * MILLI])
    both = Pair(a, b)
    warm = quads.warm_up(both, GPU | {"warm_up_limit_s": 50.0})
    assert warm.settled
    assert set(warm.window_ns) == {4 * MILLI}
    assert warm.calls == 3 + 25 * len(warm.window_ns)


def test_a_ramp_in_either_side_is_waited_for() -> None:
    """B falls from 11.2 ms to 8.8 ms over its first 100 calls."""
    ramp = [11.2 * MILLI - 0.024 * MILLI * call for call in range(101)]
    warm = quads.warm_up(Pair(FakeTimer([1 * MILLI]), FakeTimer(ramp)), GPU)
    assert warm.settled
    assert warm.calls > 100
    assert warm.window_ns[-1] == pytest.approx(9.8 * MILLI, rel=0.005)


def test_timers_in_turn_give_sums() -> None:
    both = quads.InTurn(FakeTimer([1.0]), FakeTimer([2.0]))
    assert both.calls(10) == 30.0
    assert both.read(both.start(3, "warm")) == [3.0, 3.0, 3.0]
    assert both.floor(2) == ([1500.0] * 2, [2100.0] * 2)


def test_settings_are_those_of_the_protocol() -> None:
    names = ("first_quads", "first_level_pct", "second_quads", "second_level_pct", "calls")
    assert [CHOSEN[name] for name in names] == [12, 99, 30, 96, 5]
    assert (CHOSEN["floor_pct"], CHOSEN["across_floor_pct"]) == (1, 3)
    assert quads.settings({"floor_pct": 2.0})["floor_pct"] == 2.0
    with pytest.raises(BadArgument, match="no setting 'speed'"):
        quads.settings({"speed": 1.0})


def test_two_noisy_timers_share_their_device() -> None:
    """What the simulations rest on: the noise goes on, whoever runs, and the factor is exact."""
    one = NoisyDevice("all", 3)
    alone = NoisyTimer(one)
    series = alone.start(6, "warm")
    other = NoisyDevice("all", 3)
    a, b = NoisyTimer(other), NoisyTimer(other, 1.5)
    mixed = [*a.start(3, "warm"), *b.start(3, "warm")]
    assert mixed == pytest.approx([*series[:3], *(1.5 * ns for ns in series[3:])])
    assert min(series) > 0.9 * BASE_NS
