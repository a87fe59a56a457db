"""The verdict on the whole profile: the class that most of the time goes to."""

from statistics import median

from mla_var3.analyse.knowledge import knowledge, limit
from mla_var3.analyse.words import listed, whole
from mla_var3.core.diagnosis import BoundClass, Diagnosis, Opportunity, ProfileDiagnosis
from mla_var3.core.record import Profile, Stage


def whole_profile(profile: Profile, stages: tuple[Diagnosis, ...]) -> ProfileDiagnosis:
    """Class, root cause and best opportunities of all stages by their share of the time."""
    shares = time_shares(stages)
    bound = _most_time(stages, shares)
    leading = _leading(stages, shares, bound)
    return ProfileDiagnosis(
        stages=stages,
        bound=bound,
        root_cause=_root_cause(profile, stages, shares, leading),
        confidence=leading.confidence if leading else "none",
        opportunities=_opportunities(stages, shares),
        total_ns=_total(profile, stages),
        notes=_notes(profile),
    )


def time_shares(stages: tuple[Diagnosis, ...]) -> list[float]:
    """Share of the time of each stage, 0..1; equal shares where no duration is known."""
    times = [stage.duration_ns or 0.0 for stage in stages]
    total = sum(times)
    if total <= 0.0:
        return [1.0 / len(stages)] * len(stages) if stages else []
    return [time / total for time in times]


def _most_time(stages: tuple[Diagnosis, ...], shares: list[float]) -> BoundClass:
    totals: dict[BoundClass, float] = {}
    for stage, share in zip(stages, shares, strict=True):
        if stage.bound != "Unknown":
            totals[stage.bound] = totals.get(stage.bound, 0.0) + share
    return max(totals, key=lambda bound: totals[bound]) if totals else "Unknown"


def _leading(
    stages: tuple[Diagnosis, ...], shares: list[float], bound: BoundClass
) -> Diagnosis | None:
    """The longest stage of the class."""
    of_class = [
        (share, -position, stage)
        for position, (stage, share) in enumerate(zip(stages, shares, strict=True))
        if stage.bound == bound
    ]
    return max(of_class, key=lambda item: item[:2])[2] if of_class else None


def _root_cause(
    profile: Profile,
    stages: tuple[Diagnosis, ...],
    shares: list[float],
    leading: Diagnosis | None,
) -> str:
    if leading is None:
        return profile.failure or "The record holds no stage."
    if len(stages) == 1:
        return leading.root_cause
    share = shares[stages.index(leading)]
    if all(stage.duration_ns is None for stage in stages):
        return f"{leading.stage}: {leading.root_cause}"
    return f"{leading.stage} ({whole(100.0 * share)} of the time): {leading.root_cause}"


def _opportunities(stages: tuple[Diagnosis, ...], shares: list[float]) -> tuple[Opportunity, ...]:
    """The best of all stages, each weighted by the time that its stage has."""
    weighted = [
        _weighted(item, stage.stage if len(stages) > 1 else "", share)
        for stage, share in zip(stages, shares, strict=True)
        for item in stage.opportunities
    ]
    worth = [item for item in weighted if item.gain_pct >= limit("gain_least")]
    worth.sort(key=lambda item: -item.gain_pct)
    return tuple(worth[: int(limit("opportunities"))])


def _weighted(item: Opportunity, stage: str, share: float) -> Opportunity:
    if not stage:
        return item
    return Opportunity(
        name=f"{stage}: {item.name}",
        gain_pct=round(item.gain_pct * share, 1),
        trigger_metric=item.trigger_metric,
        trigger_value=item.trigger_value,
        how=item.how,
        bound=item.bound,
        origin=item.origin,
    )


def _total(profile: Profile, stages: tuple[Diagnosis, ...]) -> float | None:
    """Sum of the durations; None for stages of concurrent kernels or where one is missing."""
    if not stages or any(stage.isolated for stage in profile.stages):
        return None
    times = [stage.duration_ns for stage in stages]
    known = [time for time in times if time is not None]
    return sum(known) if len(known) == len(times) else None


def _notes(profile: Profile) -> tuple[str, ...]:
    notes = []
    if any(stage.isolated for stage in profile.stages):
        notes.append("stages of concurrent kernels were profiled one by one: times do not add up")
    interrupted = [stage.name for stage in profile.stages if stage.interrupted]
    if interrupted:
        notes.append(f"interrupted inside {listed(interrupted, 3)}: nothing of it is trusted")
    if is_warm_up(profile.stages):
        notes.append(f"launch 0 ({profile.stages[0].name}) may be a warm-up")
    if only_data_kernels(profile.stages):
        names = listed(list(dict.fromkeys(stage.name for stage in profile.stages)), 3)
        notes.append(
            f"the report holds only kernels that make test data ({names}):"
            " profile the kernel that is meant"
        )
    return tuple(notes)


def is_warm_up(stages: tuple[Stage, ...]) -> bool:
    """Whether launch 0 is slower than its later twins, or mostly waited for cold caches."""
    if len(stages) < 2 or stages[0].launch != 0:
        return False
    first = stages[0]
    twins = [s for s in stages[1:] if (s.kernel, s.grid) == (first.kernel, first.grid)]
    times = [time for s in twins if (time := s.value("duration"))]
    mine = first.value("duration")
    if mine and times and mine >= limit("warmup_ratio") * median(times):
        return True
    top = (
        max(first.stalls.parts.items(), key=lambda p: p[1])
        if first.stalls and first.stalls.parts
        else ("", 0.0)
    )
    cold = top[0] in ("imc_miss", "no_instruction", "no_instructions")
    return cold and top[1] >= limit("stall_named") and (mine or 0.0) < limit("short_launch")


def only_data_kernels(stages: tuple[Stage, ...]) -> bool:
    """Whether every launch only makes test data: random generators, fills."""
    parts = [name.lower() for name in knowledge().data_kernels.names]
    return bool(stages) and all(any(p in s.kernel.lower() for p in parts) for s in stages)
