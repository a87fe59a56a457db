"""The verdict on a profile that was compiled and never run: the model's class and the findings."""

from collections.abc import Mapping

from mla_var3.analyse.predict import bound_of, total
from mla_var3.analyse.static_findings import Code, Finding, findings
from mla_var3.analyse.words import duration
from mla_var3.core.diagnosis import (
    BoundClass,
    Diagnosis,
    Evidence,
    Opportunity,
    ProfileDiagnosis,
)
from mla_var3.core.record import Profile, Stage
from mla_var3.core.target import arch

NEVER_RUN = "static, never run: times are the model's, not measurements"
GAIN_LEAST = 2.0
MOST = 3
_ROOFS = {"Compute": "compute_time", "Memory": "memory_time"}


def diagnose_static(profile: Profile) -> ProfileDiagnosis:
    """Class by the model roofline, root cause `from the model: …`, findings as evidence."""
    capability = profile.environment.compute_capability or ""
    codes = [Code(stage, arch(capability)) for stage in profile.stages]
    found = {code.stage.name: findings(code) for code in codes}
    stages = tuple(_stage(code.stage, found[code.stage.name]) for code in codes)
    bound = _most_time(profile.stages)
    return ProfileDiagnosis(
        stages=stages,
        bound=bound,
        root_cause=_root_cause(profile.stages, bound),
        confidence="none" if bound == "Unknown" else "low",
        opportunities=_opportunities(profile.stages, found),
        notes=(NEVER_RUN,),
    )


def _stage(stage: Stage, found: tuple[Finding, ...]) -> Diagnosis:
    bound = bound_of(stage)
    return Diagnosis(
        stage=stage.name,
        seed_class="Unknown",
        bound=bound,
        cause="model",
        limiter=_limiter(stage, bound),
        root_cause=_cause_of(stage, bound),
        confidence="none" if bound == "Unknown" else "low",
        evidence=tuple(Evidence(text=f.text, metrics=f.metrics) for f in found),
        not_checked=(NEVER_RUN,),
        opportunities=_stage_opportunities(found, 1.0, ""),
        key_issue=found[0].short if found else _short(stage),
    )


def _short(stage: Stage) -> str:
    time = stage.value("roofline_time")
    if time is None:
        return "no peak to compare with"
    return f"at least {duration(time)} by the model, never run"


def _limiter(stage: Stage, bound: BoundClass) -> str:
    if bound == "Unknown":
        return f"not decidable: {stage.missing.get('roofline_time', 'no work and no peaks')}"
    compute, memory = (duration(stage.value(key) or 0.0) for key in _ROOFS.values())
    return f"model: FLOPs take {compute} at the peak, bytes {memory}"


def _cause_of(stage: Stage, bound: BoundClass) -> str:
    if bound == "Unknown":
        return f"from the model: {_limiter(stage, bound)}"
    near, far = _ROOFS[bound], _ROOFS["Memory" if bound == "Compute" else "Compute"]
    work = {
        "compute_time": "FLOPs at the dense peak",
        "memory_time": "bytes at the DRAM peak",
    }
    near_time, far_time = stage.value(near) or 0.0, stage.value(far) or 0.0
    return (
        f"from the model: {stage.name} needs {duration(near_time)} for its {work[near]}, "
        f"{duration(far_time)} for its {work[far]}. It was compiled, never run"
    )


def _most_time(stages: tuple[Stage, ...]) -> BoundClass:
    """The class that most of the predicted time goes to."""
    weights: dict[BoundClass, float] = {}
    for stage in stages:
        bound = bound_of(stage)
        if bound != "Unknown":
            weights[bound] = weights.get(bound, 0.0) + (stage.value("roofline_time") or 0.0)
    return max(weights, key=lambda bound: weights[bound], default="Unknown")


def _root_cause(stages: tuple[Stage, ...], bound: BoundClass) -> str:
    own = [stage for stage in stages if bound_of(stage) == bound]
    if not own:
        return "from the model: nothing can be said"
    longest = max(own, key=lambda stage: stage.value("roofline_time") or 0.0)
    return _cause_of(longest, bound)


def _opportunities(
    stages: tuple[Stage, ...], found: Mapping[str, tuple[Finding, ...]]
) -> tuple[Opportunity, ...]:
    """The best of all stages, each scaled by the stage's share of the predicted time."""
    whole = total(stages).roofline_ns
    merged: list[Opportunity] = []
    for stage in stages:
        time = stage.value("roofline_time")
        share = min(time / whole, 1.0) if whole and time is not None else 0.0
        merged += _stage_opportunities(found[stage.name], share, f"{stage.name}: ")
    return tuple(sorted(merged, key=lambda item: -item.gain_pct)[:MOST])


def _stage_opportunities(
    found: tuple[Finding, ...], share: float, prefix: str
) -> tuple[Opportunity, ...]:
    return tuple(
        Opportunity(
            name=f"{prefix}{finding.advice}",
            gain_pct=finding.gain_pct * share,
            trigger_metric=finding.metrics[0],
            trigger_value=finding.short,
            how=finding.text,
            bound="by the model, never run",
        )
        for finding in found
        if finding.gain_pct is not None and finding.gain_pct * share >= GAIN_LEAST
    )
