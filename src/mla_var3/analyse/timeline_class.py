"""What a timeline says of a kernel's bottleneck: of a plan the model's roof, of others nothing."""

from mla_var3.analyse.predict import bound_of
from mla_var3.analyse.words import duration
from mla_var3.core.diagnosis import BoundClass, Diagnosis, ProfileDiagnosis
from mla_var3.core.record import Profile, Stage

NO_COUNTERS = "nsys reads no counters: what limits a kernel is open, record with ncu"
_LIMITER = "not decidable: nsys reads no counters"
_ROOFS = {"Compute": ("compute_time", "FLOPs"), "Memory": ("memory_time", "bytes")}


def diagnose_nsys(profile: Profile) -> ProfileDiagnosis:
    """The class of each stage by the model's roofline; Unknown where no plan tells its work.

    `analyse_timeline` judges launches and overlap.
    """
    verdicts = [_stage(stage) for stage in profile.stages]
    known = [stage for stage in profile.stages if bound_of(stage) != "Unknown"]
    longest = max(known, key=lambda stage: stage.value("roofline_time") or 0.0, default=None)
    bound: BoundClass = bound_of(longest) if longest else "Unknown"
    root = _root_cause(longest, bound) if longest else _LIMITER
    whole = profile.end_to_end
    if whole is not None and len(profile.stages) > 1:
        verdicts.append(_verdict(whole, bound, root, "all stages, as they ran"))
    sums = [stage.value("duration_sum") for stage in profile.stages]
    time = whole.value("duration") if whole else None
    return ProfileDiagnosis(
        stages=tuple(verdicts),
        bound=bound,
        root_cause=root,
        confidence="low" if longest else "none",
        total_ns=time if time is not None else _total(sums),
        notes=(NO_COUNTERS,),
    )


def _stage(stage: Stage) -> Diagnosis:
    bound = bound_of(stage)
    if bound == "Unknown":
        root = f"{_LIMITER}: a timeline tells when it ran, not what held it back."
        return _verdict(stage, bound, root, "see the timeline")
    roof, seen = stage.value("roofline_time"), stage.value("duration_busy")
    issue = f"at least {duration(roof or 0.0)} by the model"
    if roof and seen:
        issue = f"{100.0 * roof / seen:.0f} % of the roofline, as it ran beside others"
    return _verdict(stage, bound, _root_cause(stage, bound), issue)


def _verdict(stage: Stage, bound: BoundClass, root: str, issue: str) -> Diagnosis:
    known = bound != "Unknown"
    return Diagnosis(
        stage=stage.name,
        seed_class="Unknown",
        bound=bound,
        cause="model" if known else "unknown",
        limiter=f"model: {_ROOFS[bound][1]} take longer at the peaks" if known else _LIMITER,
        root_cause=root,
        confidence="low" if known else "none",
        duration_ns=stage.value("duration"),
        not_checked=(NO_COUNTERS,),
        key_issue=issue,
    )


def _root_cause(stage: Stage, bound: BoundClass) -> str:
    key, noun = _ROOFS[bound]
    needed, seen = duration(stage.value(key) or 0.0), stage.value("duration")
    took = f", in the timeline it took {duration(seen)}" if seen is not None else ""
    return (
        f"from the model: {stage.name} needs {needed} for its {noun} at the peak{took}. "
        "nsys reads no counters, so what takes the rest is open"
    )


def _total(sums: list[float | None]) -> float | None:
    """Time of all kernels added; None where one of them is not known."""
    known = [value for value in sums if value is not None]
    return sum(known) if known and len(known) == len(sums) else None
