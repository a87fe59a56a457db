"""Steps 7 and 8: no unit is near its roof, so the warps wait; for what?"""

from mla_var3.analyse import occupancy
from mla_var3.analyse.facts import Facts
from mla_var3.analyse.knowledge import Stall, knowledge, limit
from mla_var3.analyse.verdict import Remarks, Verdict, at_most, fact
from mla_var3.analyse.words import label, listed, percent, unit, whole
from mla_var3.core.diagnosis import Confidence


def undecidable(facts: Facts) -> Verdict | None:
    """Unknown, or a certain access pattern, where a roof was not read."""
    if facts.all_roofs_read:
        return None
    access = facts.access
    if access.uncoalesced and not access.by_excess:
        return Verdict(
            cause="uncoalesced",
            phrase="uncoalesced_alone",
            confidence="low",
            figures={"pattern": access.uncoalesced, "brief": access.brief},
            keys=access.keys,
            trigger=access.brief,
            gain=access.waste,
        )
    names = [label(key) for key in facts.unread]
    figures = {"missing": listed(names, 3), "first": names[0]}
    return Verdict("unknown", "not_recorded", "none", figures, facts.unread)


def decide(facts: Facts) -> Verdict:
    """Latency, named by the largest wait, by alternating phases, or by too few warps."""
    if not facts.stalls:
        key, value = facts.highest
        figures = {"unit": unit(key) if key else "none", "value": percent(value)}
        return Verdict("unnamed", "unnamed", "medium", figures, ("stalls",), "not recorded")
    if facts.waits and facts.waits[0][1] >= limit("stall_named"):
        return _one_stall(facts, *facts.waits[0])
    return _phases(facts) or occupancy.verdict(facts) or _mixed(facts)


def _confidence(facts: Facts) -> Confidence:
    """A tensor pipe within ten points of its line may be the limit in the next run."""
    line = limit("tensor_high") - limit("near_line")
    return at_most("medium", facts.tensor is not None and facts.tensor > line)


def _one_stall(facts: Facts, stall: str, part: float) -> Verdict:
    meaning = knowledge().stalls.get(stall, Stall(stall, "", f"stall on {stall}"))
    return Verdict(
        cause=f"stall_{stall}",
        phrase="stall",
        confidence=_confidence(facts),
        figures={
            "meaning": meaning.meaning,
            "doing": meaning.doing,
            "stall": stall,
            "share": whole(part),
            "top": whole(facts.highest[1]),
        },
        keys=("stalls",),
        trigger=f"{stall} {whole(part)}",
        gain=part,
    )


def _phases(facts: Facts) -> Verdict | None:
    tensor, issue = facts.tensor or 0.0, facts.get("issue") or 0.0
    if tensor + issue < limit("phases_sum"):
        return None
    busy = (facts.active or 100.0) / 100.0  # the inner loop is judged on active cycles
    design = occupancy.by_design(facts)
    return Verdict(
        cause="phases",
        phrase="phases_design" if design else "phases",
        confidence=_confidence(facts),
        figures={
            "scalar": scalar_word(facts),
            "tensor": percent(tensor / busy),
            "issue": percent(issue / busy),
            "sum": whole((tensor + issue) / busy),
            "design": design,
        },
        keys=("tensor", "issue", "active_share"),
        trigger=f"{percent(tensor)} + issue {percent(issue)}",
    )


def scalar_word(facts: Facts) -> str:
    """`softmax` only where the opcodes prove it, else `scalar`."""
    return "softmax" if facts.softmax else "scalar"


def _mixed(facts: Facts) -> Verdict:
    named = [f"{stall} {whole(part)}" for stall, part in (facts.waits or facts.stalls)[:2]]
    figures = dict(zip(("first", "second"), named, strict=False))
    phrase = "mixed" if len(named) > 1 else "mixed_one"
    return Verdict("mixed", phrase, "medium", figures, ("stalls",), named[0])


def remarks(facts: Facts, verdict: Verdict) -> Remarks:
    """The largest stalls, where they are no mere queue of a busy unit."""
    if not facts.stalls or _only_queues(facts, verdict):
        return Remarks()
    return Remarks(evidence=(fact(_largest(facts), "stalls"),))


def queues(facts: Facts, verdict: Verdict) -> Remarks:
    """Stalls behind a busy unit: warps wait for it because it is full, which is no cause."""
    if not facts.stalls or not _only_queues(facts, verdict):
        return Remarks()
    text = f"{_largest(facts)}: the queue of the busy unit, no cause"
    return Remarks(counter=(fact(text, "stalls"),))


def _largest(facts: Facts) -> str:
    return f"stall {', '.join(f'{stall} {whole(part)}' for stall, part in facts.stalls[:2])}"


def _only_queues(facts: Facts, verdict: Verdict) -> bool:
    roof = facts.highest[1] >= limit("roof_reached")
    return roof and verdict.bound_class not in ("Latency", "Unknown")
