"""Several contenders in one process, in palindromic rounds whose start goes round.

P1 … Pn Pn … P1 takes linear drift out of each round; the next round begins with P2, so that no
contender always follows the same one.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from mla_var3.core.errors import BadArgument, NoUsableData
from mla_var3.core.race import RaceLeg, Round
from mla_var3.core.timing import CacheState, WarmUp
from mla_var3.measure import timing
from mla_var3.measure.quads import ClockOfLegs, InTurn, LegClock, figures
from mla_var3.measure.timing import Settings, Timer

PROBE = 3
"""Samples that tell how long one lasts on the wall, what precedes it included."""


class Plan(NamedTuple):
    """Calls of one leg of a contender: those thrown away, then those that count."""

    thrown: int
    counted: int


def settings(changes: Settings | None = None) -> dict[str, float]:
    """The protocol's figures for a race, with `changes` by name."""
    return figures("race", changes)


def warm_up(timers: Sequence[Timer], chosen: Settings) -> WarmUp:
    """All contenders in turn until they settle, by the figures of event mode."""
    return timing.warm_up(InTurn(*timers), chosen)


def run(
    timers: Sequence[Timer],
    chosen: Settings,
    cache: CacheState = "cold",
    clock: ClockOfLegs | None = None,
    on_leg: Callable[[], None] = lambda: None,
) -> tuple[Round, ...]:
    """The rounds. Raises `NoUsableData` for a leg without usable times."""
    if len(timers) < 2:
        raise BadArgument("a race needs two contenders or more")
    plans = [_plan(_wall_ns(timer, cache), chosen) for timer in timers]
    rounds = []
    for number in range(int(chosen["rounds"])):
        order = order_of(number, len(timers))
        legs = []
        for at in order:
            legs.append(_leg(timers, at, plans[at], cache, clock))
            on_leg()
        rounds.append(Round(legs=tuple(legs)))
    return tuple(rounds)


def order_of(number: int, contenders: int) -> list[int]:
    """Positions of a round's legs: there and back, from a start that goes round."""
    there = [(number + step) % contenders for step in range(contenders)]
    return there + there[::-1]


def _plan(wall_ns: float, chosen: Settings) -> Plan:
    """200 ms, the first 50 ms of them thrown away; a long call is timed three times at least."""
    thrown = math.ceil(chosen["drop_ns"] / wall_ns)
    rest = math.ceil((chosen["leg_ns"] - chosen["drop_ns"]) / wall_ns)
    most = int(chosen["most_calls"])
    return Plan(min(thrown, most), int(max(chosen["least_calls"], min(rest, most))))


def _wall_ns(timer: Timer, cache: CacheState) -> float:
    begin = timer.now()
    timer.read(timer.start(PROBE, cache))
    spent = timer.now() - begin
    if not spent > 0:
        raise NoUsableData("a call took no time: the kernel may not have run")
    return spent / PROBE


def _leg(
    timers: Sequence[Timer], at: int, plan: Plan, cache: CacheState, clock: ClockOfLegs | None
) -> RaceLeg:
    timer = timers[at]
    begin = timer.now()
    batch: Any = timer.start(plan.thrown + plan.counted, cache)
    samples = timer.read(batch)
    known = clock.of_leg(timer, batch, begin, timer.now()) if clock else LegClock()
    if len(samples) <= plan.thrown or not all(math.isfinite(s) and s > 0 for s in samples):
        raise NoUsableData(
            f"a leg of contender {at + 1} has no usable times ({len(samples)} samples): "
            "the kernel may not have run"
        )
    times = tuple(round(sample, 1) for sample in samples)
    return RaceLeg(
        contender=at,
        samples_ns=times[plan.thrown :],
        thrown_ns=times[: plan.thrown],
        mhz=known.mhz,
    )
