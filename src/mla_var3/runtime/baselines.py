"""What a new profile is held against: a profile or a comparison that was named, or the newest."""

from pathlib import Path

from mla_var3.analyse.across_runs import against
from mla_var3.analyse.comparison import judge
from mla_var3.core import artifacts
from mla_var3.core.annotation import AcrossRuns, Change
from mla_var3.core.baseline import Baseline, save_baseline
from mla_var3.core.comparison import Comparison, Value, load_comparison
from mla_var3.core.errors import BadArgument, NotComparable
from mla_var3.core.plan import KernelPlan
from mla_var3.core.record import Metric, PlanIdentity, Profile
from mla_var3.core.units import signed
from mla_var3.runtime.comparing_stored import load_stored
from mla_var3.runtime.comparison_files import is_comparison
from mla_var3.runtime.earlier import last_profile
from mla_var3.runtime.problem_files import identity


def refuse_baseline(plan: KernelPlan, typed: Path) -> None:
    """Raise `NotComparable`, before anything is measured, for a baseline of another problem."""
    own = identity(plan)
    differs = _of_comparison(typed, own)[1] if is_comparison(typed) else _of_profile(typed, own)
    if differs:
        raise NotComparable(f"--baseline is not comparable: {'; '.join(differs)}")


def find_baseline(
    plan: KernelPlan, profile: Profile, typed: Path | None, beside: Path | None
) -> AcrossRuns | None:
    """What changed since the named baseline, else since the newest stored profile of this problem,
    which may lie beside a folder of the user's own; None where there is none.
    """
    if typed is None:
        earlier = last_profile(plan, profile.mode, beside)
        return against(*earlier, profile) if earlier else None
    if is_comparison(typed):
        return _compared(typed, profile.plan or identity(plan))
    stored = load_stored(typed)
    return against(stored.profile, stored.folder.name, profile)


def store_baseline(before: AcrossRuns | None, typed: Path | None, folder: Path) -> None:
    """Keep it beside the record, from which the reports are made again."""
    if before is not None:
        baseline = Baseline(typed=typed is not None, before=before)
        save_baseline(baseline, folder / artifacts.BASELINE)


def refuse_unlike(before: AcrossRuns | None, typed: Path | None, folder: Path) -> None:
    """Raise `NotComparable` where a named baseline was taken under other conditions."""
    if typed is not None and before is not None and before.differs:
        raise NotComparable(
            f"--baseline is not comparable: {'; '.join(before.differs)}; timed, and kept: "
            f"{folder.as_posix()}"
        )


def _of_profile(typed: Path, own: PlanIdentity) -> tuple[str, ...]:
    """What of the problem differs; a baseline without a plan was no run of one."""
    stored = load_stored(typed)
    plan = stored.profile.plan
    if plan is None:
        raise BadArgument(f"{typed.name} is an imported report: a baseline is a run of a kernel")
    named = () if plan.kernel == own.kernel else (f"kernel: {plan.kernel} → {own.kernel}",)
    return (*named, *_params(plan.params, own.params))


def _of_comparison(typed: Path, own: PlanIdentity) -> tuple[int, tuple[str, ...]]:
    """The shape of a comparison that is this problem, and what differs where none is."""
    comparison = _load(typed)
    b = comparison.b
    sides = {
        "kernel": (b.kernel, own.kernel),
        "version": (b.version, own.version),
        "language": (b.language, own.language),
        "source": (b.source_sha256[:8], own.source_sha256[:8]),
    }
    differs = [f"{name}: {x} → {y}" for name, (x, y) in sides.items() if x != y]
    for at, shape in enumerate(comparison.shapes):
        if shape.b.params == own.params:
            return at, tuple(differs)
    return 0, (*differs, *_params(comparison.shapes[0].b.params, own.params))


def _compared(typed: Path, own: PlanIdentity) -> AcrossRuns:
    """Side A of a comparison is the baseline of its side B, by the times of the comparison."""
    comparison = _load(typed)
    at, differs = _of_comparison(typed, own)
    verdict = judge(comparison).shapes[at]
    name = comparison.a.version or "base"
    if differs or verdict.time is None or verdict.a_ns is None or verdict.b_ns is None:
        reason = differs or (f"the comparison has no time: {verdict.word}",)
        return AcrossRuns(
            version=name, created=comparison.created, profile=typed.name, differs=reason
        )
    how = "stored runs" if comparison.shapes[at].stored else "interleaved"
    a, b = (
        Metric(ns, "ns", "event", f"median of all samples of {side}, {artifacts.COMPARISON}")
        for side, ns in (("A", verdict.a_ns), ("B", verdict.b_ns))
    )
    change = f"{signed(verdict.time.change_pct)} % ({verdict.word})"
    row = Change(label=f"duration, {how}", previous=a, current=b, change=change)
    return AcrossRuns(
        version=name,
        created=comparison.created,
        profile=typed.name,
        changes=(row,),
        ratio=verdict.a_ns / verdict.b_ns,
        floor_pct=verdict.floor_pct,
    )


def _load(typed: Path) -> Comparison:
    folder = typed if typed.is_dir() else typed.parent
    if not (folder / artifacts.COMPARISON).is_file():
        raise BadArgument(f"{typed.name} is a race: a baseline is a profile or a comparison")
    return load_comparison(folder / artifacts.COMPARISON)


def _params(before: dict[str, Value], now: dict[str, Value]) -> tuple[str, ...]:
    return tuple(
        f"{name}: {before.get(name, 'n/a')} → {now.get(name, 'n/a')}"
        for name in dict.fromkeys((*before, *now))
        if before.get(name) != now.get(name)
    )
