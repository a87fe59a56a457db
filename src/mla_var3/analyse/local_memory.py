"""Step 2: traffic of local memory, which is spills or arrays with a dynamic index."""

from mla_var3.analyse.facts import Facts
from mla_var3.analyse.knowledge import limit
from mla_var3.analyse.verdict import Remarks, Verdict, at_most, fact
from mla_var3.analyse.words import percent, size, whole

LOCAL = ("local_load_sectors", "local_store_sectors")
GLOBAL = ("global_load_sectors", "global_store_sectors")
SECTOR_BYTES = 32


def share(facts: Facts) -> float | None:
    """Local sectors in percent of local + global sectors; None where either is missing."""
    local, others = facts.total(*LOCAL), facts.total(*GLOBAL)
    if local is None or others is None:
        return None
    return 100.0 * local / (local + others) if local > 0 else 0.0


def local_bytes(facts: Facts) -> float | None:
    """Bytes of local-memory traffic."""
    sectors = facts.total(*LOCAL)
    return None if sectors is None else sectors * SECTOR_BYTES


def decide(facts: Facts) -> Verdict | None:
    """Memory, where local memory is a real part of the traffic."""
    part = share(facts)
    if part is None or part < limit("local_share") or part == 0.0:
        return None
    spilled = (facts.get("spill_requests") or 0.0) > 0
    partial = any(facts.get(key) is None for key in LOCAL + GLOBAL)
    return Verdict(
        cause="spill",
        phrase="spill" if spilled else "local",
        confidence=at_most("medium", partial),
        figures={"share": whole(part)},
        keys=("local_load_sectors", "local_store_sectors", "global_load_sectors"),
        trigger=f"{whole(part)} of the sectors",
        gain=part,
    )


def remarks(facts: Facts, verdict: Verdict) -> Remarks:
    """Any local traffic at all is worth a line; a gap in the counters too."""
    traffic, part = local_bytes(facts), share(facts)
    if not traffic:
        return Remarks()
    if part is None:
        text = "not decidable: missing global sectors (share of local memory)"
        return Remarks(not_checked=(text,))
    text = f"local memory {size(traffic)}, {percent(part)} of the sectors"
    evidence = (fact(text, *LOCAL),)
    return Remarks(evidence=evidence) if verdict.cause == "spill" else Remarks(counter=evidence)
