"""Step 8: occupancy is a cause only when nothing else is and more warps could hide it."""

from mla_var3.analyse.facts import ASYNC_FAMILIES, Facts
from mla_var3.analyse.knowledge import limit
from mla_var3.analyse.verdict import Remarks, Verdict, fact
from mla_var3.analyse.words import listed, percent, size

LIMITS = {
    "limit_registers": "registers",
    "limit_shared_memory": "shared memory",
    "limit_warps": "warps",
    "limit_blocks": "blocks",
    "limit_barriers": "barriers",
}

_NO_GRID = ("occupancy", "block_rate", "tail", "underfilled", "small_launch", "lanes")
"""Causes that explain a low occupancy by themselves."""


def limiters(facts: Facts) -> list[str]:
    """Every resource that limits the blocks an SM, ties included."""
    known = {name: value for key, name in LIMITS.items() if (value := facts.get(key))}
    least = min(known.values(), default=0.0)
    return [name for name, value in known.items() if value == least]


def blocks_an_sm(facts: Facts) -> float | None:
    """Blocks that fit an SM at once."""
    values = [value for key in LIMITS if (value := facts.get(key))]
    return min(values, default=None)


def by_design(facts: Facts) -> str:
    """What fills an SM with one block by choice (`128 KB smem, …`); empty where nothing does."""
    shared = facts.get("shared_memory")
    if blocks_an_sm(facts) != 1 or shared is None or shared < limit("design_shared"):
        return ""
    pipelined = facts.mma_family in ASYNC_FAMILIES
    if not pipelined and (facts.tensor or 0.0) < limit("design_tensor"):
        return ""
    registers = facts.get("registers")
    parts = [f"{size(shared)} smem"]
    if registers is not None:
        parts.append(f"{registers:.0f} registers")
    return ", ".join(parts)


def may_matter(facts: Facts) -> bool:
    """Whether more warps could help: few are eligible, no roof, no named stall, no design."""
    eligible = facts.get("eligible_warps")
    return (
        eligible is not None
        and eligible < limit("eligible_low")
        and facts.highest[1] < limit("roof_reached")
        and not (facts.waits and facts.waits[0][1] >= limit("stall_named"))
        and not by_design(facts)
    )


def verdict(facts: Facts) -> Verdict | None:
    """Latency by too few warps."""
    achieved, eligible = facts.get("occupancy"), facts.get("eligible_warps")
    theoretical = facts.get("occupancy_theoretical")
    if achieved is None or eligible is None or theoretical is None or not may_matter(facts):
        return None
    low = limit("occupancy_low")
    if theoretical > low or achieved >= low or not limiters(facts):
        return None
    return Verdict(
        cause="occupancy",
        phrase="occupancy",
        figures={
            "occupancy": percent(achieved),
            "limit": listed(limiters(facts)),
            "eligible": f"{eligible:.2f}",
        },
        keys=("occupancy", "eligible_warps"),
        trigger=percent(achieved),
    )


def remarks(facts: Facts, verdict: Verdict) -> Remarks:
    """What limits the occupancy where it is low, and warps spread unevenly."""
    evidence = []
    theoretical, achieved = facts.get("occupancy_theoretical"), facts.get("occupancy")
    waiting = verdict.bound_class == "Latency" and verdict.cause not in _NO_GRID
    if waiting and theoretical is not None and achieved is not None:
        if achieved < limit("occupancy_imbalance") / 100.0 * theoretical:
            text = f"occupancy {percent(achieved)} of {percent(theoretical)}"
            text += ": short blocks or uneven warps"
            evidence.append(fact(text, "occupancy", "occupancy_theoretical"))
    return Remarks(evidence=tuple(evidence))
