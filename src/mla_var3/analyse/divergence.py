"""Step 4: lanes that are switched off while the schedulers are busy."""

from mla_var3.analyse.facts import Facts
from mla_var3.analyse.knowledge import limit
from mla_var3.analyse.verdict import Remarks, Verdict, fact
from mla_var3.analyse.words import percent


def lanes(facts: Facts) -> float | None:
    """Active lanes of an average instruction, of 32."""
    active = facts.get("lanes")
    return facts.get("lanes_predicated_on") if active is None else active


def decide(facts: Facts) -> Verdict | None:
    """Compute, where fewer than half the lanes work at busy schedulers."""
    active, issue = lanes(facts), facts.get("issue")
    whole_warps = facts.block is not None and facts.block >= limit("warp_lanes")
    if active is None or issue is None or not whole_warps:
        return None
    if active >= limit("divergent_lanes") or issue < limit("divergent_issue"):
        return None
    return Verdict(
        cause="divergence",
        phrase="divergence",
        confidence="high" if facts.all_roofs_read else "medium",
        figures={"lanes": f"{active:.1f}", "issue": percent(issue)},
        keys=("lanes", "issue"),
        trigger=f"{active:.1f} of 32",
        gain=100.0 * (1.0 - active / limit("warp_lanes")),
    )


def remarks(facts: Facts, verdict: Verdict) -> Remarks:
    """Few active lanes as a line beside another cause."""
    active = lanes(facts)
    small_block = facts.block is not None and facts.block < limit("warp_lanes")
    if active is None or active >= limit("few_lanes") or small_block:
        return Remarks()
    if verdict.cause == "divergence":
        return Remarks()
    return Remarks(evidence=(fact(f"{active:.1f} of 32 lanes active", "lanes"),))
