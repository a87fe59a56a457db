"""What one process says of one shape: the looks, the cycle rule, the self-check."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from mla_var3.conf import table
from mla_var3.core import quads, stats
from mla_var3.core.comparison import Letter, QuadRun
from mla_var3.core.comparison_verdict import Effect, Look, RunVerdict, Word
from mla_var3.core.units import signed

_CHANGES = ("faster", "slower")


class Rules(NamedTuple):
    """What the words depend on. Percentages of change."""

    settings: Mapping[str, float]
    floor_pct: float
    shapes: int
    memory_bound: bool | None = None
    memory_bound_by: str = ""


class Clocks(NamedTuple):
    """Mean SM clock of the legs of each side in MHz; None: not known."""

    a: float | None
    b: float | None

    @property
    def text(self) -> str:
        """`A 1392, B 1405 MHz`; empty where one is not known."""
        return "" if self.a is None or self.b is None else f"A {self.a:.0f}, B {self.b:.0f} MHz"


def judge_run(run: QuadRun, rules: Rules) -> RunVerdict:
    """The word of the last look, as the cycles and the self-check leave it."""
    looks = quads.looks(run.quads, rules.settings, rules.floor_pct, rules.shapes)
    check = quads.self_check_of(run.self_check, rules.settings)
    notes = _notes(run, rules)
    if not looks:
        why = f"{len(run.quads)} quads, the first look needs more"
        return RunVerdict(word="inconclusive", detail=why, self_check=check, notes=notes)
    last = looks[-1]
    cycles = quads.effect_of(run.quads[: last.quads], last.level_pct, "cycles")
    word, detail = _by_cycles(last, cycles, rules, clocks_of([run]))
    if check is not None and quads.is_unreliable(check, rules.floor_pct, rules.settings):
        word, detail = "unreliable", f"A against a second build of A: {change_text(check)}"
    return RunVerdict(
        word=word,
        detail=detail,
        looks=looks,
        cycles=cycles,
        no_cycles="" if cycles else _no_cycles(run),
        self_check=check,
        notes=notes,
    )


def clocks_of(runs: Iterable[QuadRun]) -> Clocks:
    """Mean clock of each side, from the legs that know theirs."""
    return Clocks(*(_clock(tuple(runs), side) for side in _sides()))


def samples_of(runs: Iterable[QuadRun], side: Letter) -> list[float]:
    """All samples of a side in run order, in ns."""
    legs = (leg for run in runs for quad in run.quads for leg in quad.legs if leg.side == side)
    return [sample for leg in legs for sample in leg.samples_ns]


def change_text(effect: Effect) -> str:
    """`+1.4 % [+1.1, +1.8]`."""
    low, high = signed(effect.low_pct), signed(effect.high_pct)
    return f"{signed(effect.change_pct)} % [{low}, {high}]"


def doubts_of(run: QuadRun) -> tuple[str, ...]:
    """What makes a run unreliable under `--strict`."""
    advice = table("compare")["advice"]
    found = []
    if run.warm_up is not None and not run.warm_up.settled:
        found.append(advice["not_settled"])
    if run.shared_gpu:
        found.append(advice["shared_gpu"])
    return tuple(found)


def _sides() -> tuple[Letter, Letter]:
    return "A", "B"


def _clock(runs: tuple[QuadRun, ...], side: Letter) -> float | None:
    legs = [leg for run in runs for quad in run.quads for leg in quad.legs if leg.side == side]
    known = [leg.mhz for leg in legs if leg.mhz is not None]
    if not known:
        known = [
            1e3 * stats.median(leg.cycles) / stats.median(leg.samples_ns)
            for leg in legs
            if leg.cycles
        ]
    return sum(known) / len(known) if known else None


def _by_cycles(last: Look, cycles: Effect | None, rules: Rules, clocks: Clocks) -> tuple[Word, str]:
    """A change of time is one of the code only where the cycles changed too."""
    word, advice = last.word, table("compare")["advice"]
    if rules.memory_bound:
        return word, ""
    if cycles is None:
        return word, advice["no_cycles"] if word in _CHANGES else ""
    counted = quads.word_of(cycles, rules.floor_pct, last.level_pct)
    differ = f"clock differs: {clocks.text}" if clocks.text else "clock differs"
    if word in _CHANGES and counted == "no change":
        return "no change", differ
    if word in _CHANGES and counted in _CHANGES and counted != word:
        return "inconclusive", f"time says {word}, cycles say {counted}; {differ}"
    if word in _CHANGES and counted == "inconclusive":
        return word, f"cycles inconclusive: {change_text(cycles)}"
    ahead = cycles.change_pct - last.effect.change_pct <= -rules.floor_pct
    if word == "faster" and ahead:
        return word, "power-limited: fewer cycles than time shows"
    if word in ("no change", "inconclusive") and counted == "faster":
        return word, "fewer cycles, same time (power-limited)" if word == "no change" else (
            "fewer cycles, time undecided"
        )
    return word, ""


def _no_cycles(run: QuadRun) -> str:
    legs = [leg for quad in run.quads for leg in quad.legs]
    known = sum(leg.mhz is not None or bool(leg.cycles) for leg in legs)
    if known:
        return f"the clock is known of {known} of {len(legs)} legs"
    return run.no_clock or "the clocks are not known"


def _notes(run: QuadRun, rules: Rules) -> tuple[str, ...]:
    found = [*doubts_of(run), *run.warnings]
    if rules.memory_bound:
        by = f" (by {rules.memory_bound_by})" if rules.memory_bound_by else ""
        found.append(table("compare")["advice"]["memory_bound"] + by)
    drift = _drift(run)
    if drift is not None and abs(drift) > rules.settings["drift_pct"]:
        found.append(f"drift of A over the run {signed(drift)} %: quads take out what is steady")
    clocks = clocks_of([run])
    if clocks.a and clocks.b:
        apart = 100.0 * (clocks.b / clocks.a - 1.0)
        if abs(apart) > rules.settings["clock_told_pct"]:
            found.append(f"SM clocks differ by {signed(apart)} %: {clocks.text}")
    return tuple(found)


def _drift(run: QuadRun) -> float | None:
    """Last third of A's legs against the first, in percent."""
    legs = [
        stats.median(leg.samples_ns) for quad in run.quads for leg in quad.legs if leg.side == "A"
    ]
    return stats.drift_pct(legs) if len(legs) >= 6 else None
