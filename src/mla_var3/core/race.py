"""`race.json`: several contenders in palindromic rounds, with every leg, and their ratios.

Times are in nanoseconds, clocks in MHz. A ratio is a contender's time over that of the first
contender in the same round: below 1 it is faster.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from mla_var3.core import rank, stats
from mla_var3.core.comparison import Conditions, Side
from mla_var3.core.errors import ContradictoryRecord, NotFound, NoUsableData
from mla_var3.core.timing import Machine, WarmUp

FORMAT: Literal["mla_var3/race"] = "mla_var3/race"


class Contender(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who runs. All start and end at the same tensors."""

    side: Side
    relative_error: float | None = None
    """Of its output against the reference, 0..1."""
    spared: str = ""
    """What it does not have to do and the others do: `no paged cache`."""


class RaceLeg(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Some calls of one contender, one after the other."""

    contender: int
    """Position in `Race.contenders`."""
    samples_ns: tuple[float, ...]
    thrown_ns: tuple[float, ...] = ()
    """The head of the leg, while the clock still follows the contender before."""
    mhz: float | None = None


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """Every contender twice, there and back: P1 … Pn Pn … P1."""

    legs: tuple[RaceLeg, ...]

    def __post_init__(self) -> None:
        order = [leg.contender for leg in self.legs]
        if order != order[::-1] or len(set(order)) * 2 != len(order):
            raise ContradictoryRecord(f"the legs of a round are {order}: not there and back")


class Race(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a race saw."""

    format: Literal["mla_var3/race"] = FORMAT
    schema_version: Literal[1] = 1
    created: str
    contenders: tuple[Contender, ...]
    rounds: tuple[Round, ...]
    conditions: Conditions
    settings: dict[str, float]
    machine: Machine | None = None
    warm_up: WarmUp | None = None
    clock_source: str = ""
    warnings: tuple[str, ...] = ()
    missing: dict[str, str] = {}


class Standing(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How one contender did."""

    contender: int
    median_ns: float
    """Of all its samples."""
    mhz: tuple[float, ...] = ()
    """Clock of each of its legs, as far as known."""
    ratio: float
    low: float
    high: float
    level_pct: float
    """That so many rounds really reach."""
    rounds: int

    @property
    def differs(self) -> bool:
        """Whether its ratio to the first is one to speak of: its interval leaves out 1."""
        return self.low > 1.0 or self.high < 1.0


def round_ratio(round_: Round, contender: int) -> float:
    """Time of a contender over that of the first, from both legs of each in one round."""
    return math.exp(_log_time(round_, contender) - _log_time(round_, 0))


def standings(race: Race) -> tuple[Standing, ...]:
    """In the order of the contenders; the ratio is the median of those of the rounds."""
    return tuple(_standing(race, at) for at in range(len(race.contenders)))


def load_race(path: Path) -> Race:
    """Read a `race.json`; `NoUsableData` names what is wrong with it."""
    if not path.is_file():
        raise NotFound(f"no {path.name}: give the folder of a race")
    try:
        return msgspec.json.decode(path.read_bytes(), type=Race)
    except (msgspec.MsgspecError, ContradictoryRecord) as error:
        raise NoUsableData(f"{path.name} is no race of mla_var3: {error}") from error


def save_race(race: Race, path: Path) -> None:
    """Write it, as it is."""
    path.write_bytes(msgspec.json.encode(race) + b"\n")


def _standing(race: Race, at: int) -> Standing:
    legs = [leg for round_ in race.rounds for leg in round_.legs if leg.contender == at]
    ratios = [round_ratio(round_, at) for round_ in race.rounds]
    found = rank.median_interval(ratios, race.settings["level_pct"] / 100.0)
    return Standing(
        contender=at,
        median_ns=stats.median([sample for leg in legs for sample in leg.samples_ns]),
        mhz=tuple(leg.mhz for leg in legs if leg.mhz is not None),
        ratio=found.estimate,
        low=found.low,
        high=found.high,
        level_pct=100.0 * found.level,
        rounds=found.n,
    )


def _log_time(round_: Round, contender: int) -> float:
    logs = _logs([leg for leg in round_.legs if leg.contender == contender])
    return math.fsum(logs) / len(logs)


def _logs(legs: Sequence[RaceLeg]) -> list[float]:
    return [math.log(stats.median(leg.samples_ns)) for leg in legs]
