"""The part of annotation mode that needs a GPU: ncu on one NVTX range a stage."""

import dataclasses
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from mla_var3.analyse.predict import with_prediction
from mla_var3.core import artifacts
from mla_var3.core.annotation import AnnotationRun
from mla_var3.core.errors import NoUsableData
from mla_var3.core.plan import ConcurrentKernels, Kernel, KernelPlan, stages_of
from mla_var3.core.record import Environment, Profile, Stage
from mla_var3.core.target import Target
from mla_var3.core.timing import Timing
from mla_var3.measure.gpus import Gpu
from mla_var3.measure.ncu_command import NcuJob
from mla_var3.measure.ncu_run import NcuRun, Tool, choose_metrics, record_ranges
from mla_var3.measure.ncu_stages import PlanStages, plan_stages, with_model
from mla_var3.measure.timing_record import model_stages
from mla_var3.measure.worker_run import JOB, worker_command
from mla_var3.measure.worker_spec import spec_for, write_spec
from mla_var3.runtime.measuring import MeasureOptions, device_lock
from mla_var3.runtime.problem_files import identity
from mla_var3.runtime.profiling.event import event_profile

APART_PCT = 10.0
"""Beyond it ncu's durations and the plan's own time tell of different things."""


class Job(NamedTuple):
    """One plan on one GPU, timed already (or not: stages on several streams)."""

    plan: KernelPlan
    gpu: Gpu
    target: Target
    tool: Tool
    timing: Timing | None
    now: datetime


def measure(
    job: Job, run: AnnotationRun, folder: Path, options: MeasureOptions
) -> tuple[Profile, AnnotationRun]:
    """Run ncu and make the record of both parts; report and log stay in `folder`."""
    timed = event_profile(job.plan, job.timing, folder, job.now) if job.timing else None
    job = _for_sms(job, timed.environment.sm_count if timed else job.target.sm_count)
    recorded = _recorded(job, folder, options)
    if job.plan.target_sms is None:
        job = _for_sms(job, recorded.profile.environment.sm_count)
    kernels = stages_of(job.plan.plan_empty())
    found = plan_stages(recorded.profile.stages, kernels, _together(job.plan), recorded.metrics)
    if not found.stages:
        names = ", ".join(kernel.name for kernel in kernels)
        raise NoUsableData(f"ncu saw no launch inside a range of a stage ({names})")
    profile = _profile(job, recorded, found, timed)
    passes = [stage.value("replay_passes") for stage in found.stages]
    known = [int(value) for value in passes if value is not None]
    return profile, msgspec.structs.replace(
        run,
        ncu_s=round(recorded.seconds, 2),
        passes=max(known) if known else None,
        counters=len(recorded.metrics.names),
    )


def _for_sms(job: Job, sms: int | None) -> Job:
    """The job with its plan, and the device, as they are with that many SMs."""
    target = job.target._replace(driver_sms=sms)
    return job._replace(plan=job.plan.for_sms(sms), target=target)


def _ranges(plan: KernelPlan, kernels: tuple[Kernel, ...]) -> tuple[str, ...]:
    """Names of the ranges whose launches are profiled.

    Where nobody tells the SMs, any stage with a tiling may be launched too.
    """
    names = [kernel.name for kernel in kernels]
    return tuple(dict.fromkeys(names if plan.target_sms else (*names, *plan.TILINGS)))


def _recorded(job: Job, folder: Path, options: MeasureOptions) -> NcuRun:
    kernels = stages_of(job.plan.plan_empty())
    dtypes = tuple(dict.fromkeys(kernel.compute_dtype for kernel in kernels))
    spec = spec_for(
        job.plan,
        "ranges",
        f"cuda:{job.gpu.index}",
        folder,
        uuid=job.gpu.uuid,
        seed=options.seed,
    )
    file = write_spec(spec, folder / JOB)
    driver = job.timing.machine.driver if job.timing else None
    tool = dataclasses.replace(job.tool, driver=driver or "")
    with device_lock(job.gpu, options):
        metrics = choose_metrics(tool, job.gpu.capability, dtypes, folder)
        asked = NcuJob(
            program=tuple(worker_command(file)),
            stages=_ranges(job.plan, kernels),
            metrics=metrics.names,
            report=folder / artifacts.NCU_REPORT,
        )
        recorded = record_ranges(tool, asked, metrics)
    file.unlink()  # it names directories of this machine
    return recorded


