"""From quads to a word: the change that each shows, the looks, and what a look says.

Pure, so that measuring can stop by it and the analysis can judge by it, from the same file alike.
A quad's change is the mean of ln(median of a leg) of B minus that of A: drift that is linear over
a quad, and a penalty for running after the other side, fall out of it.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from mla_var3.core import rank, stats
from mla_var3.core.comparison import Leg, Quad
from mla_var3.core.comparison_verdict import Effect, Look, Word

Settings = Mapping[str, float]
Quantity = Literal["time", "cycles"]


class LookAt(NamedTuple):
    """After how many quads it is asked whether there is a change, and at which level."""

    quads: int
    level_pct: float

    @property
    def error(self) -> float:
        """Share of wrong answers that this look may give, 0..1."""
        return 1.0 - self.level_pct / 100.0


def planned_looks(settings: Settings, shapes: int = 1) -> tuple[LookAt, LookAt]:
    """Both looks. Many shapes need more quads before one of them can be told at all."""
    both = (
        LookAt(int(settings["first_quads"]), settings["first_level_pct"]),
        LookAt(int(settings["second_quads"]), settings["second_level_pct"]),
    )
    first, second = (look._replace(quads=_enough(look, shapes)) for look in both)
    return first, second


def leg_log(leg: Leg, quantity: Quantity) -> float | None:
    """ln of the median call of a leg, in ns or SM cycles; None: its clock is not known."""
    if quantity == "time":
        return math.log(stats.median(leg.samples_ns))
    if leg.cycles:
        return math.log(stats.median(leg.cycles))
    return None if leg.mhz is None else math.log(stats.median(leg.samples_ns) * leg.mhz / 1e3)


def quad_log(quad: Quad, quantity: Quantity = "time") -> float | None:
    """ln(B / A) of a quad; None: a clock is not known."""
    sides: dict[str, list[float]] = {"A": [], "B": []}
    for leg in quad.legs:
        value = leg_log(leg, quantity)
        if value is None:
            return None
        sides[leg.side].append(value)
    return math.fsum(sides["B"]) / 2.0 - math.fsum(sides["A"]) / 2.0


def effect_of(
    quads: Sequence[Quad], level_pct: float, quantity: Quantity = "time"
) -> Effect | None:
    """The change that quads show; None where one of them has no clock, or there are none."""
    logs = [quad_log(quad, quantity) for quad in quads]
    known = [log for log in logs if log is not None]
    if not known or len(known) < len(logs):
        return None
    interval = rank.signed_rank_interval(known, level_pct / 100.0)
    return effect_from(interval, rank.signed_rank_p(known))


def effect_from(interval: rank.Interval, p: float | None = None) -> Effect:
    """An interval of ln(B / A) as a change in percent."""
    change, low, high = (100.0 * math.expm1(log) for log in interval[:3])
    return Effect(
        change_pct=change,
        low_pct=low,
        high_pct=high,
        level_pct=100.0 * interval.level,
        n=interval.n,
        p=p,
    )


def logs_of(effect: Effect) -> rank.Interval:
    """A change in percent as an interval of ln(B / A)."""
    change, low, high = (
        math.log1p(pct / 100.0) for pct in (effect.change_pct, effect.low_pct, effect.high_pct)
    )
    return rank.Interval(change, low, high, effect.level_pct / 100.0, effect.n)


def word_of(effect: Effect, floor_pct: float, level_pct: float) -> Word:
    """What a change and its interval say, where `floor_pct` is the least that matters.

    "No change" is a statement too: the whole interval lies inside the floor.
    """
    if effect.level_pct < level_pct - 1e-9:
        return "inconclusive"
    if effect.high_pct < 0.0 and effect.change_pct <= -floor_pct:
        return "faster"
    if effect.low_pct > 0.0 and effect.change_pct >= floor_pct:
        return "slower"
    if -floor_pct < effect.low_pct and effect.high_pct < floor_pct:
        return "no change"
    return "inconclusive"


def look_at(quads: Sequence[Quad], at: LookAt, floor_pct: float) -> Look | None:
    """The look at the first quads; None while there are fewer."""
    effect = effect_of(quads[: at.quads], at.level_pct)
    if effect is None or len(quads) < at.quads:
        return None
    word = word_of(effect, floor_pct, at.level_pct)
    return Look(quads=at.quads, level_pct=at.level_pct, effect=effect, word=word)


def is_final(look: Look, shapes: int = 1) -> bool:
    """Whether a first look ends it: also where it is one of several shapes."""
    if look.word == "no change":
        return True
    p = look.effect.p
    error = 1.0 - look.level_pct / 100.0
    return look.word in ("faster", "slower") and p is not None and p * shapes <= error


def looks(
    quads: Sequence[Quad], settings: Settings, floor_pct: float, shapes: int = 1
) -> tuple[Look, ...]:
    """The looks that the quads allow, the last of them the one that counts."""
    first_at, second_at = planned_looks(settings, shapes)
    first = look_at(quads, first_at, floor_pct)
    if first is None or is_final(first, shapes):
        return () if first is None else (first,)
    second = look_at(quads, second_at, floor_pct)
    return (first,) if second is None else (first, second)


def overall_p(look: Look, settings: Settings) -> float:
    """P-value of both looks together: each may spend its own share of the error only."""
    errors = [at.error for at in planned_looks(settings)]
    own = 1.0 - look.level_pct / 100.0
    return min(1.0, (1.0 if look.effect.p is None else look.effect.p) * sum(errors) / own)


def total_error(settings: Settings) -> float:
    """Share of wrong answers that both looks together may give, 0..1."""
    return math.fsum(at.error for at in planned_looks(settings))


def self_check_of(quads: Sequence[Quad], settings: Settings) -> Effect | None:
    """A second build of A over A; None where it was not done."""
    return effect_of(quads, settings["self_check_level_pct"])


def is_unreliable(check: Effect, floor_pct: float, settings: Settings) -> bool:
    """Whether two builds of the same code differ."""
    return word_of(check, floor_pct, settings["self_check_level_pct"]) in ("faster", "slower")


def _enough(look: LookAt, shapes: int) -> int:
    needed = rank.least_count(look.error / shapes)
    return max(look.quads, needed + needed % 2)
