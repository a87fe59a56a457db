"""The verdict on the whole profile: the class that most of the time goes to."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

import msgspec

from mla_var3.analyse.knowledge import knowledge, limit
from mla_var3.analyse.words import listed, whole
from mla_var3.core.diagnosis import BoundClass, Diagnosis, Opportunity, ProfileDiagnosis
from mla_var3.core.record import Profile, Stage

_LAUNCH_NUMBER = re.compile(r"#\d+$")
Weighted = tuple[Diagnosis, float]
"""A stage and its share of the time, 0..1."""


def whole_profile(profile: Profile, stages: tuple[Diagnosis, ...]) -> ProfileDiagnosis:
    """Class, root cause and best opportunities of all stages by their share of the time."""
    shares = time_shares(stages)
    bound = _most_time(stages, shares)
    leading = _leading(_kernels(zip(stages, shares, strict=True)), bound)
    return ProfileDiagnosis(
        stages=stages,
        bound=bound,
        root_cause=_root_cause(profile, stages, leading),
        confidence=leading.longest.confidence if leading else "none",
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


@dataclass(frozen=True)
class _Kernel:
    """The launches of one kernel, which only `#2`, `#3` … in their names tell apart."""

    name: str
    launches: tuple[Weighted, ...]

    @property
    def share(self) -> float:
        """Share of the time of all its launches, 0..1."""
        return sum(share for _, share in self.launches)

    @property
    def longest(self) -> Diagnosis:
        """The launch with most time, which speaks for the others."""
        return max(self.launches, key=lambda launch: launch[1])[0]

    @property
    def title(self) -> str:
        """Its name, and how many launches are meant."""
        number = len(self.launches)
        return self.longest.stage if number == 1 else f"{self.name} ({number} launches)"


def _kernels(launches: Iterable[Weighted]) -> list[_Kernel]:
    """The launches by kernel, in the order of the first."""
    found: dict[str, list[Weighted]] = {}
    for stage, share in launches:
        found.setdefault(_LAUNCH_NUMBER.sub("", stage.stage), []).append((stage, share))
    return [_Kernel(name, tuple(own)) for name, own in found.items()]


def _leading(kernels: list[_Kernel], bound: BoundClass) -> _Kernel | None:
    """The kernel with most time in the class; of its launches, those in the class."""
    of_class = [
        _Kernel(kernel.name, own)
        for kernel in kernels
        if (own := tuple(launch for launch in kernel.launches if launch[0].bound == bound))
    ]
    return max(of_class, key=lambda kernel: kernel.share, default=None)


def _root_cause(profile: Profile, stages: tuple[Diagnosis, ...], leading: _Kernel | None) -> str:
    if leading is None:
        return profile.failure or "The record holds no stage."
    cause = leading.longest.root_cause
    if len(stages) == 1:
        return cause
    if all(stage.duration_ns is None for stage in stages):
        return f"{leading.title}: {cause}"
    time = "profiled time" if _is_cut(profile) else "time"
    number = len(leading.launches)
    launches = f"{number} launches, " if number > 1 else ""
    name = leading.name if number > 1 else leading.longest.stage
    return f"{name} ({launches}{whole(100.0 * leading.share)} of the {time}): {cause}"


def _opportunities(stages: tuple[Diagnosis, ...], shares: list[float]) -> tuple[Opportunity, ...]:
    """The best of all kernels, each weighted by the time that its launches have."""
    if len(stages) == 1:
        return stages[0].opportunities
    summed = [
        _summed(kernel, action)
        for kernel in _kernels(zip(stages, shares, strict=True))
        for action in dict.fromkeys(
            o.name for stage, _ in kernel.launches for o in stage.opportunities
        )
    ]
    worth = [item for item in summed if item.gain_pct >= limit("gain_least")]
    worth.sort(key=lambda item: -item.gain_pct)
    return tuple(worth[: int(limit("opportunities"))])


def _summed(kernel: _Kernel, action: str) -> Opportunity:
    """One action on all launches of a kernel that it helps: their times are apart, so gains add."""
    helped = tuple(
        launch
        for launch in kernel.launches
        if any(o.name == action for o in launch[0].opportunities)
    )
    items = [(next(o for o in stage.opportunities if o.name == action), w) for stage, w in helped]
    best = max(items, key=lambda item: item[0].gain_pct * item[1])[0]
    return msgspec.structs.replace(
        best,
        name=f"{_Kernel(kernel.name, helped).title}: {action}",
        gain_pct=round(sum(item.gain_pct * share for item, share in items), 1),
    )


def _total(profile: Profile, stages: tuple[Diagnosis, ...]) -> float | None:
    """Sum of the durations; None for stages of concurrent kernels or where one is missing."""
    if not stages or any(stage.isolated for stage in profile.stages) or _is_cut(profile):
        return None
    times = [stage.duration_ns for stage in stages]
    known = [time for time in times if time is not None]
    return sum(known) if len(known) == len(times) else None


def _is_cut(profile: Profile) -> bool:
    """Whether launches of a stage are missing in the record: its own time is not known."""
    return any(group.value("duration") is None for group in profile.groups)


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
