"""NVIDIA's recommendations for a launch: filtered, and each capped by what can still be won.

Their estimates are caps, most of them 100 % less the busiest unit, so that several rules of a
launch bear one number. None is ever added to another.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Literal

import msgspec

from mla_var3 import conf
from mla_var3.analyse import rules
from mla_var3.analyse.diagnose import decide
from mla_var3.analyse.facts import Facts
from mla_var3.analyse.knowledge import knowledge, limit
from mla_var3.analyse.latency import scalar_word
from mla_var3.analyse.opportunities import gap, gap_text, opportunities
from mla_var3.analyse.verdict import Verdict
from mla_var3.analyse.words import percent
from mla_var3.core.device import Device
from mla_var3.core.diagnosis import Opportunity
from mla_var3.core.recommendation import Recommendation
from mla_var3.core.record import Environment, Rule, Stage

_ASKING = ("OPTIMIZATION", "WARNING")
"""Types of rule results that ask for a change."""
_NCU = "ncu's own number"


class Drop(msgspec.Struct, frozen=True):
    """A rule that says nothing useful under a condition."""

    rule: str
    when: Literal["always", "memory", "tensor"]
    reason: str


class _Table(msgspec.Struct, frozen=True):
    """The parts of conf/ncu.json that judge recommendations."""

    drop: tuple[Drop, ...]
    reasons: dict[str, str]
    words: dict[str, str]


def recommendations(
    stage: Stage, environment: Environment, device: Device | None
) -> tuple[Recommendation, ...]:
    """Every rule result that asks for a change: GLOBAL before LOCAL, the larger estimate first.

    Those that do not hold here bear the reason; `device` None: its peaks are unknown.
    """
    facts = Facts(stage, environment, device)
    verdict = decide(facts)
    own = {item.name: item for item in opportunities(facts, verdict)}
    found: list[Recommendation] = []
    for rule in sorted(stage.rules, key=rules.rank):
        if rule.type in _ASKING:
            made = _judged(rule, facts, verdict)
            found.append(_once(_capped(made, facts, own), found))
    return tuple(found)


def _judged(rule: Rule, facts: Facts, verdict: Verdict) -> Recommendation:
    """The rule in our words, and the reason where it does not hold here."""
    made = Recommendation(
        rule=rule.rule,
        title=rule.title or _table().words.get(rule.rule, rule.rule),
        message=rule.message,
        scope=rule.scope,
        ncu_pct=rule.speedup_pct,
    )
    offer = rules.judged(rule, facts, verdict)
    reason = _dropped(rule, facts, verdict)
    if isinstance(offer, rules.Offer):
        action = knowledge().actions[offer.action]
        name = action.name.format(scalar=scalar_word(facts))
        made = msgspec.structs.replace(made, action=name, how=action.how)
        if offer.speedup_pct < (rule.speedup_pct or 0.0):
            share = round(offer.speedup_pct, 1)
            made = msgspec.structs.replace(made, ours_pct=share, bound="share of the warp latency")
    elif not reason and offer != "unknown":
        cause = knowledge().causes.get(verdict.cause)
        reason = _table().reasons[offer].format(cause=cause.name if cause else verdict.cause)
    return msgspec.structs.replace(made, dropped=reason)


def _capped(made: Recommendation, facts: Facts, own: Mapping[str, Opportunity]) -> Recommendation:
    """With the lowest of all bounds; that of our own opportunity where it is the same change."""
    if made.dropped or made.ncu_pct is None:
        return made
    bounds = [(made.ncu_pct, _NCU)]
    if made.ours_pct is not None:
        bounds.append((made.ours_pct, made.bound))
    room = gap(facts)
    if made.action in own:
        bounds.append((own[made.action].gain_pct, own[made.action].bound))
    elif room is not None:
        bounds.append((room, gap_text(facts)))
    if len(bounds) == 1:
        return made  # no roof was read: there is nothing to cap it by
    ours, bound = min(bounds, key=lambda item: item[0])
    made = msgspec.structs.replace(made, ours_pct=round(ours, 1), bound=bound)
    least = limit("gain_least")
    if ours >= least:
        return made
    text = _table().reasons["bound"].format(bound=percent(ours), least=percent(least))
    return msgspec.structs.replace(made, dropped=text)


def _once(made: Recommendation, before: Sequence[Recommendation]) -> Recommendation:
    """Dropped where one before it asks for the same change, or bears the same number.

    A number that a dropped one bears says nothing either, unless ours is an action of its own.
    """
    if made.dropped or made.ncu_pct is None:
        return made
    number = round(made.ncu_pct, 2)
    for other in before:
        reason = ""
        if made.action and made.action == other.action and not other.dropped:
            reason = "same_change"
        elif round(other.ncu_pct or 0.0, 2) == number and not (other.dropped and made.action):
            reason = "equal"
        if reason:
            words = {"other": other.title, "speedup": percent(made.ncu_pct)}
            text = _table().reasons[reason].format_map(words)
            return msgspec.structs.replace(made, dropped=text)
    return made


def _dropped(rule: Rule, facts: Facts, verdict: Verdict) -> str:
    """The reason of the table; empty where it has none."""
    holds = {
        "always": True,
        "memory": verdict.bound_class == "Memory",
        "tensor": (facts.tensor or 0.0) >= limit("tensor_high"),
    }
    drops = (item for item in _table().drop if item.rule == rule.rule and holds[item.when])
    return next((item.reason for item in drops), "")


@cache
def _table() -> _Table:
    return msgspec.convert(conf.table("ncu"), _Table)
