"""Steps 1 and 5: the spec's table of TC % and DRAM %, and the verdicts on these two roofs."""

from mla_var3.analyse import clock, dram_roof
from mla_var3.analyse.facts import Facts
from mla_var3.analyse.knowledge import limit
from mla_var3.analyse.verdict import Remarks, Verdict, at_most, fact, weaker
from mla_var3.analyse.words import percent
from mla_var3.core.diagnosis import BoundClass, Confidence


def seed_class(facts: Facts) -> BoundClass:
    """The class by the spec's table alone; Unknown where a figure is missing."""
    tensor, dram = facts.tensor, facts.dram
    if tensor is None or dram is None or facts.dram_reads_only:
        return "Unknown"
    high = tensor >= limit("tensor_high"), dram >= limit("dram_high")
    table: dict[tuple[bool, bool], BoundClass] = {
        (True, True): "Balanced",
        (True, False): "Compute",
        (False, True): "Memory",
        (False, False): "Latency",
    }
    return table[high]


def decide(facts: Facts) -> Verdict | None:
    """A verdict where the tensor pipe, DRAM or both are at their line."""
    tensor_high = facts.tensor is not None and facts.tensor >= limit("tensor_high")
    dram_high = facts.dram is not None and facts.dram >= limit("dram_high")
    if tensor_high and dram_high:
        return _both(facts)
    if tensor_high:
        return _tensor(facts)
    return dram_roof.verdict(facts, _confidence(facts)) if dram_high else None


def remarks(facts: Facts, verdict: Verdict) -> Remarks:
    """The seed's word as evidence, and figures that are close to a line."""
    texts = [
        f"{name} {percent(value)}"
        for name, value in (("TC", facts.tensor), ("DRAM", facts.dram))
        if value is not None
    ]
    notes = [
        f"{name} {percent(value)} is within {limit('near_line'):.0f} points of the line"
        f" of {limit(line):.0f} %: the class may change from run to run"
        for name, value, line in (
            ("TC", facts.tensor, "tensor_high"),
            ("DRAM", facts.dram, "dram_high"),
        )
        if value is not None and near(value, line) and _matters(verdict, name, value >= limit(line))
    ]
    if len(texts) < 2:
        return Remarks(
            evidence=tuple(fact(text, "tensor", "dram") for text in texts), notes=tuple(notes)
        )
    seed = f"by {' and '.join(texts)} alone: {seed_class(facts)}"
    return Remarks(evidence=(fact(seed, "tensor", "dram"),), notes=tuple(notes))


def _matters(verdict: Verdict, name: str, above: bool) -> bool:
    """Whether the class would change with the figure on the other side of its line."""
    if above:
        return verdict.cause in ("tensor", "dram", "both_roofs")
    return verdict.bound_class not in ("Unknown", "Compute" if name == "TC" else "Memory")


def near(value: float, line: str) -> bool:
    """Whether a figure is so close to a line that another run could be on its other side."""
    return abs(value - limit(line)) < limit("near_line")


def _confidence(facts: Facts) -> Confidence:
    missing = facts.tensor is None or facts.dram is None or facts.dram_reads_only
    values = ((facts.tensor, "tensor_high"), (facts.dram, "dram_high"))
    close = any(value is not None and near(value, line) for value, line in values)
    return at_most("medium", missing or close)


def _both(facts: Facts) -> Verdict:
    tensor, dram = facts.tensor or 0.0, facts.dram or 0.0
    figures = {
        "tensor": percent(tensor),
        "dram": percent(dram),
        "apart": f"{abs(tensor - dram):.0f} %",
    }
    keys = ("tensor", "dram") if tensor >= dram else ("dram", "tensor")
    return Verdict(
        cause="both_roofs",
        phrase="both_roofs",
        confidence=_confidence(facts),
        figures=figures,
        keys=keys,
        trigger=percent(max(tensor, dram)),
    )


def _tensor(facts: Facts) -> Verdict:
    tensor = facts.tensor or 0.0
    figures = {
        "tensor": percent(tensor),
        "family": f" ({facts.mma_family})" if facts.mma_family else "",
    }
    phrase = "tensor"
    if hmma_on_hopper(facts):
        phrase = "tensor_hmma"
    elif clock.is_low(facts):
        phrase = "tensor_clock"
        figures |= clock.figures(facts)
    return Verdict(
        cause="tensor",
        phrase=phrase,
        confidence=weaker(_confidence(facts), at_most("medium", tensor < limit("roof_clear"))),
        figures=figures,
        keys=("tensor",),
        trigger=percent(tensor),
    )


def hmma_on_hopper(facts: Facts) -> bool:
    """Whether mma.sync is used where wgmma is faster: compute capability 9.0."""
    capability = facts.environment.compute_capability
    if capability is None and facts.device is not None:
        capability = facts.device.compute_capability
    return facts.mma_family == "HMMA" and capability == "9.0"
