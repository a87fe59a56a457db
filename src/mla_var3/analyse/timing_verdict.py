"""The verdict on a plan that was timed end to end: the model's class, and how far from its roof."""

from mla_var3.analyse.predict import bound_of
from mla_var3.analyse.words import duration
from mla_var3.core.diagnosis import (
    BoundClass,
    Confidence,
    Diagnosis,
    Evidence,
    Opportunity,
    ProfileDiagnosis,
)
from mla_var3.core.record import Profile, Stage

NO_COUNTERS = "{}: the class is the model's, what holds a kernel back is open"
GAIN_LEAST = 2.0
_WORDS = {"Compute": ("compute_time", "FLOPs"), "Memory": ("memory_time", "bytes")}


def diagnose_event(profile: Profile) -> ProfileDiagnosis:
    """Class of each stage and of the whole by the model roofline; times are those of the whole."""
    whole = profile.end_to_end or profile.stages[0]
    why = "event reads no counters" if profile.mode == "event" else "no counters were read"
    verdicts = [_stage(stage, whole, why) for stage in profile.stages]
    if profile.end_to_end is not None and len(profile.stages) > 1:
        verdicts.append(_stage(whole, whole, why))
    bound = bound_of(whole)
    return ProfileDiagnosis(
        stages=tuple(verdicts),
        bound=bound,
        root_cause=_root_cause(whole, bound, why),
        confidence=_confidence(bound),
        opportunities=_opportunities(whole),
        total_ns=whole.value("duration"),
        notes=(NO_COUNTERS.format(why),),
    )


def has_counters(profile: Profile) -> bool:
    """Whether any stage was seen by ncu."""
    return any(m.source == "ncu" for stage in profile.stages for m in stage.metrics.values())


def _stage(stage: Stage, whole: Stage, why: str) -> Diagnosis:
    bound = bound_of(stage)
    measured = stage.value("duration") is not None
    return Diagnosis(
        stage=stage.name,
        seed_class="Unknown",
        bound=bound,
        cause="model",
        limiter=_limiter(stage, bound),
        root_cause=_root_cause(whole if measured else stage, bound, why),
        confidence=_confidence(bound),
        duration_ns=stage.value("duration"),
        evidence=(Evidence(text=_limiter(stage, bound), metrics=("model_flops",)),),
        not_checked=(NO_COUNTERS.format(why),),
        key_issue=_short(stage, whole if measured else None),
    )


def _confidence(bound: BoundClass) -> Confidence:
    return "none" if bound == "Unknown" else "low"


def _limiter(stage: Stage, bound: BoundClass) -> str:
    if bound == "Unknown":
        return f"not decidable: {stage.missing.get('roofline_time', 'no work and no peaks')}"
    compute, memory = (duration(stage.value(key) or 0.0) for key, _ in _WORDS.values())
    return f"model: FLOPs take {compute} at the peak, bytes {memory}"


def _root_cause(stage: Stage, bound: BoundClass, why: str) -> str:
    if bound == "Unknown":
        return f"from the model: {_limiter(stage, bound)}"
    key, noun = _WORDS[bound]
    needed, time = duration(stage.value(key) or 0.0), stage.value("duration")
    if time is None:
        return f"from the model: {stage.name} needs {needed} for its {noun} at the peak"
    share = stage.value("roofline_share")
    reached = f", {share:.0f} % of the roofline" if share is not None else ""
    return (
        f"from the model: the {noun} need {needed} at the peak, the run took {duration(time)}"
        f"{reached}. {why.capitalize()}, so what takes the rest is open"
    )


def _short(stage: Stage, whole: Stage | None) -> str:
    """The contract's cell."""
    if whole is None:
        roof = stage.value("roofline_time")
        return f"at least {duration(roof)} by the model" if roof is not None else "not timed alone"
    share = whole.value("clock_share")
    if share is not None:
        return f"{share:.0f} % of the roofline at the measured clock"
    share = whole.value("roofline_share")
    if share is not None:
        return f"{share:.0f} % of the roofline"
    return whole.missing.get("roofline_share", "no peak to compare with").partition(":")[0]


def _opportunities(whole: Stage) -> tuple[Opportunity, ...]:
    """The gap to the roofline, or the launches where they are what is timed."""
    floor = whole.value("floor_share")
    reason = whole.missing.get("roofline_share", "")
    if floor is not None and reason.startswith("launch-bound"):
        return (
            Opportunity(
                name="more work a launch, or fewer launches",
                gain_pct=min(floor, 100.0),
                trigger_metric="timer floor",
                trigger_value=f"{floor:.0f} %",
                bound="the timer's floor",
            ),
        )
    at_clock = whole.value("clock_share")
    share = at_clock if at_clock is not None else whole.value("roofline_share")
    if share is None or 100.0 - share < GAIN_LEAST:
        return ()
    where = "at the measured clock" if at_clock is not None else "at the rated peaks"
    return (
        Opportunity(
            name="close the gap to the roofline; counters say where",
            gain_pct=100.0 - share,
            trigger_metric="roofline",
            trigger_value=f"{share:.0f} %",
            bound=f"roofline {where}",
        ),
    )
