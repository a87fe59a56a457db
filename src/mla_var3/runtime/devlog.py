"""`mla devlog`: a stored profile into the development log of its kernel."""

from pathlib import Path
from typing import NamedTuple

from mla_var3.analyse.across_runs import against
from mla_var3.analyse.comparison_gate import differences
from mla_var3.analyse.devlog import Previous, figures
from mla_var3.conf import table
from mla_var3.core import artifacts
from mla_var3.core.annotation import AcrossRuns
from mla_var3.core.comparison import Comparison, Shape, load_comparison
from mla_var3.core.devlog import DevlogEntry
from mla_var3.core.errors import (
    BadArgument,
    KernelFailed,
    MachineCannot,
    NotComparable,
    NoUsableData,
)
from mla_var3.core.record import PlanIdentity, Profile
from mla_var3.core.units import NA
from mla_var3.render.contract import Contract
from mla_var3.render.devlog import update
from mla_var3.runtime.comparing_stored import Stored, load_stored
from mla_var3.runtime.comparison_reports import is_comparison
from mla_var3.runtime.diagnosing import diagnose_file
from mla_var3.runtime.history import read_history
from mla_var3.runtime.reporting import contract_of, replace_file

LOGS = Path("docs") / "kernels"
BASE = "base"


class Written(NamedTuple):
    """The log, and whether it was changed."""

    path: Path
    changed: bool
    previous: str
    """What the block is compared with, in words."""


def write_devlog(
    kernel: str, version: str, profile: Path, baseline: Path | None = None, logs: Path = LOGS
) -> Written:
    """Write the Performance block of a profile into `<logs>/<kernel-with-hyphens>.md`.

    Raises `BadArgument` where the profile is of another kernel or version, `NotComparable` where
    the baseline was taken under other conditions.
    """
    now = load_stored(profile)
    plan = _plan_of(now, kernel, version)
    if baseline is None:
        before, said = _from_store(now, plan)
    elif is_comparison(baseline):
        before, said = _from_comparison(now, plan, baseline)
    else:
        before, said = _from_profile(now, load_stored(baseline))
    entry = _entry(now, plan, before, said)
    path = logs / f"{plan.kernel.replace('_', '-')}.md"
    return Written(path, _write(path, entry), said)


def _plan_of(now: Stored, kernel: str, version: str) -> PlanIdentity:
    plan = now.profile.plan
    wanted = BASE if version in ("", "v0") else version
    if plan is None:
        raise BadArgument(f"{now.folder.name} is an imported report: a devlog is of a kernel here")
    if (plan.kernel, plan.version or BASE) != (kernel, wanted):
        own = f"{plan.kernel} {plan.version or BASE}"
        raise BadArgument(f"{now.folder.name} is a profile of {own}, not of {kernel} {wanted}")
    if now.profile.status in ("CHECK_FAILED", "KERNEL_FAILED"):
        raise KernelFailed(f"{now.profile.status} {now.profile.failure}; a devlog needs a time")
    return plan


def _from_profile(now: Stored, before: Stored) -> tuple[Previous, str]:
    """Held against a stored profile, after the gate."""
    seen = against(before.profile, before.folder.name, now.profile)
    found = differences(before.conditions, now.conditions) or seen.differs
    if found:
        raise NotComparable(f"the baseline was taken under other conditions: {'; '.join(found)}")
    return Previous(before.profile, None, seen.floor_pct), _across(seen)


def _across(seen: AcrossRuns) -> str:
    noted = "".join(f"; {note}" for note in seen.notes)
    when = seen.created[:16].replace("T", " ")
    told = f"{seen.version}, {when} UTC, across runs, not interleaved"
    return f"{told} (below {seen.floor_pct:.1f} % is no change){noted}."


def _from_store(now: Stored, plan: PlanIdentity) -> tuple[Previous, str]:
    """The newest comparable profile of the nearest earlier version in `out/profiles`."""
    texts = table("devlog")["texts"]
    root = artifacts.PROFILES
    if _number(plan.version) == 0:
        return Previous(), texts["first"]
    nothing = texts["no_previous"]
    if not root.is_dir():
        return Previous(), nothing
    alike = [
        run
        for run in read_history(root).runs
        if run.plan is not None
        and (run.plan.kernel, run.plan.language) == (plan.kernel, plan.language)
        and (run.mode, run.plan.params) == (now.profile.mode, plan.params)
        and run.status in ("OK", "PARTIAL")
        and 0 <= _number(run.plan.version) < _number(plan.version)
    ]
    alike.sort(key=lambda run: (_number(run.version), run.created), reverse=True)
    for run in alike:
        try:
            return _from_profile(now, load_stored(root / run.profile))
        except (NotComparable, NoUsableData):
            continue
    return Previous(), nothing


