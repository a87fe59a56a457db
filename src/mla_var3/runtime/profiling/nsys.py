"""`--prof_type=nsys`: what ran when, on which stream, and what overlapped.

The collector is nsys on CUDA and torch's own profiler (kineto) on a CPU; `collector` says another
one, and none is put in another's place silently.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from mla_var3.core import artifacts
from mla_var3.core.errors import BadArgument, MachineCannot
from mla_var3.core.locate import folder_name, with_version
from mla_var3.core.params import problem_folder
from mla_var3.core.plan import KernelPlan
from mla_var3.core.record_file import save_profile
from mla_var3.core.timeline import Collector, save_timeline
from mla_var3.measure.gpus import Gpu
from mla_var3.measure.nsys_command import find_nsys
from mla_var3.measure.worker_run import worker_environment
from mla_var3.runtime.measuring import MeasureOptions, find_gpu, kept_on_failure, need_language
from mla_var3.runtime.on_device import plan_on
from mla_var3.runtime.problem_files import write_problem
from mla_var3.runtime.profiling.nsys_collect import FILES, RAW_FILES, Collection, collect, tidy
from mla_var3.runtime.profiling.nsys_profile import plan_timeline, timeline_profile
from mla_var3.runtime.reporting import write_reports
from mla_var3.runtime.result import ProfileResult
from mla_var3.runtime.store import new_folder, timestamp

MODE = "nsys"


@dataclass(frozen=True, kw_only=True)
class NsysOptions(MeasureOptions):
    """How the timeline of a plan is recorded; what stands for the machine can be given."""

    collector: Collector | None = None
    """None: nsys on CUDA, kineto on a CPU."""
    keep_raw: bool = False
    """Keep what the collector wrote: it holds the environment, or the host's name and paths."""
    gpu: Gpu | None = None
    """Instead of the device that would be found."""
    environment: Mapping[str, str] | None = None
    """Variables of nsys and its program; nsys is looked for by its PATH and CUDA_HOME."""
    on_step: Callable[[str], None] | None = None
    """Told what is being done, in words."""


OPTIONS = NsysOptions()


def nsys_profile_plan(
    plan: KernelPlan,
    out_dir: Path | str | None = None,
    version: str | None = None,
    bench_runs: int | None = None,
    options: NsysOptions = OPTIONS,
) -> ProfileResult:
    """Record the timeline of `bench_runs` calls of a plan, after each stage alone.

    `version` takes the plan's class of that version. Stored below `out/profiles/nsys/` unless
    `out_dir` is given; the folder appears whole or not at all.
    """
    if bench_runs is not None and bench_runs < 1:
        raise BadArgument(f"--bench_runs={bench_runs}: must be at least 1")
    plan = with_version(plan, version)
    plan.validate()
    gpu = options.gpu or find_gpu(plan, options.device)
    plan = plan_on(plan, gpu)
    if options.gpu is None:
        need_language(plan)
    collector = chosen_collector(options.collector, gpu)
    environment = dict(options.environment or worker_environment())
    job = Collection(
        plan=plan,
        gpu=gpu,
        collector=collector,
        bench_runs=bench_runs,
        environment=environment,
        nsys=find_nsys(environment) if collector == "nsys" else None,
        on_step=options.on_step or (lambda what: None),
    )
    now = datetime.now(UTC)
    wanted = Path(out_dir) if out_dir else _place(plan, now)
    with new_folder(wanted) as folder:
        work = folder.work
        with kept_on_failure(work, wanted, (*FILES, *(RAW_FILES if options.keep_raw else ()))):
            seen = collect(job, work, options)
            seen = seen.with_plan(plan_timeline(plan, on_gpu=gpu is not None))
            save_timeline(seen.timeline, work / artifacts.SPANS)
            profile = timeline_profile(job, seen, work, now)
        kept = tidy(work, keep_raw=options.keep_raw)
        save_profile(kept.noted(profile), work)
        where = {"device": profile.environment.device, "seed": options.seed}
        write_problem(plan.for_sms(profile.environment.sm_count), where, work)
        reports = write_reports(work)
    return ProfileResult(
        out_dir=folder.final,
        profile=reports.read.profile,
        diagnoses=reports.read.diagnosis,
        no_contract=reports.no_contract,
    )


def chosen_collector(typed: Collector | None, gpu: Gpu | None) -> Collector:
    """Raises `MachineCannot` where nsys was asked for and no GPU is there to be recorded."""
    if typed == "nsys" and gpu is None:
        raise MachineCannot(
            "nsys records what a CUDA GPU does, and this would run on the CPU: "
            "--collector=kineto records its operators"
        )
    return typed or ("nsys" if gpu else "kineto")


def _place(plan: KernelPlan, now: datetime) -> Path:
    """Where the command line would put it."""
    return artifacts.profile_folder(
        artifacts.PROFILES, MODE, folder_name(type(plan)), problem_folder(plan), timestamp(now)
    )
