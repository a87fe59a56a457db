"""Step 9: is data fetched again from DRAM? The L2 hit rate alone does not tell."""

from mla_var3.analyse.facts import Facts
from mla_var3.analyse.knowledge import limit
from mla_var3.analyse.verdict import Remarks, Verdict, fact
from mla_var3.analyse.words import percent, times

COMPULSORY = "compulsory_read_bytes"


def reuse(facts: Facts) -> float | None:
    """DRAM reads over the compulsory bytes of the plan; None where a report file has no plan."""
    read, compulsory = facts.get("dram_read_bytes"), facts.get(COMPULSORY)
    return None if read is None or not compulsory else read / compulsory


def confirmed(facts: Facts) -> bool:
    """Whether a low hit rate costs time: a busy DRAM and more reads than needed."""
    ratio = reuse(facts)
    busy = facts.dram is not None and facts.dram >= limit("reuse_dram")
    return busy and ratio is not None and ratio >= limit("reuse_excess")


def remarks(facts: Facts, verdict: Verdict) -> Remarks:
    """A confirmed locality problem, and what the reads merged before L2 hide."""
    if verdict.bound_class == "Unknown":
        return Remarks()
    evidence, counter = [], []
    ratio, hit = reuse(facts), facts.rate("l2_hit")
    if confirmed(facts) and ratio is not None:
        text = f"DRAM reads are {times(ratio)} x the compulsory bytes"
        if hit is not None:
            text += f" (L2 hit {percent(hit)})"
        evidence.append(fact(text, "dram_read_bytes", COMPULSORY, "l2_hit"))
    merged = facts.get("lrc_merge")
    if merged is not None and merged >= limit("lrc_told") and hit is not None:
        text = f"{times(merged)} reads are merged into one before L2 (LRC): L2 hit % misses them"
        counter.append(fact(text, "lrc_merge", "l2_hit"))
    return Remarks(evidence=tuple(evidence), counter=tuple(counter))
