"""Step 6: the highest of all other roofs decides, not the first one."""

from dataclasses import replace

from mla_var3.analyse import divergence, dram_roof
from mla_var3.analyse.facts import ASYNC_FAMILIES, L1_UNITS, PIPES, Facts
from mla_var3.analyse.knowledge import limit
from mla_var3.analyse.verdict import Remarks, Verdict, at_most, fact, weaker
from mla_var3.analyse.words import percent, unit, whole
from mla_var3.core.diagnosis import Confidence, Evidence


def decide(facts: Facts) -> Verdict | None:
    """A verdict where any unit is at 60 % of its peak or more."""
    key, value = facts.highest
    if value < limit("roof_reached"):
        return None
    confidence = _confidence(facts, value)
    if key in PIPES:
        # lanes that are off fill a pipe as well: without their counter the cause is less sure
        confidence = weaker(confidence, at_most("medium", divergence.lanes(facts) is None))
        return _pipe(facts, key, value, confidence)
    if key == "dram":
        verdict = dram_roof.verdict(facts, "medium")
        return replace(verdict, confidence=weaker(confidence, "medium"))
    verdict = _l1(facts, value, confidence) if key in L1_UNITS else _l2(facts, value, confidence)
    return replace(verdict, confidence=weaker(verdict.confidence, _tensor_doubt(facts)))


def _confidence(facts: Facts, value: float) -> Confidence:
    """A roof just reached is less sure, and so is one beside roofs that were not read."""
    doubts = (value < limit("roof_clear")) + (not facts.all_roofs_read)
    return ("high", "medium", "low")[doubts]


def _tensor_doubt(facts: Facts) -> Confidence:
    """Without TC % a busy L1 or L2 may only feed a full tensor pipe."""
    no_operands = facts.mma_family == "" or facts.get("shared_memory") == 0
    return at_most("low", facts.tensor is None and not no_operands)


def _pipe(facts: Facts, key: str, value: float, confidence: Confidence) -> Verdict:
    if key != "issue":
        figures = {"unit": unit(key), "value": percent(value)}
        return Verdict(key, "pipe", confidence, figures, (key,), percent(value))
    others = {name: busy for name, busy in facts.pipes.items() if name != "issue"}
    pipe = max(others, key=lambda name: (others[name], name), default="")
    figures = {"value": percent(value)}
    if pipe:
        figures |= {"pipe": unit(pipe), "pipe_value": percent(others[pipe])}
        if others[pipe] >= limit("roof_reached"):
            keys = (pipe, "issue")
            return Verdict(pipe, "pipe_issue", confidence, figures, keys, percent(others[pipe]))
    phrase = "issue" if pipe else "issue_alone"
    return Verdict("issue", phrase, confidence, figures, ("issue",), percent(value))


def shared_dominates(facts: Facts) -> bool | None:
    """Whether shared memory has most of the L1 wavefronts; None: not recorded."""
    shared = facts.get("l1_shared")
    if shared is None:
        return None
    part = limit("shared_dominant") / 100.0
    return shared > 0 and shared >= part * (facts.get("l1_data") or 0.0)


def _l1(facts: Facts, value: float, confidence: Confidence) -> Verdict:
    access = facts.access
    if access.bank_conflicts and shared_dominates(facts) is not False:
        share = access.bank_share or 0.0
        return Verdict(
            cause="bank_conflict",
            phrase="bank_unco" if access.uncoalesced else "bank",
            confidence=confidence,
            figures={"share": whole(share), "value": percent(value)},
            keys=(*access.bank_keys, facts.highest[0]),
            trigger=f"{whole(share)} of the wavefronts",
            gain=share,
        )
    if access.uncoalesced:
        return _uncoalesced(facts, value, confidence)
    if _feeds_tensor(facts):
        return Verdict(
            cause="mma_operands",
            phrase="mma_operands",
            confidence=confidence,
            figures={
                "value": percent(value),
                "tensor": percent(facts.tensor or 0.0),
                "family": facts.mma_family or "",
            },
            keys=("l1_data", "l1_shared", "lsu_requests", "tensor"),
            trigger=percent(value),
        )
    return Verdict(
        cause="l1",
        phrase="l1",
        confidence=confidence,
        figures={
            "value": percent(value),
            "stage": _l1_stage(facts, value),
            "kind": _l1_kind(facts),
        },
        keys=(facts.highest[0],),
        trigger=percent(value),
    )


