"""The spec's Metric Interpretation table for a stage, with the guards that its lines need."""

from collections.abc import Callable

from mla_var3.analyse import fill, local_memory, locality, occupancy
from mla_var3.analyse.facts import Facts
from mla_var3.analyse.knowledge import SpecRow, limit, spec_rows
from mla_var3.analyse.verdict import Remarks, Verdict, fact
from mla_var3.analyse.words import percent, size, times, unit, whole
from mla_var3.core.diagnosis import MetricRow

Figures = dict[str, str] | None
"""Figures for the guard's text, or None where the guard does not apply."""

_ORDER = ("occupancy", "l2_hit", "waves", "tensor", "dram", "local_bytes")


def rows(facts: Facts, verdict: Verdict) -> tuple[MetricRow, ...]:
    """One row a metric of the spec's table, in its order."""
    return tuple(_row(facts, verdict, spec) for spec in spec_rows())


def _row(facts: Facts, verdict: Verdict, spec: SpecRow) -> MetricRow:
    value = _value(facts, spec.key)
    reason = _unusable(facts, spec, value)
    if value is None or reason:
        return MetricRow(
            metric=spec.metric, key=spec.key, shown="n/a", line=spec.healthy, reason=reason
        )
    shown = _shown(spec, value)
    healthy = value > spec.value if spec.op == ">" else value == spec.value
    guard = _guard(facts, verdict, spec, healthy, shown)
    return MetricRow(
        metric=spec.metric,
        key=spec.key,
        shown=shown,
        line=spec.healthy,
        healthy=healthy,
        issue="" if healthy else spec.issue,
        hint="" if healthy else spec.hint,
        guard=guard,
    )


def _value(facts: Facts, key: str) -> float | None:
    return local_memory.local_bytes(facts) if key == "local_bytes" else facts.get(key)


def _unusable(facts: Facts, spec: SpecRow, value: float | None) -> str:
    if value is None:
        return facts.reason("local_load_sectors" if spec.key == "local_bytes" else spec.key)
    if spec.key == "l2_hit" and value > 100.0:
        return f"reads {value:.0f} %: little traffic, counted in several passes"
    if spec.unit == "%" and value > limit("percent_impossible"):
        return f"reads {value:.0f} %: a counter misreads"
    return ""


def _shown(spec: SpecRow, value: float) -> str:
    if spec.unit == "%":
        return percent(value)
    return size(value) if spec.unit == "byte" else f"{value:.2f}"


def _guard(facts: Facts, verdict: Verdict, spec: SpecRow, healthy: bool, shown: str) -> str:
    if verdict.bound_class == "Unknown":
        return ""
    for guard in spec.guards:
        if healthy != (guard.when in _ON_HEALTHY):
            continue
        figures = _GUARDS[guard.when](facts, verdict, spec)
        if figures is not None:
            return guard.text.format_map(figures | {"value": shown})
    return ""


def _no_tensor_work(facts: Facts, verdict: Verdict, spec: SpecRow) -> Figures:
    del verdict, spec
    return {} if facts.mma_family == "" else None


def _other_roof(facts: Facts, verdict: Verdict, spec: SpecRow) -> Figures:
    """Another unit is at its roof; for occupancy any roof will do."""
    key = next((key for key in verdict.keys if key in facts.roofs), "")
    if verdict.bound_class in ("Latency", "Unknown") or not key or key == spec.key:
        return None
    return {"unit": unit(key)} if facts.roofs[key] >= limit("roof_reached") else None


def _by_design(facts: Facts, verdict: Verdict, spec: SpecRow) -> Figures:
    del verdict, spec
    design = occupancy.by_design(facts)
    return {"design": f"1 CTA/SM: {design}"} if design else None


def _reads_compulsory(facts: Facts, verdict: Verdict, spec: SpecRow) -> Figures:
    del verdict, spec
    ratio = locality.reuse(facts)
    if ratio is None or ratio >= limit("reuse_excess"):
        return None
    return {"reuse": times(ratio)}


def _dram_idle(facts: Facts, verdict: Verdict, spec: SpecRow) -> Figures:
    del verdict, spec
    if facts.dram is None or facts.dram_reads_only or facts.dram >= limit("reuse_dram"):
        return None
    return {"dram": percent(facts.dram)}


def _reuse_unknown(facts: Facts, verdict: Verdict, spec: SpecRow) -> Figures:
    del verdict, spec
    return {} if locality.reuse(facts) is None else None


def _small_local_share(facts: Facts, verdict: Verdict, spec: SpecRow) -> Figures:
    del verdict, spec
    share = local_memory.share(facts)
    if share is None or share >= limit("local_share"):
        return None
    return {"share": percent(share)}


def _full_grid(facts: Facts, verdict: Verdict, spec: SpecRow) -> Figures:
    del spec
    loss = fill.wave_loss(facts)
    if loss is None or loss >= limit("wave_loss") or verdict.cause in ("underfilled", "tail"):
        return None
    return {"loss": whole(loss)}


def _hidden_tail(facts: Facts, verdict: Verdict, spec: SpecRow) -> Figures:
    del spec
    loss = fill.wave_loss(facts)
    return {"loss": whole(loss)} if loss is not None and verdict.cause == "tail" else None


_ON_HEALTHY = frozenset({"hidden_tail"})
_GUARDS: dict[str, Callable[[Facts, Verdict, SpecRow], Figures]] = {
    "no_tensor_work": _no_tensor_work,
    "other_roof": _other_roof,
    "by_design": _by_design,
    "reads_compulsory": _reads_compulsory,
    "dram_idle": _dram_idle,
    "reuse_unknown": _reuse_unknown,
    "small_local_share": _small_local_share,
    "full_grid": _full_grid,
    "hidden_tail": _hidden_tail,
}


def remarks(facts: Facts, verdict: Verdict) -> Remarks:
    """Lines of the spec's table that alarm without cause, or are calm without cause."""
    guarded = [row for row in rows(facts, verdict) if row.guard]
    guarded.sort(key=lambda row: _ORDER.index(row.key))
    counter = [fact(row.guard, row.key) for row in guarded if row.healthy is False]
    evidence = [fact(row.guard, row.key) for row in guarded if row.healthy]
    return Remarks(evidence=tuple(evidence), counter=tuple(counter))
