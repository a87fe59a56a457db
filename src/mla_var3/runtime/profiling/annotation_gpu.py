"""The part of annotation mode that needs a GPU: ncu on one NVTX range a stage."""

import dataclasses
from pathlib import Path

import msgspec

from mla_var3.analyse.predict import with_prediction
from mla_var3.analyse.timing import lock_remark
from mla_var3.core import artifacts
from mla_var3.core.annotation import AnnotationRun
from mla_var3.core.errors import MlaError
from mla_var3.core.record import Profile, Stage
from mla_var3.core.timing import Timing
from mla_var3.measure.ncu_run import NcuRun, choose_metrics, record_ranges
from mla_var3.measure.ncu_stages import PlanStages
from mla_var3.measure.range_limit import take_seen
from mla_var3.measure.timing_record import model_stages
from mla_var3.measure.worker import ERROR
from mla_var3.measure.worker_run import JOB
from mla_var3.measure.worker_spec import spec_for
from mla_var3.runtime.measuring import MeasureOptions, device_lock
from mla_var3.runtime.problem_files import identity
from mla_var3.runtime.profiling.event import event_profile
from mla_var3.runtime.profiling.ncu_ranges import (
    Job,
    environment,
    merged,
    ncu_job,
    passes,
    remarks,
    stages_seen,
    unseen_text,
)
from mla_var3.runtime.profiling.range_cuts import (
    cut_stages,
    cut_text,
    most_launches,
    range_settings,
)

APART_PCT = 10.0
"""Beyond it ncu's durations and the plan's own time tell of different things."""


def measure(
    job: Job, timing: Timing | None, run: AnnotationRun, folder: Path, options: MeasureOptions
) -> tuple[Profile, AnnotationRun]:
    """Run ncu and make the record of both parts; report and log stay in `folder`.

    `timing` None: stages on several streams are not timed as one. Raises `WithoutCounters` where
    ncu fails and the plan was timed before.
    """
    timed = event_profile(job.plan, timing, folder, job.now) if timing else None
    job = job.for_sms(timed.environment.sm_count if timed else job.target.sm_count)
    try:
        recorded, cut = _recorded(job, timing, folder, options)
        job = job.seen_by(recorded.profile.environment)
        found = stages_seen(job, recorded, cut=cut)
    except (MlaError, KeyboardInterrupt) as error:
        if timed is None:
            raise
        raise WithoutCounters(*_without_counters(timed, run, error)) from error
    profile = _profile(job, recorded, found, timed)
    return profile, msgspec.structs.replace(
        run,
        cut=dict(found.cut),
        ncu_s=round(recorded.seconds, 2),
        passes=passes(found),
        counters=len(recorded.metrics.names),
    )


class WithoutCounters(Exception):
    """ncu failed (the cause) after the plan was timed: what was measured is kept."""

    def __init__(self, profile: Profile, run: AnnotationRun) -> None:
        super().__init__(profile.failure)
        self.profile = profile
        self.run = run


def _without_counters(
    timed: Profile, run: AnnotationRun, error: MlaError | KeyboardInterrupt
) -> tuple[Profile, AnnotationRun]:
    why = str(error) if isinstance(error, MlaError) else "interrupted while ncu ran"
    profile = msgspec.structs.replace(
        timed, mode="annotation", status="PARTIAL", failure=f"no counters: {why}"
    )
    return profile, msgspec.structs.replace(run, no_counters=why)


def _recorded(
    job: Job, timing: Timing | None, folder: Path, options: MeasureOptions
) -> tuple[NcuRun, dict[str, str]]:
    """What ncu recorded, and the stages of which it did not see all."""
    spec = spec_for(
        job.plan,
        "ranges",
        f"cuda:{job.gpu.index}",
        folder,
        uuid=job.gpu.uuid,
        seed=options.seed,
        settings=range_settings(),
    )
    driver = timing.machine.driver if timing else None
    tool = dataclasses.replace(job.tool, driver=driver or "")
    asked = ncu_job(job, spec, folder / artifacts.NCU_REPORT)
    asked = asked._replace(launches=most_launches(len(asked.stages)))
    try:
        with device_lock(job.gpu, options):
            metrics = choose_metrics(tool, job.gpu.capability, job.dtypes, folder)
            recorded = record_ranges(tool, asked, metrics)
    finally:
        (folder / JOB).unlink()  # it names directories of this machine
        (folder / ERROR).unlink(missing_ok=True)
        seen = take_seen(folder)
    return recorded, cut_stages(seen, recorded.profile.stages, asked.launches)


def _profile(job: Job, recorded: NcuRun, found: PlanStages, timed: Profile | None) -> Profile:
    """The record: counters by stage, the plan's own time and work beside them."""
    by_model = _by_model(job, timed)
    report = recorded.profile
    parts = (report.failure, cut_text(found), unseen_text(found))
    failure = "; ".join(part for part in parts if part)
    return Profile(
        mode="annotation",
        status="PARTIAL" if failure else "OK",
        stages=merged(found.stages, by_model),
        groups=merged(found.groups, by_model),
        end_to_end=timed.end_to_end if timed else None,
        environment=environment(report.environment, job, timed.environment if timed else None),
        plan=identity(job.plan),
        source=report.source,
        created=job.now.isoformat(timespec="seconds"),
        failure=failure,
        tilings={name: tiling.as_dict() for name, tiling in job.plan.tilings().items()},
        warnings=_warnings(timed, report, found),
        missing=timed.missing if timed else {},
    )


def _by_model(job: Job, timed: Profile | None) -> dict[str, Stage]:
    """Each stage of the plan by its own work, the peaks, and its compiled code where it is."""
    if timed is not None:
        return {stage.name: stage for stage in timed.stages}
    stages = map(with_prediction, model_stages(job.plan, job.target))
    return {stage.name: stage for stage in stages}


def _warnings(timed: Profile | None, report: Profile, found: PlanStages) -> tuple[str, ...]:
    told = remarks(report, found)
    own = timed.warnings if timed else (lock_remark(None),)
    recorded = len(report.warnings)
    texts = (*told[:recorded], *own, *told[recorded:])
    apart = _apart(timed, found)
    return (*texts, apart) if apart else texts


def _apart(timed: Profile | None, found: PlanStages) -> str:
    """What to say where ncu's durations do not add up to the plan's own time."""
    whole = timed.end_to_end.value("duration") if timed and timed.end_to_end else None
    times = [stage.value("duration") for stage in found.stages]
    known = [time for time in times if time is not None]
    if not whole or len(known) < len(times) or found.unseen or found.cut:
        return ""
    gap = 100.0 * (sum(known) / whole - 1.0)
    if abs(gap) <= APART_PCT:
        return ""
    if gap > 0:
        more, why = "more", "ncu runs one kernel at a time, each at a clock of its own"
    else:
        more, why = "less", "gaps between launches, or a lower clock under sustained load"
    return f"ncu's durations sum to {abs(gap):.0f} % {more} than the plan takes end to end: {why}"