def _from_comparison(now: Stored, plan: PlanIdentity, path: Path) -> tuple[Previous, str]:
    """Held against side A of a comparison whose side B is this version on this problem."""
    folder = path if path.is_dir() else path.parent
    found = load_comparison(folder / artifacts.COMPARISON)
    b = found.b
    if (b.kernel or plan.kernel, b.version, b.language) != (
        plan.kernel, plan.version, plan.language,
    ):  # fmt: skip
        raise NotComparable(f"the comparison judges {b.kernel} {b.version}, not {plan.version}")
    place, shape = _shape(found, now)
    if found.verdict is None:
        raise NoUsableData(f"{folder.name} holds no verdict: mla report {folder.name}")
    verdict = found.verdict.shapes[place]
    if verdict.time is None:
        raise NotComparable(f"the comparison has no time of this problem: {verdict.word}")
    said = f"{found.a.label}, mla compare, {found.created[:16].replace('T', ' ')} UTC"
    way = "across runs" if shape.stored else "interleaved"
    interval = f"{verdict.time.low_pct:+.1f} to {verdict.time.high_pct:+.1f} %".replace("-", "−")
    return Previous(verdict=verdict), f"{said}, {way}: {verdict.word}, {interval} of the time."


def _shape(found: Comparison, now: Stored) -> tuple[int, Shape]:
    wanted = now.conditions
    for place, shape in enumerate(found.shapes):
        if shape.b.params == wanted.params:
            if shape.b.gpu != wanted.gpu:
                gpus = f"GPU: {shape.b.gpu} → {wanted.gpu}"
                raise NotComparable(f"the comparison ran under other conditions: {gpus}")
            return place, shape
    raise NotComparable("the comparison has no shape with the problem of the profile")


def _entry(now: Stored, plan: PlanIdentity, before: Previous, said: str) -> DevlogEntry:
    bottleneck, issues = _judged(now)
    section = plan.version or BASE
    if plan.language not in ("", "cutile"):
        section = f"{section} ({plan.language})"
    return DevlogEntry(
        kernel=plan.kernel,
        section=section,
        place=_place(now.profile, plan),
        figures=figures(now.profile, before),
        notes=(_taken(now.profile), f"Previous: {said}"),
        bottleneck=bottleneck,
        issues=issues,
    )


def _place(profile: Profile, plan: PlanIdentity) -> str:
    words = table("devlog")
    params = plan.params
    parts = [profile.environment.device or f"device {NA}"]
    if profile.environment.clocks_locked:
        parts.append("locked clocks")
    parts.append(str(params.get("dtype", f"dtype {NA}")))
    parts += [f"{name}={params[name]}" for name in ("b", "s", "t") if name in params]
    usual = words["usual"]
    rest = [name for name in params if name not in words["named"]]
    parts += [f"{n}={params[n]}" for n in rest if n not in usual or params[n] != usual[n]]
    return ", ".join(parts)


def _taken(profile: Profile) -> str:
    whole = profile.end_to_end
    metric = whole.metrics.get("duration") if whole else None
    clocks = {True: "locked", False: "not locked", None: "not told to be locked"}
    how = f"end to end by {metric.raw}" if metric else "no time end to end"
    counters = sorted({m.source for s in profile.stages if (m := s.metrics.get("tensor"))})
    told = f"Occupancy and TC Util by {', '.join(counters)}" if counters else "no counters"
    weighted = ", weighted by stage time" if counters and len(profile.stages) > 1 else ""
    when = profile.created[:16].replace("T", " ")
    locked = clocks[profile.environment.clocks_locked]
    return f"Taken {when} UTC in mode {profile.mode}: {how}; {told}{weighted}; clocks {locked}."


def _judged(now: Stored) -> tuple[str, tuple[str, ...]]:
    """The contract's word, and each stage's issue with what it may bring."""
    try:
        contract = contract_of(diagnose_file(now.folder), now.folder)
    except NoUsableData as reason:
        return f"{NA} ({str(reason).removeprefix('no contract: ')})", (f"{NA}: {reason}",)
    return f"{contract.bottleneck}-bound", _issues(contract)


def _issues(contract: Contract) -> tuple[str, ...]:
    stages = [f"{stage.stage}: {stage.key_issue}" for stage in contract.stages[:10]]
    return (
        *stages,
        *(
            f"to try: {item.name}, at most {item.gain_pct:.0f} % ({item.how})"
            for item in contract.opportunities
        ),
    )


def _write(path: Path, entry: DevlogEntry) -> bool:
    """Whether the file was changed."""
    try:
        old = path.read_bytes().decode() if path.exists() else ""
    except UnicodeDecodeError as error:
        raise NoUsableData(f"{path.name} is not UTF-8 text: {error.reason}") from None
    except OSError as error:
        raise MachineCannot(f"cannot read {path.name}: {error.strerror}") from error
    new = update(old, entry)
    if new == old:
        return False
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, new.encode())
    except OSError as error:
        raise MachineCannot(f"cannot write {path.name}: {error.strerror}") from error
    return True


def _number(version: str) -> int:
    """0 of the base, 1 of v1; -1 of what has no number."""
    if version in ("", BASE, "v0"):
        return 0
    return int(version[1:]) if version[:1] == "v" and version[1:].isdigit() else -1
