"""Two stored runs against each other: not interleaved, so the floor is higher."""

import math

from mla_var3.analyse.comparison_run import Rules
from mla_var3.conf import table
from mla_var3.core import quads, rank, stats
from mla_var3.core.comparison import Shape, StoredSeries
from mla_var3.core.comparison_verdict import Effect, ShapeVerdict
from mla_var3.core.units import signed


def judge_stored(shape: Shape, rules: Rules) -> ShapeVerdict:
    """From the raw samples of both runs, by blocks; short runs decide nothing."""
    if shape.stored is None:
        raise ValueError("no stored runs")
    a, b = shape.stored
    apart = _clock_apart_pct(a, b)
    floor = max(rules.floor_pct, rules.settings["across_floor_pct"], abs(apart or 0.0))
    level = 100.0 - (100.0 - rules.settings["across_level_pct"]) / rules.shapes
    effect = _effect(a, b, level)
    word = quads.word_of(effect, floor, level) if effect else "inconclusive"
    return ShapeVerdict(
        word=word,
        detail="" if effect else _short(a, b),
        time=effect,
        no_cycles="of runs apart only the times are compared",
        floor_pct=floor,
        a_ns=stats.median(a.samples_ns),
        b_ns=stats.median(b.samples_ns),
        a_mhz=a.mhz,
        b_mhz=b.mhz,
        notes=_notes(a, b, apart, rules),
        doubts=_doubts(a, b),
    )


def _effect(a: StoredSeries, b: StoredSeries, level_pct: float) -> Effect | None:
    """Difference of the two block intervals of ln(time)."""
    logs = ([math.log(sample) for sample in side.samples_ns] for side in (a, b))
    before, after = (rank.block_interval(log, level_pct / 100.0) for log in logs)
    if before is None or after is None:
        return None
    return quads.effect_from(rank.difference_interval(after, before))


def _short(a: StoredSeries, b: StoredSeries) -> str:
    few = min(len(a.samples_ns), len(b.samples_ns))
    needed = rank.BLOCKS * rank.BLOCK_SAMPLES
    return f"short run: {few} samples, an interval needs {needed}"


def _clock_apart_pct(a: StoredSeries, b: StoredSeries) -> float | None:
    return 100.0 * (b.mhz / a.mhz - 1.0) if a.mhz and b.mhz else None


def _notes(a: StoredSeries, b: StoredSeries, apart: float | None, rules: Rules) -> tuple[str, ...]:
    found = [*_doubts(a, b)]
    if apart is None:
        found.append(table("compare")["advice"]["no_clock"])
    elif abs(apart) > rules.settings["clock_told_pct"]:
        found.append(f"SM clocks differ by {signed(apart)} %: A {a.mhz:.0f}, B {b.mhz:.0f} MHz")
    return tuple(found)


def _doubts(a: StoredSeries, b: StoredSeries) -> tuple[str, ...]:
    words = table("compare")["advice"]["not_settled"]
    return tuple(f"{side}: {words}" for side, run in (("A", a), ("B", b)) if not run.settled)