def _together(plan: KernelPlan) -> tuple[str, ...]:
    """Names of the stages that run at the same time."""
    runnable = plan.plan_empty()
    if isinstance(runnable, ConcurrentKernels) and runnable.streams > 1:
        return tuple(kernel.name for kernel in runnable.stages)
    return ()


def _profile(job: Job, recorded: NcuRun, found: PlanStages, timed: Profile | None) -> Profile:
    """The record: counters by stage, the plan's own time and work beside them."""
    by_model = _by_model(job, timed)
    report = recorded.profile
    failure = _failure(report, found)
    return Profile(
        mode="annotation",
        status="PARTIAL" if failure else "OK",
        stages=tuple(_merged(stage, by_model) for stage in found.stages),
        groups=tuple(_merged(stage, by_model) for stage in found.groups),
        end_to_end=timed.end_to_end if timed else None,
        environment=_environment(report.environment, timed.environment if timed else None, job),
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


def _merged(stage: Stage, by_model: dict[str, Stage]) -> Stage:
    """A stage of the plan with the model's figures; a kernel of a stage of several has none."""
    own = by_model.get(stage.name)
    return with_model(stage, own) if own is not None else stage


def _failure(report: Profile, found: PlanStages) -> str:
    if report.failure:
        return report.failure
    if not found.unseen:
        return ""
    names = ", ".join(found.unseen)
    return (
        f"ncu saw no launch of {names}: nothing was launched in that range, or by another process"
    )


def _environment(report: Environment, timed: Environment | None, job: Job) -> Environment:
    """The driver's and the timed run's words first; the report names its tools."""
    base = timed or Environment(
        device=job.gpu.name,
        compute_capability=job.gpu.capability,
        sm_count=job.target.sm_count,
    )
    return msgspec.structs.replace(
        base,
        sm_count=base.sm_count or report.sm_count,
        clock_max_hz=base.clock_max_hz or report.clock_max_hz,
        capture_tool=report.capture_tool,
        reader_tool=report.reader_tool,
    )


def _warnings(timed: Profile | None, report: Profile, found: PlanStages) -> tuple[str, ...]:
    texts = [*report.warnings, *(timed.warnings if timed else ())]
    if found.strangers:
        texts.append(f"left out: {found.strangers} launched outside the stages' ranges")
    alone = [stage.name for stage in found.stages if stage.isolated]
    if alone:
        texts.append(
            f"{', '.join(alone)} run at the same time but were profiled alone (isolated): their "
            "times are not their parts of a concurrent run"
        )
    apart = _apart(timed, found)
    return (*texts, apart) if apart else tuple(texts)


def _apart(timed: Profile | None, found: PlanStages) -> str:
    """What to say where ncu's durations do not add up to the plan's own time."""
    whole = timed.end_to_end.value("duration") if timed and timed.end_to_end else None
    times = [stage.value("duration") for stage in found.stages]
    known = [time for time in times if time is not None]
    if not whole or len(known) < len(times) or found.unseen:
        return ""
    gap = 100.0 * (sum(known) / whole - 1.0)
    if abs(gap) <= APART_PCT:
        return ""
    if gap > 0:
        more, why = "more", "ncu runs one kernel at a time, each at a clock of its own"
    else:
        more, why = "less", "gaps between launches, or a lower clock under sustained load"
    return f"ncu's durations sum to {abs(gap):.0f} % {more} than the plan takes end to end: {why}"
