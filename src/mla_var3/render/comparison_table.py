"""The figures of a comparison in rows, for the screen and the report."""

from typing import NamedTuple

from mla_var3.core import units
from mla_var3.core.comparison import Comparison, Shape, Value
from mla_var3.core.comparison_verdict import (
    WORDS,
    ComparisonVerdict,
    Effect,
    ShapeVerdict,
)
from mla_var3.core.params import params_text
from mla_var3.render.layout import plain, shorten

LABEL_WIDTH = 12
VERDICT = "verdict"


class Row(NamedTuple):
    """One shape: the cells up to the verdict's word, and the words in parentheses after it."""

    cells: tuple[str, ...]
    detail: str


def headings(comparison: Comparison, verdict: ComparisonVerdict) -> tuple[str, ...]:
    """`s`, `v3 µs`, `v4 µs`, `change`, `99 % CI`, `cycles`, `verdict`."""
    level = _one_level(verdict)
    interval = f"{level:g} % CI" if level else "CI"
    times = (f"{shorten(side.label, LABEL_WIDTH)} µs" for side in (comparison.a, comparison.b))
    return (*varying(comparison), *times, "change", interval, "cycles", VERDICT)


def rows(comparison: Comparison, verdict: ComparisonVerdict) -> list[Row]:
    """One a shape, in their order."""
    names, level = varying(comparison), _one_level(verdict)
    return [
        Row(
            (
                *(_value(shape, name) for name in names),
                units.microseconds(judged.a_ns),
                units.microseconds(judged.b_ns),
                _change(judged.time),
                interval_text(judged.time, None if level else asked_level(judged)),
                _change(judged.cycles),
                f"{'across runs: ' if shape.stored and judged.time else ''}{judged.word}",
            ),
            plain("; ".join(judged.differs) or judged.detail),
        )
        for shape, judged in zip(comparison.shapes, verdict.shapes, strict=True)
    ]


def interval_text(effect: Effect | None, level_pct: float | None = None) -> str:
    """`[−11.2, −10.1]`, with its level where that differs from row to row."""
    if effect is None:
        return units.NA
    text = f"[{units.signed(effect.low_pct)}, {units.signed(effect.high_pct)}]"
    return f"{text} {level_pct:g} %" if level_pct else text


def asked_level(verdict: ShapeVerdict) -> float | None:
    """Level in percent that the shape's interval was asked for at, of its last look."""
    levels = [run.looks[-1].level_pct for run in verdict.runs if run.looks]
    if levels:
        return min(levels)
    return round(verdict.time.level_pct) if verdict.time else None


def varying(comparison: Comparison) -> tuple[str, ...]:
    """Fields of the problem that differ from shape to shape."""
    every = [shape.a.params for shape in comparison.shapes]
    names = dict.fromkeys(name for params in every for name in params)
    return tuple(name for name in names if len({params.get(name) for params in every}) > 1)


def problem_text(comparison: Comparison) -> str:
    """The fields that all shapes share: `b=32 t=4096 … bfloat16`."""
    changing = varying(comparison)
    params: dict[str, Value] = comparison.shapes[0].a.params
    return params_text({name: v for name, v in params.items() if name not in changing})


def shape_name(comparison: Comparison, shape: Shape) -> str:
    """`s=48`: what tells a shape from the others; empty for the only one."""
    names = varying(comparison)
    return params_text({name: shape.a.params[name] for name in names if name in shape.a.params})


def mean_text(verdict: ComparisonVerdict) -> str:
    """`geometric mean −7.3 % [−7.9, −6.7] · 2 faster, 0 slower, 1 no change, 0 inconclusive`."""
    listed = ", ".join(f"{verdict.counts[word]} {word}" for word in WORDS if word in verdict.counts)
    if verdict.mean is None:
        return listed
    change = f"{_change(verdict.mean)} {interval_text(verdict.mean)}"
    return f"geometric mean {change} · {listed}"


def sides_text(comparison: Comparison) -> str:
    """`flash_mla  v3 → v4`."""
    a, b = comparison.a, comparison.b
    if a.kernel == b.kernel:
        return plain(f"{a.kernel} {a.label} → {b.label}")
    return plain(f"{a.kernel} {a.label} → {b.kernel} {b.label}")


def method_text(comparison: Comparison, verdict: ComparisonVerdict) -> str:
    """`12 quads ABBA, one process, floor 1.0 %`."""
    floors = comparison.floors
    used = {judged.floor_pct for judged in verdict.shapes if judged.floor_pct}
    floor = f"floor {max(used, default=floors.pct):.1f} %"
    if len(used) < 2 and floors.pct in used and floors.pct > floors.least_pct:
        by_machine = floors.pct == floors.machine_pct
        floor += " (A against A on this machine)" if by_machine else " (typed)"
    if comparison.across_runs:
        return f"stored runs, not interleaved, {floor}"
    counts = [run.looks[-1].quads for j in verdict.shapes for run in j.runs if run.looks]
    if not counts:
        return floor
    few, many = min(counts), max(counts)
    count = f"{few}" if few == many else f"{few}–{many}"
    processes = comparison.processes
    where = "one process" if processes == 1 else f"{processes} processes"
    return f"{count} quads ABBA, {where}, {floor}"


def self_check_text(verdict: ComparisonVerdict) -> str:
    """`A/A self-check +0.1 % ok`: the largest of all. One as large as a change that cannot be told
    from none is `undecided`.
    """
    known = [
        (run.self_check, judged)
        for judged in verdict.shapes
        for run in judged.runs
        if run.self_check is not None
    ]
    if not known:
        return "no A/A self-check"
    worst, judged = max(known, key=lambda pair: abs(pair[0].change_pct))
    if any(shape.word == "unreliable" for shape in verdict.shapes):
        word = "FAILED"
    elif abs(worst.change_pct) < judged.floor_pct:
        word = "ok"
    else:
        word = f"{interval_text(worst)} undecided"
    return f"A/A self-check {_change(worst)} {word}"


def outputs_text(comparison: Comparison) -> str:
    """`outputs agree (2.1e-03)`: the largest relative error; empty where none was checked."""
    errors = [error for shape in comparison.shapes for error in shape.outputs.values()]
    return f"outputs agree ({max(errors):.1e})" if errors else ""


def _one_level(verdict: ComparisonVerdict) -> float | None:
    levels = {asked_level(judged) for judged in verdict.shapes if judged.time}
    return levels.pop() if len(levels) == 1 else None


def _value(shape: Shape, name: str) -> str:
    value = shape.a.params.get(name)
    return units.NA if value is None else shorten(str(value), LABEL_WIDTH)


def _change(effect: Effect | None) -> str:
    return units.NA if effect is None else f"{units.signed(effect.change_pct)} %"
