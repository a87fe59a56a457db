"""Step 10: what to try, each capped by physics; at most three, largest first."""

from dataclasses import dataclass

from mla_var3.analyse import dram_roof, fill, local_memory, rules, seed
from mla_var3.analyse.access_pattern import sectors_a_request
from mla_var3.analyse.facts import L1_UNITS, PIPES, Facts
from mla_var3.analyse.knowledge import knowledge, limit
from mla_var3.analyse.latency import scalar_word
from mla_var3.analyse.roofline import roofline, share_of_roof
from mla_var3.analyse.verdict import Verdict
from mla_var3.analyse.words import gigahertz, percent, whole
from mla_var3.core.diagnosis import Opportunity


@dataclass(frozen=True)
class Idea:
    """One action with its own bound; `relieves` says by how much it lowers which roofs."""

    action: str
    metric: str
    value: str
    own: float | None = None
    """Percent of the time it can save at most; None: only the roofs bound it."""
    why: str = ""
    relieves: tuple[str, ...] = ()
    relief: float = 0.0
    from_rule: bool = False
    local: bool = False


def opportunities(facts: Facts, verdict: Verdict) -> tuple[Opportunity, ...]:
    """At most three, none below 2 %, sorted by the bound on the time saved."""
    if verdict.bound_class == "Unknown":
        return ()
    ideas = _own(facts, verdict)
    if not verdict.at_roof:
        taken = {idea.action for idea in ideas}
        ideas += [_from_rule(rule) for rule in rules.offered(facts, verdict, taken)]
    made = [(idea.local, item) for idea in ideas if (item := _made(facts, idea)) is not None]
    worth = [pair for pair in made if pair[1].gain_pct >= limit("gain_least")]
    # a LOCAL estimate of a rule is of a part of the kernel: only to fill up
    worth.sort(key=lambda pair: (pair[0], -pair[1].gain_pct))
    best = [item for _, item in worth[: int(limit("opportunities"))]]
    return tuple(sorted(best, key=lambda item: -item.gain_pct))


def gap(facts: Facts, idea: Idea | None = None) -> float | None:
    """Percent of the time above the highest roof that stays; None where no roof was read."""
    shares = dict(facts.roofs)
    ceiling = dram_roof.ceiling_share(facts)
    if ceiling is not None:
        shares["dram"] = max(shares["dram"], ceiling)
    if idea is not None:
        left = 1.0 - idea.relief / 100.0
        shares |= {key: shares[key] * left for key in idea.relieves if key in shares}
    relieved = idea is not None and bool(idea.relieves)
    by_counters = None if relieved else share_of_roof(roofline(facts))
    values = [*shares.values(), *([] if by_counters is None else [by_counters])]
    return max(0.0, 100.0 - max(values)) if values else None


def _made(facts: Facts, idea: Idea) -> Opportunity | None:
    room = gap(facts, idea)
    bounds = [
        (value, text)
        for value, text in ((idea.own, idea.why), (room, gap_text(facts)))
        if value is not None
    ]
    if not bounds:
        return None
    gain, text = min(bounds, key=lambda bound: bound[0])
    action = knowledge().actions[idea.action]
    return Opportunity(
        name=action.name.format(scalar=scalar_word(facts)),
        gain_pct=round(min(gain, 100.0), 1),
        trigger_metric=idea.metric,
        trigger_value=idea.value,
        how=action.how,
        bound=text,
        origin="ncu rule" if idea.from_rule else "analysis",
    )


def gap_text(facts: Facts) -> str:
    """`roofline gap at 1.78 GHz`."""
    clock = facts.get("sm_clock")
    return f"roofline gap at {gigahertz(clock)} GHz" if clock else "roofline gap"


def _own(facts: Facts, verdict: Verdict) -> list[Idea]:
    """Actions of the cause, then of what stands beside it."""
    if verdict.cause.startswith("stall_"):
        stall, part = facts.waits[0]
        return [_against(stall, part)] if stall in knowledge().stalls else []
    ideas = []
    for action in knowledge().causes[verdict.cause].actions:
        if action == "stall_actions":
            ideas += [_against(*wait) for wait in facts.waits[:2] if wait[0] in knowledge().stalls]
        elif _fits(action, facts, verdict):
            ideas.append(_idea(action, facts, verdict))
    if fill.is_imbalanced(facts) and facts.active is not None:
        idle = 100.0 - facts.active
        ideas.append(Idea("balance", "active_share", percent(facts.active), idle, "idle SM time"))
    share = local_memory.share(facts)
    if share and verdict.cause != "spill":
        metric = "local_load_sectors" if facts.get("local_load_sectors") else "local_store_sectors"
        ideas.append(
            Idea("less_local", metric, f"{whole(share)} of the sectors", share, _WHY["less_local"])
        )
    return ideas


def _against(stall: str, part: float) -> Idea:
    action = knowledge().stalls[stall].action
    return Idea(action, f"stall_{stall}", whole(part), part, "share of the warp latency")


def _fits(action: str, facts: Facts, verdict: Verdict) -> bool:
    if action == "use_wgmma":
        return seed.hmma_on_hopper(facts)
    if action == "coalesce":
        return bool(facts.access.uncoalesced)
    return not verdict.at_roof


def _idea(action: str, facts: Facts, verdict: Verdict) -> Idea:
    metric = verdict.keys[0] if verdict.keys else verdict.cause
    value = verdict.trigger
    own, why, relieves = verdict.gain, _WHY.get(action, ""), _RELIEVES.get(action, ())
    relief = own or 0.0
    if action == "use_wgmma":
        relief = own = 100.0 - limit("hmma_share_of_wgmma")
    elif action == "coalesce":
        relief = own = facts.access.waste
        relieves = (*relieves, "dram") if verdict.cause == "dram" else relieves
        metric, value = facts.access.keys[0], facts.access.brief
    elif action == "wider_accesses":
        relief = own = _wider(facts)
        relieves = relieves if own else ()
        own = own or None
    return Idea(action, metric, value, own, why, relieves, relief)


def _wider(facts: Facts) -> float:
    """Percent of the load/store instructions that 128-bit accesses would save; 0: unknown."""
    ways = [value for way in ("load", "store") if (value := sectors_a_request(facts.get, way))]
    widest = max(ways, default=0.0)
    if not widest or (facts.get("l1_shared") or 0.0) >= limit("unit_tie"):
        return 0.0
    return max(0.0, 100.0 * (1.0 - widest / limit("sectors_ideal")))


def _from_rule(found: rules.Offer) -> Idea:
    return Idea(
        action=found.action,
        metric=found.metric,
        value=found.value,
        own=found.speedup_pct,
        why=f"ncu rule {found.rule}",
        from_rule=True,
        local=found.local,
    )


_WHY = {
    "fill_tail": "idle SM time",
    "more_blocks": "idle SM time",
    "merge_launches": "idle SM time",
    "converge": "lanes that are off",
    "full_warps": "lanes that are off",
    "unbank": "excess wavefronts",
    "coalesce": "excess sectors",
    "less_local": "share of the sectors",
    "use_wgmma": "peak of wgmma",
    "wider_accesses": "instructions saved",
    "spread_atomics": "share of the warp latency",
}
_RELIEVES = {
    "unbank": ("l1", "l1_data"),
    "coalesce": ("l1", "l1_data", "l2"),
    "less_local": (*L1_UNITS, "l2", "dram"),
    "use_wgmma": ("tensor",),
    "converge": PIPES,
    "wider_accesses": ("l1", "lsu_requests", "issue"),
}
