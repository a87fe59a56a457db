"""Two versions in one process, in balanced quads: ABBA, then BAAB, and so on, until a look decides.

Interleaving in this order is what takes drift, a wandering clock and a penalty for the second
place out of the difference (docs/evidence/2026-12-01-compare-simulated.md).
"""

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

from mla_var3 import conf
from mla_var3.core import quads as core
from mla_var3.core.comparison import LEGS, Leg, Letter, Quad, QuadRun
from mla_var3.core.errors import BadArgument, NoUsableData
from mla_var3.core.timing import CacheState, WarmUp
from mla_var3.measure import timing
from mla_var3.measure.timing import Settings, Timer

ORDERS = ("ABBA", "BAAB")
_LETTERS: dict[str, Letter] = {"A": "A", "B": "B"}


class LegClock(NamedTuple):
    """What is known of the clock during a leg. Cycles are one a call, thrown ones too."""

    mhz: float | None = None
    cycles: tuple[float, ...] = ()


class ClockOfLegs(Protocol):
    """Tells the SM clock of each leg, from a monitor beside the run or from within the kernel."""

    source: str

    def of_leg(self, timer: Timer, batch: Any, begin_ns: float, end_ns: float) -> LegClock:
        """Of a batch that has been read, and that ran between two times of side A's `now()`."""


class Pair(NamedTuple):
    """Both sides, on the same inputs, and a second build of A with buffers of its own."""

    a: Timer
    b: Timer
    again: Timer | None = None


class Task(NamedTuple):
    """How a pair is timed. `call_ns` is about what a call of the faster side takes."""

    settings: Settings
    floor_pct: float
    call_ns: float
    cache: CacheState = "cold"
    shapes: int = 1
    """Of the whole comparison: several need clearer answers."""
    on_leg: Callable[[], None] | None = None
    """Called after each leg."""


class InTurn:
    """Several timers as one for the warm-up: a call is one of each."""

    def __init__(self, *timers: Timer) -> None:
        self._timers = timers

    def now(self) -> float:
        return self._timers[0].now()

    def calls(self, count: int) -> float:
        return math.fsum(timer.calls(count) for timer in self._timers)

    def start(self, count: int, cache: CacheState) -> Any:
        return [timer.start(count, cache) for timer in self._timers]

    def read(self, batch: Any) -> list[float]:
        each = (timer.read(part) for timer, part in zip(self._timers, batch, strict=True))
        return [math.fsum(samples) for samples in zip(*each, strict=True)]

    def floor(self, count: int) -> tuple[list[float], list[float]]:
        return self._timers[0].floor(count)


def settings(changes: Settings | None = None) -> dict[str, float]:
    """The protocol's figures for quads, with `changes` by name."""
    return figures("settings", changes)


def figures(part: str, changes: Settings | None = None) -> dict[str, float]:
    """A part of `conf/compare.json`, with `changes` by name."""
    entries: dict[str, dict[str, float]] = conf.table("compare")[part]
    changes = changes or {}
    unknown = changes.keys() - entries.keys()
    if unknown:
        raise BadArgument(f"no setting {min(unknown)!r} of a comparison")
    return {name: float(entry["value"]) for name, entry in entries.items()} | dict(changes)


def warm_up(pair: Pair, chosen: Settings) -> WarmUp:
    """All sides in turn until they settle, by the figures of event mode."""
    return timing.warm_up(InTurn(*filter(None, pair)), chosen)


def timed_calls(call_ns: float, chosen: Settings) -> int:
    """Calls of a leg that count: five, or as many as last 5 ms."""
    if not call_ns > 0:
        raise NoUsableData("a call took no time in the warm-up: the kernel may not have run")
    enough = math.ceil(chosen["leg_ns"] / call_ns)
    return int(max(chosen["calls"], min(enough, chosen["most_calls"])))


def take(pair: Pair, task: Task, clock: ClockOfLegs | None = None) -> QuadRun:
    """The self-check, where there is a second build of A, and quads of A and B until decided.

    Raises `NoUsableData` for a leg without usable times.
    """
    check: list[Quad] = []
    if pair.again is not None and task.settings["self_check"]:
        same = Run({"A": pair.a, "B": pair.again}, task, clock)
        check = same.quads(0, int(task.settings["self_check_quads"]))
    return QuadRun(
        quads=tuple(_until_decided(Run({"A": pair.a, "B": pair.b}, task, clock))),
        self_check=tuple(check),
        clock_source=clock.source if clock else "",
        no_clock="" if clock else "no clock is read beside this timer",
    )


class Run(NamedTuple):
    """Two timers by letter, and how they are timed."""

    sides: dict[Letter, Timer]
    task: Task
    clock: ClockOfLegs | None

    def quads(self, first: int, last: int) -> list[Quad]:
        """The quads from position `first` until before `last`."""
        letters = "".join(ORDERS[position % 2] for position in range(first, last))
        legs = list(self._legs([_LETTERS[letter] for letter in letters]))
        return [Quad(legs=tuple(legs[at : at + LEGS])) for at in range(0, len(legs), LEGS)]

    def _legs(self, letters: list[Letter]) -> Iterator[Leg]:
        """The next leg is queued before the last is read: no pause between them."""
        thrown = int(self.task.settings["thrown_calls"])
        count = thrown + timed_calls(self.task.call_ns, self.task.settings)
        queued: list[Any] = []
        now = self.sides["A"].now
        end = now()
        for at, letter in enumerate(letters):
            for following in letters[len(queued) : at + 2]:
                queued.append(self.sides[following].start(count, self.task.cache))
            timer, begin = self.sides[letter], end
            samples = timer.read(queued[at])
            end = now()
            known = self.clock.of_leg(timer, queued[at], begin, end) if self.clock else LegClock()
            queued[at] = None
            if self.task.on_leg:
                self.task.on_leg()
            yield _leg(letter, samples, thrown, known)


def _until_decided(run: Run) -> list[Quad]:
    taken: list[Quad] = []
    task = run.task
    for at in core.planned_looks(task.settings, task.shapes):
        taken += run.quads(len(taken), at.quads)
        look = core.look_at(taken, at, task.floor_pct)
        if look is not None and core.is_final(look, task.shapes):
            break
    return taken


def _leg(letter: Letter, samples: list[float], thrown: int, known: LegClock) -> Leg:
    if len(samples) <= thrown or not all(math.isfinite(s) and s > 0 for s in samples):
        raise NoUsableData(
            f"a leg of {letter} has no usable times ({len(samples)} samples): "
            "the kernel may not have run"
        )
    times = tuple(round(sample, 1) for sample in samples)
    cycles = tuple(float(round(count)) for count in known.cycles[thrown:])
    return Leg(
        side=letter,
        samples_ns=times[thrown:],
        thrown_ns=times[:thrown],
        mhz=known.mhz,
        cycles=cycles,
    )
