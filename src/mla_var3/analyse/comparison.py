"""The verdict of a comparison: a word a shape, and what they come to. Pure.

The same file always gives the same verdict: no random numbers, and the looks are replayed.
"""

from collections.abc import Sequence

from msgspec import structs

from mla_var3.analyse.comparison_across import judge_stored
from mla_var3.analyse.comparison_gate import differences
from mla_var3.analyse.comparison_run import Rules, clocks_of, doubts_of, judge_run, samples_of
from mla_var3.conf import table
from mla_var3.core import quads, rank, stats
from mla_var3.core.comparison import Comparison, Shape
from mla_var3.core.comparison_verdict import (
    WORDS,
    ComparisonVerdict,
    Effect,
    RunVerdict,
    ShapeVerdict,
    Word,
)
from mla_var3.core.errors import KernelFailed, NotComparable, Unreliable

GATE_SLOWER, GATE_INCONCLUSIVE = 10, 11
_FINISHED: tuple[Word, ...] = WORDS[:4]


def judge(comparison: Comparison) -> ComparisonVerdict:
    """Each shape by itself, then corrected for being several, and the geometric mean."""
    shapes = _corrected([_shape(shape, comparison) for shape in comparison.shapes], comparison)
    counts: dict[str, int] = dict.fromkeys(_FINISHED, 0)
    for verdict in shapes:
        counts[verdict.word] = counts.get(verdict.word, 0) + 1
    return ComparisonVerdict(
        shapes=tuple(shapes),
        counts=counts,
        mean=_mean(shapes, comparison),
        across_runs=comparison.across_runs,
        notes=_notes(shapes, comparison),
    )


def exit_code(verdict: ComparisonVerdict, gate: bool = False, strict: bool = False) -> int:
    """Of the command. Without `gate` any finished verdict is 0.

    What cannot be trusted comes before what was found: wrong results, unlike conditions,
    unreliable (under `strict` also not settled or a shared GPU), slower, inconclusive.
    """
    words = {shape.word for shape in verdict.shapes}
    if "failed" in words:
        return KernelFailed.exit_code
    if "not comparable" in words:
        return NotComparable.exit_code
    if "unreliable" in words or (strict and any(shape.doubts for shape in verdict.shapes)):
        return Unreliable.exit_code
    if gate and "slower" in words:
        return GATE_SLOWER
    return GATE_INCONCLUSIVE if gate and "inconclusive" in words else 0


def _shape(shape: Shape, comparison: Comparison) -> ShapeVerdict:
    if shape.failure:
        return ShapeVerdict(word="failed", detail=shape.failure)
    differs = differences(shape.a, shape.b)
    if differs:
        return ShapeVerdict(word="not comparable", differs=differs)
    rules = Rules(
        comparison.settings,
        comparison.floors.pct,
        len(comparison.shapes),
        shape.memory_bound,
        shape.memory_bound_by,
    )
    if shape.stored:
        return judge_stored(shape, rules)
    return _interleaved(shape, rules)


def _interleaved(shape: Shape, rules: Rules) -> ShapeVerdict:
    """One process, or several that must agree."""
    verdicts = tuple(judge_run(run, rules) for run in shape.runs)
    if not any(verdict.looks for verdict in verdicts):
        why = verdicts[0].detail if verdicts else "it was not timed"
        return ShapeVerdict(word="inconclusive", detail=why, runs=verdicts)
    word, detail = _agreed(verdicts)
    a, b = samples_of(shape.runs, "A"), samples_of(shape.runs, "B")
    clocks = clocks_of(shape.runs)
    cycles = [verdict.cycles for verdict in verdicts if verdict.cycles]
    return ShapeVerdict(
        word=word,
        detail=detail,
        time=_hull([verdict.looks[-1].effect for verdict in verdicts if verdict.looks]),
        cycles=_hull(cycles) if len(cycles) == len(verdicts) else None,
        no_cycles=next((verdict.no_cycles for verdict in verdicts if verdict.no_cycles), ""),
        floor_pct=rules.floor_pct,
        a_ns=stats.median(a),
        b_ns=stats.median(b),
        a_mhz=clocks.a,
        b_mhz=clocks.b,
        p=max(_p(verdict, rules) for verdict in verdicts),
        runs=verdicts,
        notes=tuple(dict.fromkeys(note for verdict in verdicts for note in verdict.notes)),
        doubts=tuple(dict.fromkeys(doubt for run in shape.runs for doubt in doubts_of(run))),
    )


