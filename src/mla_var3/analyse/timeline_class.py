"""What a timeline alone says of a kernel's bottleneck: nothing. Its verdict is on the whole."""

from mla_var3.core.diagnosis import Diagnosis, ProfileDiagnosis
from mla_var3.core.record import Profile

NO_COUNTERS = "nsys reads no counters: what limits a kernel is open, record with ncu"
_LIMITER = "not decidable: nsys reads no counters"


def diagnose_nsys(profile: Profile) -> ProfileDiagnosis:
    """No class for any kernel; `analyse_timeline` judges launches and overlap."""
    stages = tuple(
        Diagnosis(
            stage=stage.name,
            seed_class="Unknown",
            bound="Unknown",
            cause="unknown",
            limiter=_LIMITER,
            root_cause=f"{_LIMITER}: a timeline tells when it ran, not what held it back.",
            confidence="none",
            duration_ns=stage.value("duration"),
            not_checked=(NO_COUNTERS,),
            key_issue="see the timeline",
        )
        for stage in profile.stages
    )
    sums = [stage.value("duration_sum") for stage in profile.stages]
    whole = profile.end_to_end.value("duration") if profile.end_to_end else None
    return ProfileDiagnosis(
        stages=stages,
        bound="Unknown",
        root_cause=_LIMITER,
        confidence="none",
        total_ns=whole if whole is not None else _total(sums),
        notes=(NO_COUNTERS,),
    )


def _total(sums: list[float | None]) -> float | None:
    """Time of all kernels added; None where one of them is not known."""
    known = [value for value in sums if value is not None]
    return sum(known) if known and len(known) == len(sums) else None
