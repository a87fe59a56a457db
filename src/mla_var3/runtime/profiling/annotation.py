"""`--prof_type=annotation`, the default: the plan timed end to end, and its stages' counters.

On a CUDA GPU the counters come from ncu, one NVTX range a stage; on a CPU torch's own profiler
tells where the time goes.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from mla_var3.conf import table
from mla_var3.core import artifacts
from mla_var3.core.annotation import AcrossRuns, AnnotationRun, save_run
from mla_var3.core.errors import BadArgument, MlaError
from mla_var3.core.locate import folder_name, with_version
from mla_var3.core.params import problem_folder, tiling_source
from mla_var3.core.plan import ConcurrentKernels, KernelPlan
from mla_var3.core.record import Profile
from mla_var3.core.record_file import save_profile
from mla_var3.core.timing import Timing
from mla_var3.measure.gpus import Gpu
from mla_var3.measure.ncu_command import find_ncu
from mla_var3.measure.ncu_run import Tool
from mla_var3.measure.worker_run import worker_environment
from mla_var3.runtime.baselines import find_baseline, refuse_baseline, refuse_unlike
from mla_var3.runtime.measuring import MeasureOptions, find_gpu, kept_on_failure, need_language
from mla_var3.runtime.on_device import plan_on, target_of_gpu
from mla_var3.runtime.problem_files import write_problem
from mla_var3.runtime.profiling import annotation_cpu, annotation_gpu
from mla_var3.runtime.profiling.event import refuse_unreliable, time_plan
from mla_var3.runtime.profiling.ncu_ranges import Job, refuse_waiting
from mla_var3.runtime.reporting import write_reports
from mla_var3.runtime.result import ProfileResult
from mla_var3.runtime.store import new_folder, timestamp

MODE = "annotation"

TimePlan = Callable[[KernelPlan, Gpu | None, Path, int | None, MeasureOptions], Timing]


@dataclass(frozen=True, kw_only=True)
class AnnotationOptions(MeasureOptions):
    """How a plan is annotated; what stands for the machine can be given."""

    gpu: Gpu | None = None
    """Instead of the device that would be found."""
    environment: Mapping[str, str] | None = None
    """Variables of ncu and its program; ncu is looked for on its PATH and below its CUDA_HOME."""
    time_plan: TimePlan = time_plan
    """Times the plan end to end, in a child."""
    on_step: Callable[[str], None] | None = None
    """Told what is being done, in words."""


class Measured(NamedTuple):
    """What was seen of a plan, and how long each part took."""

    profile: Profile
    run: AnnotationRun
    device: str


OPTIONS = AnnotationOptions()


def annotation_profile_plan(
    plan: KernelPlan,
    out_dir: Path | str | None = None,
    version: str | None = None,
    bench_runs: int | None = None,
    options: AnnotationOptions = OPTIONS,
) -> ProfileResult:
    """Time a plan end to end and collect the counters of each stage; `bench_runs` samples.

    `version` takes the plan's class of that version. Stored below `out/profiles/annotation/`
    unless `out_dir` is given; the folder appears whole or not at all.
    """
    if bench_runs is not None and bench_runs < 1:
        raise BadArgument(f"--bench_runs={bench_runs}: must be at least 1")
    plan = with_version(plan, version)
    plan.validate()
    refuse_waiting(plan)
    gpu = options.gpu or find_gpu(plan, options.device)
    plan = plan_on(plan, gpu)
    if options.gpu is None:
        need_language(plan)
    if options.baseline:
        refuse_baseline(plan, options.baseline)
    tool = _tool(gpu, options) if gpu else None
    now = datetime.now(UTC)
    wanted = Path(out_dir) if out_dir else _place(plan, now)
    failed: BaseException | None = None
    with new_folder(wanted) as folder:
        work = folder.work
        with kept_on_failure(work, wanted, (artifacts.TIMING, artifacts.NCU_LOG)):
            timing, run = _timed(plan, gpu, work, bench_runs, options)
            if gpu is not None and tool is not None:
                job = Job(plan, gpu, target_of_gpu(gpu), tool, now)
                try:
                    profile, run = annotation_gpu.measure(job, timing, run, work, options)
                except annotation_gpu.WithoutCounters as part:
                    profile, run, failed = part.profile, part.run, part.__cause__
            else:
                _step(options, "operators: torch's profiler")
                profile, run = annotation_cpu.measure(plan, timing, run, work, options, now)
        save_profile(profile, work)
        beside = Path(out_dir) if out_dir else None
        before = find_baseline(plan, profile, options.baseline, beside)
        run = _complete(run, plan, before)
        save_run(run, work / artifacts.ANNOTATION)
        where = {"device": profile.environment.device, "seed": options.seed}
        write_problem(plan.for_sms(profile.environment.sm_count), where, work)
        reports = write_reports(work)
    if failed is not None:
        raise _kept(failed, folder.final)
    if options.strict and timing is not None:
        refuse_unreliable(timing, profile, folder.final)
    refuse_unlike(before, options.baseline, folder.final)
    return ProfileResult(
        out_dir=folder.final,
        profile=reports.read.profile,
        diagnoses=reports.read.diagnosis,
        no_contract=reports.no_contract,
    )


def _kept(error: BaseException, folder: Path) -> BaseException:
    """The error that ended ncu, of the same kind: its exit code tells what failed."""
    if isinstance(error, MlaError):
        error.args = (f"{error}; timed, and kept without counters: {folder.as_posix()}",)
    return error


def _place(plan: KernelPlan, now: datetime) -> Path:
    """Where the command line would put it."""
    return artifacts.profile_folder(
        artifacts.PROFILES, MODE, folder_name(type(plan)), problem_folder(plan), timestamp(now)
    )


def _tool(gpu: Gpu, options: AnnotationOptions) -> Tool:
    """Where ncu is: known before anything is timed."""
    environment = dict(options.environment or worker_environment())
    step = options.on_step
    return Tool(
        ncu=find_ncu(environment),
        environment=environment,
        limit_s=options.limit_s,
        on_progress=(lambda done: step(f"ncu: {done.text}")) if step else None,
    )


def _timed(
    plan: KernelPlan,
    gpu: Gpu | None,
    folder: Path,
    bench_runs: int | None,
    options: AnnotationOptions,
) -> tuple[Timing | None, AnnotationRun]:
    """The event part. Stages on streams of their own are not timed as one."""
    runnable = plan.plan_empty()
    if isinstance(runnable, ConcurrentKernels) and runnable.streams > 1:
        why = f"its stages run on {runnable.streams} streams at the same time: one time of the "
        return None, AnnotationRun(no_event=f"{why}whole would hide how they overlap")
    if gpu is None:
        shorter = table("annotation")["cpu_settings"] | options.settings
        options = replace(options, settings=shorter)
    _step(options, "event: warm-up and samples")
    begin = time.monotonic()
    timing = options.time_plan(plan, gpu, folder, bench_runs, options)
    return timing, AnnotationRun(event_s=round(time.monotonic() - begin, 2))


def _step(options: AnnotationOptions, what: str) -> None:
    if options.on_step is not None:
        options.on_step(what)


def _complete(run: AnnotationRun, plan: KernelPlan, before: AcrossRuns | None) -> AnnotationRun:
    """The run with where each tiling came from, and what it is held against."""
    return msgspec.structs.replace(
        run,
        tilings={
            stage: tiling_source(plan, stage) for stage in plan.tilings() if stage in plan.TILINGS
        },
        before=before,
    )
