"""Rules of Nsight Compute as opportunities: filtered, since their numbers are caps."""

from dataclasses import dataclass
from typing import Literal

from mla_var3.analyse import occupancy
from mla_var3.analyse.facts import Facts
from mla_var3.analyse.knowledge import RuleAction, knowledge, limit, percent_keys
from mla_var3.analyse.verdict import Verdict
from mla_var3.analyse.words import number, percent
from mla_var3.core.record import Rule

SCOPES = {"GLOBAL": 0, "LOCAL": 1}
Refusal = Literal[
    "no_estimate", "unknown", "cause", "queue", "no_stall", "more_warps", "unbank", "coalesce"
]
"""Why a rule is no offer; conf/ncu.json has the words."""


@dataclass(frozen=True)
class Offer:
    """One rule that survived, with the action it calls for and its cap in percent."""

    rule: str
    action: str
    speedup_pct: float
    metric: str
    value: str
    local: bool = False
    """Of a part of the kernel only (scope LOCAL)."""


def offered(facts: Facts, verdict: Verdict, taken: set[str]) -> list[Offer]:
    """Rules worth a word: GLOBAL before LOCAL, one an action and one an equal number."""
    found: list[Offer] = []
    actions, caps = set(taken), set[float]()
    for rule in sorted(facts.stage.rules, key=rank):
        offer = _offer(rule, facts, verdict)
        cap = round(rule.speedup_pct or 0.0, 2)
        if offer is None or offer.action in actions or cap in caps:
            continue
        actions.add(offer.action)
        caps.add(cap)
        found.append(offer)
    return found


def rank(rule: Rule) -> tuple[int, float, str, str]:
    """Order of usefulness: GLOBAL first, then the larger estimate."""
    return SCOPES.get(rule.scope, 2), -(rule.speedup_pct or 0.0), rule.rule, rule.title


def _offer(rule: Rule, facts: Facts, verdict: Verdict) -> Offer | None:
    if rule.rule in knowledge().ignored_rules:
        return None
    found = judged(rule, facts, verdict)
    return found if isinstance(found, Offer) else None


def judged(rule: Rule, facts: Facts, verdict: Verdict) -> Offer | Refusal:
    """The action that a rule calls for, or why it does not hold here."""
    speedup = rule.speedup_pct
    usable = speedup is not None and 0.0 < speedup <= 100.0 and rule.scope in SCOPES
    if not usable or speedup is None:
        return "no_estimate"
    known = next((item for item in knowledge().rules if _matches(item, rule)), None)
    if known is None:
        return "unknown"
    if verdict.cause in known.unless:
        return "cause"
    action = known.action
    if action.startswith("stall:"):
        return _stall_offer(rule, action.removeprefix("stall:"), speedup, facts)
    if not _applies(action, facts):
        return _UNFIT[action]
    metric, value = _trigger(rule, facts, action)
    return Offer(rule.rule, action, speedup, metric, value, rule.scope == "LOCAL")


def _matches(known: RuleAction, rule: Rule) -> bool:
    return known.rule == rule.rule and known.title.lower() in rule.title.lower()


def _stall_offer(rule: Rule, stall: str, speedup: float, facts: Facts) -> Offer | Refusal:
    share = dict(facts.stalls).get(stall)
    if share is None:
        return "no_stall"
    if facts.highest[1] >= limit("roof_reached"):
        return "queue"  # behind a busy unit a stall is its queue, not a cause
    action = knowledge().stalls[stall].action
    local = rule.scope == "LOCAL"
    cap = min(speedup, share)
    return Offer(rule.rule, action, cap, f"stall_{stall}", percent(share), local)


def _applies(action: str, facts: Facts) -> bool:
    if action == "more_warps":
        return occupancy.may_matter(facts)
    if action == "unbank":
        return facts.access.bank_conflicts
    if action == "coalesce":
        return bool(facts.access.uncoalesced) or not facts.access.by_excess
    return True


def _trigger(rule: Rule, facts: Facts, action: str) -> tuple[str, str]:
    """The fact that speaks for the action, else the metric or the rule that NVIDIA names."""
    key = _SPEAKS.get(action, "")
    value = facts.get(key) if key else None
    if value is not None:
        return key, percent(value) if key in percent_keys() else number(value)
    if action == "coalesce" and facts.access.uncoalesced:
        return facts.access.keys[0], facts.access.brief
    if action == "fuse_fp" and (share := facts.opcode_share("FADD", "FMUL")):
        return "opcodes", f"FADD and FMUL {percent(share)}"
    if rule.focus:
        name, focus = min(rule.focus.items())
        return name, number(focus)
    return "ncu_rule", rule.rule


_UNFIT: dict[str, Refusal] = {
    "more_warps": "more_warps",
    "unbank": "unbank",
    "coalesce": "coalesce",
}
"""Actions that `_applies` may refuse."""
_SPEAKS = {
    "more_warps": "occupancy",
    "balance": "active_share",
    "fill_tail": "waves",
    "more_blocks": "grid_size",
    "converge": "lanes",
    "unbank": "shared_wavefronts_excess",
}
