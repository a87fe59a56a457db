"""From a record to its diagnosis: the steps in their order, then all that is said beside."""

from collections.abc import Callable, Iterable

from mla_var3.analyse import (
    atomics,
    block_rate,
    clock,
    divergence,
    fill,
    interpretation,
    latency,
    local_memory,
    locality,
    occupancy,
    roofs,
    seed,
    trust,
)
from mla_var3.analyse.cpu_roofline import diagnose_cpu, is_cpu
from mla_var3.analyse.facts import Facts
from mla_var3.analyse.opportunities import opportunities
from mla_var3.analyse.roofline import roofline
from mla_var3.analyse.static import diagnose_static
from mla_var3.analyse.timeline_class import diagnose_nsys
from mla_var3.analyse.timing_verdict import diagnose_event, has_counters
from mla_var3.analyse.verdict import Remarks, Verdict
from mla_var3.analyse.whole import whole_profile
from mla_var3.core.device import Device
from mla_var3.core.diagnosis import Diagnosis, Evidence, Opportunity, ProfileDiagnosis
from mla_var3.core.record import Environment, HotLine, Profile, Stage

KEY_ISSUE = 60

STEPS: tuple[Callable[[Facts], Verdict | None], ...] = (
    trust.decide,
    local_memory.decide,
    fill.decide,
    divergence.decide,
    seed.decide,
    roofs.decide,
    atomics.decide,
    latency.undecidable,
    block_rate.decide,
)
"""Asked in this order; the first verdict holds. Without any, the warps wait: `latency`."""

REMARKS: tuple[Callable[[Facts, Verdict], Remarks], ...] = (
    seed.remarks,
    latency.remarks,
    roofs.remarks,
    fill.remarks,
    local_memory.remarks,
    divergence.remarks,
    occupancy.remarks,
    interpretation.remarks,
    locality.remarks,
    latency.queues,
    trust.remarks,
    clock.remarks,
    trust.gaps,
)


def diagnose(profile: Profile, device: Device | None) -> ProfileDiagnosis:
    """The verdict on every stage and on the whole; `device` None: its peaks are unknown."""
    if profile.mode == "static":
        return diagnose_static(profile)
    if profile.mode == "event":
        return diagnose_event(profile)
    if profile.mode == "nsys":
        return diagnose_nsys(profile)
    if profile.mode == "annotation" and is_cpu(profile):
        return diagnose_cpu(profile)
    if profile.mode == "annotation" and not has_counters(profile):
        return diagnose_event(profile)
    stages = tuple(diagnose_stage(s, profile.environment, device) for s in profile.stages)
    return whole_profile(profile, stages)


def diagnose_stage(stage: Stage, environment: Environment, device: Device | None) -> Diagnosis:
    """The verdict on one launch or stage."""
    facts = Facts(stage, environment, device)
    verdict = trust.doubt(facts, decide(facts))
    said = [remark(facts, verdict) for remark in REMARKS]
    line = roofline(facts)
    words = verdict.words
    found = opportunities(facts, verdict)
    return Diagnosis(
        stage=stage.name,
        seed_class="Unknown" if verdict.phrase == "interrupted" else seed.seed_class(facts),
        bound=verdict.bound_class,
        cause=verdict.cause,
        limiter=words.limiter,
        root_cause=words.why,
        confidence=verdict.confidence,
        duration_ns=facts.get("duration"),
        evidence=_once(e for remark in said for e in remark.evidence),
        counter_evidence=_once(e for remark in said for e in remark.counter),
        not_checked=tuple(text for remark in said for text in remark.not_checked),
        notes=(*(text for remark in said for text in remark.notes), *line.notes),
        opportunities=found,
        where=hottest(stage),
        key_issue=key_issue(words.short, verdict, found),
        rows=interpretation.rows(facts, verdict),
        roofline=line,
    )


def decide(facts: Facts) -> Verdict:
    """The verdict of the first step that gives one."""
    for step in STEPS:
        verdict = step(facts)
        if verdict is not None:
            return verdict
    return latency.decide(facts)


def hottest(stage: Stage) -> HotLine | None:
    """The source line with most samples that is no line of a library."""
    own = [line for line in stage.hot_lines if not line.library]
    return max(own, key=lambda line: line.samples_pct, default=None)


def key_issue(short: str, verdict: Verdict, found: tuple[Opportunity, ...]) -> str:
    """The contract's cell: at most 60 characters."""
    busy = verdict.bound_class in ("Memory", "Compute", "Balanced")
    if not found and busy and "at the roof" not in short:
        roomy = f"at the roof: {short}"
        short = roomy if len(roomy) <= KEY_ISSUE else short
    return short if len(short) <= KEY_ISSUE else f"{short[: KEY_ISSUE - 1].rstrip()}…"


def _once(items: Iterable[Evidence]) -> tuple[Evidence, ...]:
    return tuple(dict.fromkeys(items))