def _agreed(verdicts: Sequence[RunVerdict]) -> tuple[Word, str]:
    words = [verdict.word for verdict in verdicts]
    if "unreliable" in words:
        return "unreliable", verdicts[words.index("unreliable")].detail
    if len(set(words)) == 1:
        return words[0], next((verdict.detail for verdict in verdicts if verdict.detail), "")
    return "inconclusive", f"differs between processes: {', '.join(words)}"


def _p(verdict: RunVerdict, rules: Rules) -> float:
    return quads.overall_p(verdict.looks[-1], rules.settings) if verdict.looks else 1.0


def _hull(effects: Sequence[Effect]) -> Effect:
    """One process: its effect. Several: their middle, and an interval that holds all of theirs."""
    if len(effects) == 1:
        return effects[0]
    known = [effect.p for effect in effects if effect.p is not None]
    return Effect(
        change_pct=stats.median([effect.change_pct for effect in effects]),
        low_pct=min(effect.low_pct for effect in effects),
        high_pct=max(effect.high_pct for effect in effects),
        level_pct=min(effect.level_pct for effect in effects),
        n=min(effect.n for effect in effects),
        p=max(known) if known else None,
    )


def _corrected(verdicts: list[ShapeVerdict], comparison: Comparison) -> list[ShapeVerdict]:
    """Holm over the shapes: a change that may be one of many chances is not told as one."""
    tested = [verdict.p for verdict in verdicts if verdict.p is not None]
    adjusted = iter(rank.holm(tested))
    allowed = quads.total_error(comparison.settings)
    result = []
    for verdict in verdicts:
        if verdict.p is None:
            result.append(verdict)
            continue
        p = next(adjusted)
        changed = structs.replace(verdict, holm_p=p)
        if verdict.word in ("faster", "slower") and p > allowed + 1e-12:
            why = f"{verdict.word} alone, not as one of {len(tested)} shapes (Holm)"
            changed = structs.replace(changed, word="inconclusive", detail=why)
        result.append(changed)
    return result


def _mean(verdicts: Sequence[ShapeVerdict], comparison: Comparison) -> Effect | None:
    """Geometric mean of B / A, all shapes at the lowest level that one of them was asked at."""
    pairs = zip(verdicts, comparison.shapes, strict=True)
    used = [(v, shape) for v, shape in pairs if v.word in _FINISHED and v.time is not None]
    if len(used) < 2:
        return None
    levels = [run.looks[-1].level_pct for v, _ in used for run in v.runs if run.looks]
    level = min(levels, default=comparison.settings["across_level_pct"])
    intervals = [quads.logs_of(_at_level(v, shape, level)) for v, shape in used]
    return quads.effect_from(rank.mean_interval(intervals))


def _at_level(verdict: ShapeVerdict, shape: Shape, level_pct: float) -> Effect:
    """The shape's change with its interval at another level."""
    effects = []
    for run, judged in zip(shape.runs, verdict.runs, strict=True):
        if judged.looks:
            effect = quads.effect_of(run.quads[: judged.looks[-1].quads], level_pct)
            effects += [effect] if effect else []
    if effects:
        return _hull(effects)
    if verdict.time is None:
        raise ValueError("a shape without a change")
    return verdict.time


def _notes(verdicts: Sequence[ShapeVerdict], comparison: Comparison) -> tuple[str, ...]:
    """Advice for the whole, each once."""
    advice = table("compare")["advice"]
    words = {verdict.word for verdict in verdicts}
    found = [advice["unreliable"]] if "unreliable" in words else []
    if comparison.across_runs:
        found.append(advice["across_runs"])
    elif "inconclusive" in words:
        found.append(advice["inconclusive"])
    launches = comparison.a.launches, comparison.b.launches
    if None not in launches and launches[0] != launches[1]:
        found.append(f"kernels a call: A {launches[0]}, B {launches[1]}")
    without = sum(verdict.word not in _FINISHED for verdict in verdicts)
    if 0 < without < len(verdicts) and len(verdicts) > 2:
        found.append(f"the mean leaves out {without} of {len(verdicts)} shapes")
    return tuple(found)
