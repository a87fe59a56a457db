"""A profile against an earlier one of the same plan: two runs apart, so never a verdict."""

from mla_var3.core.annotation import AcrossRuns, Change
from mla_var3.core.record import Metric, PlanIdentity, Profile, Stage
from mla_var3.core.units import signed

FLOOR_PCT = 3.0
"""Runs that were not interleaved differ by as much without any reason."""
_FIGURES = {
    "duration": "duration, end to end",
    "achieved_tflops": "achieved TFLOP/s",
    "achieved_gbps": "achieved GB/s",
    "sm_clock": "SM clock",
}
_CLOCK_TOLD_PCT = 1.0


def against(earlier: Profile, folder: str, now: Profile) -> AcrossRuns:
    """What changed since `earlier`, which lies in `folder`; where they differ in what decides the
    time, the fields that do, and no figure.
    """
    plan = earlier.plan or PlanIdentity(kernel="", version="")
    differs = differences(earlier, now)
    base = AcrossRuns(
        version=plan.version or "base",
        created=earlier.created,
        profile=folder,
        differs=differs,
        notes=() if differs else notes_between(earlier, now),
    )
    if differs or earlier.end_to_end is None or now.end_to_end is None:
        return base
    return _with_changes(base, earlier.end_to_end, now.end_to_end)


def differences(earlier: Profile, now: Profile) -> tuple[str, ...]:
    """Fields that must be equal before two times may stand side by side: `clocks_locked: …`."""
    before, after = _conditions(earlier), _conditions(now)
    found = [
        f"{name}: {before.get(name, 'n/a')} → {after.get(name, 'n/a')}"
        for name in dict.fromkeys((*before, *after))
        if before.get(name) != after.get(name)
    ]
    for profile, word in ((earlier, "the earlier profile"), (now, "this profile")):
        if profile.end_to_end is None or profile.end_to_end.value("duration") is None:
            found.append(f"{word} has no end-to-end time")
    return tuple(found)


def _conditions(profile: Profile) -> dict[str, object]:
    environment, plan = profile.environment, profile.plan
    driver = (environment.driver or "").partition(".")[0]
    locked = {True: "locked", False: "not locked", None: "not told"}[environment.clocks_locked]
    told: dict[str, object] = {
        "device": environment.device,
        "driver": driver or None,
        "clocks": locked,
        "samples taken with": _how(profile.end_to_end),
    }
    return told | dict(plan.params if plan else {})


def _how(whole: Stage | None) -> str | None:
    metric = whole.metrics.get("duration") if whole else None
    return None if metric is None else how_taken(metric.raw)


def how_taken(origin: str) -> str:
    """Timer, regime and cache state of a duration, without the count of its samples."""
    return origin.partition(", ")[2]


def notes_between(earlier: Profile, now: Profile) -> tuple[str, ...]:
    """What else differs and may explain a change: `SM clock differs by +3.2 %`."""
    notes = _code_notes(earlier, now)
    clock = _clock_change(earlier.end_to_end, now.end_to_end)
    if clock is not None and abs(clock) > _CLOCK_TOLD_PCT:
        notes.append(_clock_note(earlier.end_to_end, now.end_to_end, clock))
    if _temperature(now) is not None and _temperature(earlier) is not None:
        apart = (_temperature(now) or 0.0) - (_temperature(earlier) or 0.0)
        if abs(apart) >= 10.0:
            notes.append(f"temperature differs by {apart:+.0f} °C".replace("-", "−"))
    return tuple(notes)


def _clock_note(earlier: Stage | None, now: Stage | None, pct: float) -> str:
    """A clock that is read in another way may differ for that reason alone."""
    before, after = (
        stage.metrics["sm_clock"].raw.partition(",")[0] for stage in (earlier, now) if stage
    )
    if before == after:
        return f"SM clock differs by {signed(pct)} %"
    return f"SM clock differs by {signed(pct)} %, read in another way ({before} → {after})"


def _code_notes(earlier: Profile, now: Profile) -> list[str]:
    """Another source or tiling of the same version; another version has its own."""
    plans = [profile.plan for profile in (earlier, now) if profile.plan]
    if len({plan.version for plan in plans}) > 1:
        return []
    notes = []
    sources = [plan.source_sha256[:8] or "n/a" for plan in plans]
    if len(set(sources)) > 1:
        notes.append(f"source differs ({' → '.join(sources)})")
    if earlier.tilings != now.tilings:
        changed = [name for name in now.tilings if earlier.tilings.get(name) != now.tilings[name]]
        notes.append(f"tiling differs ({', '.join(changed) or 'stages'})")
    return notes


def _temperature(profile: Profile) -> float | None:
    return profile.end_to_end.value("temperature") if profile.end_to_end else None


def _clock_change(earlier: Stage | None, now: Stage | None) -> float | None:
    before = earlier.value("sm_clock") if earlier else None
    after = now.value("sm_clock") if now else None
    return None if not before or after is None else 100.0 * (after / before - 1.0)


def _with_changes(base: AcrossRuns, earlier: Stage, now: Stage) -> AcrossRuns:
    changes = []
    for key, name in _FIGURES.items():
        before, after = earlier.metrics.get(key), now.metrics.get(key)
        if before is not None and after is not None and before.value:
            changes.append(
                Change(label=name, previous=before, current=after, change=_percent(before, after))
            )
    clock = abs(_clock_change(earlier, now) or 0.0)
    before_ns, after_ns = earlier.value("duration"), now.value("duration")
    return AcrossRuns(
        version=base.version,
        created=base.created,
        profile=base.profile,
        changes=tuple(changes),
        ratio=before_ns / after_ns if before_ns and after_ns else None,
        floor_pct=max(FLOOR_PCT, clock),
        notes=base.notes,
    )


def _percent(before: Metric, after: Metric) -> str:
    change = 100.0 * (after.value / before.value - 1.0)
    return f"{change:+.1f} %".replace("-", "−")