def _feeds_tensor(facts: Facts) -> bool:
    """Whether tensor instructions read the wavefronts: shared memory, not asked for by loads."""
    wavefronts, requests = facts.get("l1_data"), facts.get("lsu_requests")
    if wavefronts is None or requests is None or not shared_dominates(facts):
        return False
    few = requests <= limit("operand_requests") / 100.0 * wavefronts
    busy = (facts.tensor or 0.0) >= limit("operand_tensor")
    return few and busy and facts.mma_family in ASYNC_FAMILIES


def _l1_stage(facts: Facts, value: float) -> str:
    near = value - limit("unit_tie")
    if facts.l1_units.get("lsu_requests", 0.0) >= near:
        return "instruction rate"
    return "wavefronts" if facts.l1_units.get("l1_data", 0.0) >= near else "tag stage"


def _l1_kind(facts: Facts) -> str:
    top = facts.stalls[0][0] if facts.stalls else ""
    dominant = shared_dominates(facts)
    if dominant or top == "mio_throttle":
        return "shared-memory instructions"
    if dominant is False or top == "lg_throttle":
        return "global loads and stores"
    return "load/store instructions"


def _l2(facts: Facts, value: float, confidence: Confidence) -> Verdict:
    if facts.access.uncoalesced:
        return _uncoalesced(facts, value, confidence)
    phrase = "l2" if facts.dram is not None else "l2_blind"
    return Verdict("l2", phrase, confidence, {"value": percent(value)}, ("l2",), percent(value))


def _uncoalesced(facts: Facts, value: float, confidence: Confidence) -> Verdict:
    access = facts.access
    return Verdict(
        cause="uncoalesced",
        phrase="uncoalesced",
        confidence=weaker(confidence, at_most("medium", access.inferred)),
        figures={
            "pattern": access.uncoalesced,
            "brief": access.brief,
            "unit": unit(facts.highest[0]),
            "value": percent(value),
        },
        keys=(*access.keys, facts.highest[0]),
        trigger=access.brief,
        gain=access.waste,
    )


def remarks(facts: Facts, verdict: Verdict) -> Remarks:
    """The busiest unit, access patterns beside the cause, and equal counters."""
    evidence = []
    key, value = facts.highest
    if key and key not in ("tensor", "dram") and key not in verdict.keys:
        evidence.append(fact(f"busiest unit: {unit(key)} {percent(value)}", key))
    access = facts.access
    told = verdict.phrase in ("dram_wasted", "bank_unco") or verdict.cause == "uncoalesced"
    if access.uncoalesced and not told:
        evidence.append(fact(f"uncoalesced: {access.uncoalesced}", *access.keys))
    if access.bank_conflicts and verdict.cause != "bank_conflict":
        share = whole(access.bank_share or 0.0)
        text = f"bank conflicts: {share} of the shared-memory wavefronts are excess"
        evidence.append(fact(text, *access.bank_keys))
    notes = (same_counter(facts),) if same_counter(facts) else ()
    return Remarks(evidence=tuple(evidence), counter=_not_dram(facts, verdict), notes=notes)


def same_counter(facts: Facts) -> str:
    """What to say where SM % and Memory % are one counter; empty where they are not."""
    sm, memory = facts.get("sm_throughput"), facts.get("memory_throughput")
    if sm is None or memory is None or sm < limit("same_counter_from"):
        return ""
    if abs(sm - memory) >= limit("same_counter"):
        return ""
    requests = facts.get("lsu_requests")
    source = "" if requests is None else f" (LSU requests {percent(requests)})"
    return f"SM {percent(sm)} and Memory {percent(memory)} are one counter{source}: not balanced"


def _not_dram(facts: Facts, verdict: Verdict) -> tuple[Evidence, ...]:
    """A high "Memory" figure whose unit is not DRAM misleads: say which unit it is."""
    memory, dram = facts.get("memory_throughput"), facts.dram
    if memory is None or dram is None or facts.dram_reads_only:
        return ()
    if memory < limit("dram_high") or dram >= limit("reuse_dram"):
        return ()
    owner = min(facts.roofs, key=lambda key: (abs(facts.roofs[key] - memory), key))
    if owner in ("tensor", "dram") or abs(facts.roofs[owner] - memory) > limit("unit_tie"):
        return ()
    text = f"Memory {percent(memory)} is {unit(owner)}, not DRAM ({percent(dram)})"
    return (fact(text, "memory_throughput", owner, "dram"),)
