"""The history of stored runs: series, what changed from run to run, and from when on."""

from collections.abc import Iterable, Sequence
from itertools import groupby

import msgspec

from mla_var3.analyse.across_runs import against, how_taken
from mla_var3.analyse.change_points import Limits, change_points
from mla_var3.conf import table
from mla_var3.core.annotation import AcrossRuns
from mla_var3.core.history import ChangePoint, Row, Run, Series, SeriesKey
from mla_var3.core.record import Metric, PlanIdentity, Profile, Source, Stage

_WHOLE = "end to end"
_FIGURES = {
    "duration_ns": ("duration", "ns"),
    "sm_clock_hz": ("sm_clock", "Hz"),
    "temperature_c": ("temperature", "°C"),
    "achieved_tflops": ("achieved_tflops", "TFLOP/s"),
    "achieved_gbps": ("achieved_gbps", "GB/s"),
}


def series_of(runs: Iterable[Run]) -> tuple[Series, ...]:
    """Runs by plan, problem, mode and device, each series by time; those with the newest run first.

    Runs of one series need not be comparable: driver, clocks and tiling may differ between them.
    """
    found: dict[SeriesKey, list[Run]] = {}
    ordered = [(_key(run), run) for run in sorted(runs, key=lambda r: (r.created, r.profile))]
    timed = {_untimed(key): key for key, _ in ordered if key.duration_by}
    for key, run in ordered:  # one without a time stands among those of its plan that have one
        found.setdefault(key if key.duration_by else timed.get(key, key), []).append(run)
    made = [Series(key=k, runs=tuple(r), changes=changes_of(r)) for k, r in found.items()]
    return tuple(sorted(made, key=lambda series: series.runs[-1].created, reverse=True))


def rows_of(series: Series, last: int = 0) -> tuple[Row, ...]:
    """The last runs of a series (0: all), each against the last one before it that has a time."""
    start = max(0, len(series.runs) - last) if last else 0
    rows, before = [], None
    for run in reversed(series.runs[:start]):
        if has_time(run):
            before = run
            break
    for run in series.runs[start:]:
        timed = has_time(run)
        seen = _against(before, run) if before is not None and timed else None
        rows.append(Row(run=run, against=seen))
        before = run if timed else before
    return tuple(rows)


def changes_of(runs: Sequence[Run]) -> tuple[ChangePoint, ...]:
    """Change points of a series, looked for only among neighbours that may be compared."""
    settings = table("history")["change_points"]
    limits = Limits(
        least_runs=int(settings["least_runs"]["value"]),
        p=settings["p"]["value"],
        floor_pct=settings["across_floor_pct"]["value"],
    )
    timed = [(place, run) for place, run in enumerate(runs) if has_time(run)]
    found: list[ChangePoint] = []
    for _, part in groupby(timed, key=lambda item: _conditions(item[1])):
        stretch = list(part)
        times = [run.duration_ns or 0.0 for _, run in stretch]
        for change in change_points(times, limits):
            place, first = stretch[change.first_after]
            before = stretch[change.first_after - 1][1]
            found.append(
                ChangePoint(
                    first_after=place,
                    created=first.created,
                    profile=first.profile,
                    before_ns=change.before,
                    after_ns=change.after,
                    change_pct=change.pct,
                    runs_before=change.runs_before,
                    runs_after=change.runs_after,
                    p=change.p,
                    notes=_against(before, first).notes,
                )
            )
    return tuple(found)


def has_time(run: Run) -> bool:
    """Whether it took a time that another run's may stand beside."""
    return bool(run.duration_ns) and run.status in ("OK", "PARTIAL")


def _key(run: Run) -> SeriesKey:
    plan = run.plan or PlanIdentity(kernel=run.file, version="-")
    return SeriesKey(
        kernel=run.kernel,
        version=run.version,
        language=plan.language,
        params=tuple(plan.params.items()),
        mode=run.mode,
        duration_by=run.duration_by,
        device=run.environment.device,
    )


def _untimed(key: SeriesKey) -> SeriesKey:
    return msgspec.structs.replace(key, duration_by=None)


def _conditions(run: Run) -> tuple[str, bool | None, str]:
    """What may differ within a series and forbids a comparison, as `across_runs` has it."""
    driver = (run.environment.driver or "").partition(".")[0]
    return driver, run.environment.clocks_locked, how_taken(run.duration_from)


def _against(earlier: Run, now: Run) -> AcrossRuns:
    return against(_profile(earlier), earlier.profile, _profile(now))


def _profile(run: Run) -> Profile:
    """As much of the record as two runs are held against each other by."""
    by: Source = run.duration_by or "event"
    origins = {"duration": run.duration_from, "sm_clock": run.sm_clock_from}
    metrics = {
        key: Metric(value, unit, by, origins.get(key) or key)
        for field, (key, unit) in _FIGURES.items()
        if (value := getattr(run, field)) is not None
    }
    whole = Stage(name=_WHOLE, kernel=_WHOLE, launch=0, metrics=metrics)
    return Profile(
        mode=run.mode,
        status="OK",
        stages=(whole,),
        end_to_end=whole,
        environment=run.environment,
        plan=run.plan,
        created=run.created,
        tilings=run.tilings,
    )
