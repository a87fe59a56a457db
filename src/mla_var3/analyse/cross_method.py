"""Event, ncu and nsys durations of one kernel: what each includes, and why they differ.

Never a verdict and never a ratio: they are different quantities.
"""

from collections.abc import Iterable, Sequence

import msgspec

from mla_var3.conf import table
from mla_var3.core.history import Run
from mla_var3.core.methods import MethodNote, MethodTime
from mla_var3.core.record import Profile, Source, Stage

ORDER: tuple[Source, ...] = ("event", "nsys", "ncu")
Problem = tuple[str, str, str, tuple[tuple[str, object], ...], str | None, str]


def note_of(profile: Profile) -> MethodNote | None:
    """Of one profile that took both: annotation times a plan by events and its kernels by ncu."""
    found = []
    whole = profile.end_to_end
    if whole is not None and (metric := whole.metrics.get("duration")) is not None:
        time = _time(metric.source, metric.value, metric.raw)
        found.append(_with_clock(time, whole))
    taken = [stage.metrics["duration"] for stage in profile.stages if "duration" in stage.metrics]
    sources = {metric.source for metric in taken}
    if len(taken) == len(profile.stages) and len(sources) == 1:
        (source,) = sources
        total = sum(metric.value for metric in taken)
        time = _time(source, total, _launches(len(taken)))
        found.append(_with_clock(time, *profile.stages))
    return _note(time for time in found if time is not None)


def notes_of(runs: Iterable[Run]) -> tuple[tuple[Run, MethodNote], ...]:
    """Of stored runs: for each plan, problem and device the newest time of each method, with the
    run that is newest; only where two methods are there.
    """
    groups: dict[Problem, list[Run]] = {}
    for run in sorted(runs, key=lambda run: run.created, reverse=True):
        if run.plan is not None and run.status in ("OK", "PARTIAL"):
            groups.setdefault(_problem(run), []).append(run)
    found = []
    for group in groups.values():
        note = _note(time for run in group for time in _times(run))
        if note is not None:
            found.append((group[0], note))
    return tuple(found)


def _times(run: Run) -> list[MethodTime]:
    found = []
    if run.duration_ns and run.duration_by:
        time = _time(run.duration_by, run.duration_ns, run.duration_from)
        found.append((time, run.sm_clock_hz, run.sm_clock_from))
    if run.kernels_ns and run.kernels_by:
        time = _time(run.kernels_by, run.kernels_ns, _launches(len(run.stages)))
        found.append((time, run.kernels_clock_hz, run.kernels_clock_from))
    return [
        msgspec.structs.replace(t, sm_clock_hz=hz, clock_from=source, profile=run.profile)
        for t, hz, source in found
        if t is not None
    ]


def _problem(run: Run) -> Problem:
    """What must be equal: another source is another kernel."""
    plan = run.plan
    if plan is None:
        raise ValueError("a run without a plan")
    params = tuple(sorted(plan.params.items()))
    device = run.environment.device
    return plan.kernel, run.version, plan.language, params, device, plan.source_sha256


def _note(times: Iterable[MethodTime]) -> MethodNote | None:
    """The first time of each method; None below two methods."""
    by: dict[Source, MethodTime] = {}
    for time in times:
        by.setdefault(time.method, time)
    shown = tuple(by[method] for method in ORDER if method in by)
    if len(shown) < 2:
        return None
    spoken = table("methods")
    why = tuple(row["text"] for row in spoken["why"] if set(row["between"]) <= by.keys())
    return MethodNote(times=shown, why=why, rule=spoken["rule"])


def _time(method: Source, ns: float, taken: str) -> MethodTime | None:
    """None for a prediction, which is no measurement."""
    words = table("methods")["methods"].get(method)
    if words is None:
        return None
    states: dict[str, str] = words["caches"]
    state = taken.rpartition(", ")[2].removesuffix(" cache")
    return MethodTime(
        method=method,
        duration_ns=ns,
        taken=taken,
        includes=words["includes"],
        load=words["load_in_bursts"] if ", in bursts, " in taken else words["load"],
        caches=states.get(state) or states.get("") or "not told",
    )


def _launches(count: int) -> str:
    return "one launch" if count == 1 else f"sum of {count} launches"


def _with_clock(time: MethodTime | None, *stages: Stage) -> MethodTime | None:
    """With the stages' clock, weighted by time; without where one of them does not tell."""
    clocks = [stage.metrics.get("sm_clock") for stage in stages]
    if time is None or None in clocks:
        return time
    clock, source = _weighted(stages), next(c.raw for c in clocks if c is not None)
    return msgspec.structs.replace(time, sm_clock_hz=clock, clock_from=source)


def _weighted(stages: Sequence[Stage]) -> float:
    weights = [stage.value("duration") or 0.0 for stage in stages]
    clocks = [stage.value("sm_clock") or 0.0 for stage in stages]
    return sum(c * w for c, w in zip(clocks, weights, strict=True)) / sum(weights)
