"""DRAM as the limit: how near the measured copy ceiling, and whether bytes are wasted."""

from mla_var3.analyse.facts import Facts
from mla_var3.analyse.knowledge import limit
from mla_var3.analyse.verdict import Verdict, weaker
from mla_var3.analyse.words import percent, whole
from mla_var3.core.diagnosis import Confidence

COPY_CEILING = "copy_gbps"


def ceiling_share(facts: Facts) -> float | None:
    """DRAM rate in percent of the copy ceiling measured on such a device; None: not measured."""
    device = facts.device
    ceiling = device.ceilings.get(COPY_CEILING) if device else None
    if device is None or ceiling is None or facts.dram is None or facts.dram_reads_only:
        return None
    rate = achieved_gbps(facts)
    if rate is None:
        rate = facts.dram / 100.0 * device.dram_gbps
    return 100.0 * rate / ceiling.value


def achieved_gbps(facts: Facts) -> float | None:
    """DRAM bytes read and written over the duration, GB/s."""
    read, written = facts.get("dram_read_bytes"), facts.get("dram_write_bytes")
    time = facts.get("duration")
    if read is None or written is None or not time:
        return None
    return (read + written) / time


def verdict(facts: Facts, confidence: Confidence) -> Verdict:
    """The verdict that DRAM is the limit, with the words that fit what is known."""
    dram = facts.dram or 0.0
    figures = {"dram": percent(dram)}
    share = ceiling_share(facts)
    at_roof = dram >= limit("dram_practical") if share is None else share >= limit("copy_ceiling")
    if share is not None and at_roof and facts.tensor is not None:
        confidence = "high"
    phrase = "dram"
    if facts.access.uncoalesced:
        phrase, figures["pattern"] = "dram_wasted", facts.access.uncoalesced
    elif facts.dram_reads_only:
        phrase = "dram_reads"
    elif share is not None:
        phrase, figures["ceiling"] = "dram_roof" if at_roof else "dram_near", whole(share)
    elif at_roof:
        phrase = "dram_practical"
    limit_reads: Confidence = "medium" if facts.dram_reads_only else "high"
    return Verdict(
        cause="dram",
        phrase=phrase,
        confidence=weaker(confidence, limit_reads),
        figures=figures,
        keys=("dram",),
        trigger=percent(dram),
        at_roof=at_roof and not facts.access.uncoalesced,
    )
