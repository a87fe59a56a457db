"""Two stored profiles against each other: across runs, so with a higher floor and fewer words."""

from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from mla_var3.analyse.comparison import judge
from mla_var3.analyse.comparison_gate import conditions_of, differences
from mla_var3.core import artifacts
from mla_var3.core.comparison import (
    Comparison,
    Conditions,
    Floors,
    Shape,
    Side,
    StoredSeries,
    save_comparison,
)
from mla_var3.core.errors import BadArgument, NotComparable, NotFound, NoUsableData
from mla_var3.core.locate import kernel_name
from mla_var3.core.plan import KernelPlan
from mla_var3.core.record import PlanIdentity, Profile
from mla_var3.core.record_file import load_profile
from mla_var3.core.timing import Timing, load_timing
from mla_var3.measure import quads
from mla_var3.runtime.comparing import MODE, CompareOptions, ComparisonResult
from mla_var3.runtime.comparison_files import is_comparison
from mla_var3.runtime.comparison_reports import write_comparison_reports
from mla_var3.runtime.store import new_folder, timestamp

OPTIONS = CompareOptions()


class Stored(NamedTuple):
    """A stored profile, its samples where it has some, and where it lies."""

    profile: Profile
    timing: Timing | None
    folder: Path

    @property
    def plan(self) -> PlanIdentity:
        """Which plan ran; of an imported report its file stands for the kernel."""
        source = self.profile.source
        name = source.file if source else self.folder.name
        return self.profile.plan or PlanIdentity(kernel=name, version="-")

    @property
    def conditions(self) -> Conditions:
        """What must be equal, the kernel too: nobody checked that both compute the same."""
        found = conditions_of(self.profile, self.timing)
        return msgspec.structs.replace(found, kernel=self.plan.kernel)


def is_stored(path: Path) -> bool:
    """Whether a word names a stored profile, or a file of one."""
    folder = path if path.is_dir() else path.parent
    return path.exists() and (folder / artifacts.PROFILE).is_file()


def load_stored(path: Path) -> Stored:
    """A profile folder, or a file in it, with `timing.json` where it has one."""
    if not path.exists():
        raise NotFound(f"NOT_FOUND {path.name}: no such profile; mla list shows them")
    folder = path if path.is_dir() else path.parent
    if not (folder / artifacts.PROFILE).is_file():
        kind = "a comparison" if is_comparison(path) else "no profile"
        raise BadArgument(f"{path.name} is {kind}: give the folder of a stored profile (mla list)")
    timing = folder / artifacts.TIMING
    return Stored(load_profile(folder), load_timing(timing) if timing.is_file() else None, folder)


def compare_stored(
    before: Path,
    after: Path,
    out_dir: Path | str | None = None,
    options: CompareOptions = OPTIONS,
) -> ComparisonResult:
    """Compare the runs of two profiles by their raw samples.

    Unlike conditions are a verdict (`not comparable`), which is not stored. Raises `NoUsableData`
    where alike profiles have no samples.
    """
    a, b = load_stored(before), load_stored(after)
    chosen = quads.settings(options.protocol)
    now = datetime.now(UTC)
    conditions = (a.conditions, b.conditions)
    differs = differences(*conditions)
    shape = Shape(a=conditions[0], b=conditions[1], stored=None if differs else _series(a, b))
    labels = _labels(a, b)
    comparison = Comparison(
        created=now.isoformat(timespec="seconds"),
        a=_side(a, labels[0]),
        b=_side(b, labels[1]),
        shapes=(shape,),
        floors=Floors(least_pct=chosen["floor_pct"], typed_pct=options.min_effect_pct),
        settings=chosen,
        machine=b.timing.machine if b.timing else None,
        warnings=_code_notes(a, b),
    )
    verdict = judge(comparison)
    comparison = msgspec.structs.replace(comparison, verdict=verdict)
    if differs:
        return ComparisonResult(comparison, verdict, None)
    wanted = Path(out_dir) if out_dir else _place(b, now)
    with new_folder(wanted) as folder:
        save_comparison(comparison, folder.work / artifacts.COMPARISON)
        write_comparison_reports(folder.work)
    return ComparisonResult(comparison, verdict, folder.final)


def refuse_problem(stored: Stored, plan: KernelPlan) -> None:
    """Raise `NotComparable` for a plan of another problem, before it is measured."""
    own = msgspec.structs.replace(
        stored.conditions, kernel=kernel_name(type(plan)), params=plan.params()
    )
    differs = differences(stored.conditions, own)
    if differs:
        raise NotComparable(f"not comparable: {'; '.join(differs)}")


def _series(a: Stored, b: Stored) -> tuple[StoredSeries, StoredSeries]:
    """The raw samples of both. Raises `NoUsableData` where there are none."""
    return _samples(a), _samples(b)


def _samples(stored: Stored) -> StoredSeries:
    timing = stored.timing
    if timing is None:
        raise NoUsableData(
            f"{stored.folder.name} ({stored.profile.mode}) has no {artifacts.TIMING}: only runs "
            "with all their samples can be compared (--prof_type=event or annotation)"
        )
    return StoredSeries(
        samples_ns=timing.series.samples_ns,
        mhz=timing.clock.sm_mhz if timing.clock else None,
        created=stored.profile.created,
        profile="/".join(stored.folder.absolute().parts[-4:]) if _in_store(stored) else "",
        settled=timing.warm_up.settled,
    )


def _in_store(stored: Stored) -> bool:
    """Whether the last four folders of its path are those of a store, and tell nothing else."""
    parts = stored.folder.absolute().parts
    return len(parts) > 4 and parts[-4] == stored.profile.mode


def _labels(a: Stored, b: Stored) -> tuple[str, str]:
    """Versions; of two runs of one version their times, else their numbers."""
    versions = (a.plan.version or "base", b.plan.version or "base")
    if versions[0] != versions[1]:
        return versions
    return f"{versions[0]} first", f"{versions[1]} second"


def _side(stored: Stored, label: str) -> Side:
    plan = stored.plan
    return Side(
        label=label,
        kernel=plan.kernel,
        version=plan.version,
        language=plan.language,
        import_path=plan.import_path,
        source_sha256=plan.source_sha256,
        tilings=dict(stored.profile.tilings),
    )


def _code_notes(a: Stored, b: Stored) -> tuple[str, ...]:
    """What differs in the code of two runs of the same version, before any percentage."""
    found = []
    if a.plan.version == b.plan.version:
        if a.plan.source_sha256 != b.plan.source_sha256:
            both = (stored.plan.source_sha256[:8] or "n/a" for stored in (a, b))
            found.append(f"source differs: {' → '.join(both)}")
        if a.profile.tilings != b.profile.tilings:
            found.append("tiling differs")
    return tuple(found)


def _place(stored: Stored, now: datetime) -> Path:
    """Beside the other comparisons, by the second profile's kernel and problem."""
    parts = stored.folder.absolute().parts
    problem = parts[-2] if _in_store(stored) else "stored"
    name = f"{stored.plan.kernel}_across_runs"
    return artifacts.profile_folder(artifacts.PROFILES, MODE, name, problem, timestamp(now))
