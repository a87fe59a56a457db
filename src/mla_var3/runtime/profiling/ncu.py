"""`--prof_type=ncu`: every section of Nsight Compute for each stage, with source and rules."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from mla_var3.core import artifacts
from mla_var3.core.errors import BadArgument, MachineCannot
from mla_var3.core.locate import folder_name, kernel_name, with_version
from mla_var3.core.ncu_facts import save_facts
from mla_var3.core.params import problem_folder
from mla_var3.core.plan import KernelPlan
from mla_var3.core.record_file import save_profile
from mla_var3.measure.gpus import Gpu
from mla_var3.measure.ncu_command import find_ncu
from mla_var3.measure.ncu_run import Tool
from mla_var3.measure.worker_run import worker_environment
from mla_var3.runtime.measuring import MeasureOptions, find_gpu, kept_on_failure, need_language
from mla_var3.runtime.ncu_reports import write_details
from mla_var3.runtime.on_device import plan_on, target_of_gpu
from mla_var3.runtime.problem_files import write_problem
from mla_var3.runtime.profiling import ncu_record
from mla_var3.runtime.profiling.ncu_ranges import Job, refuse_waiting
from mla_var3.runtime.reporting import write_reports
from mla_var3.runtime.result import ProfileResult
from mla_var3.runtime.store import new_folder, timestamp

MODE = "ncu"


@dataclass(frozen=True, kw_only=True)
class NcuOptions(MeasureOptions):
    """How a plan is profiled; what stands for the machine can be given."""

    gpu: Gpu | None = None
    """Instead of the device that would be found."""
    environment: Mapping[str, str] | None = None
    """Variables of ncu and its program; ncu is looked for on its PATH and below its CUDA_HOME."""
    on_step: Callable[[str], None] | None = None
    """Told what is being done, in words."""


OPTIONS = NcuOptions()


def ncu_profile_plan(
    plan: KernelPlan,
    out_dir: Path | str | None = None,
    version: str | None = None,
    bench_runs: int | None = None,
    options: NcuOptions = OPTIONS,
) -> ProfileResult:
    """Profile each stage of a plan with all that ncu can tell; `bench_runs` launches of each.

    More than one launch (the default) give the median and how far they lie apart. `version` takes
    the plan's class of that version. Stored below `out/profiles/ncu/` unless `out_dir` is given;
    the folder appears whole or not at all.
    """
    if bench_runs is not None and bench_runs < 1:
        raise BadArgument(f"--bench_runs={bench_runs}: must be at least 1")
    plan = with_version(plan, version)
    plan.validate()
    refuse_waiting(plan)
    gpu = options.gpu or find_gpu(plan, options.device)
    if gpu is None:
        raise MachineCannot(f"{kernel_name(type(plan))}: ncu profiles CUDA kernels; none runs here")
    plan = plan_on(plan, gpu)
    if options.gpu is None:
        need_language(plan)
    job = Job(plan, gpu, target_of_gpu(gpu), _tool(options), datetime.now(UTC))
    wanted = Path(out_dir) if out_dir else _place(job)
    with new_folder(wanted) as folder:
        work = folder.work
        with kept_on_failure(work, wanted, (artifacts.NCU_LOG, artifacts.FULL_REPORT)):
            _step(options, "ncu: inputs and warm-up")
            profile, facts = ncu_record.measure(job, bench_runs or 1, work, options)
            write_problem(
                plan.for_sms(profile.environment.sm_count),
                {"device": profile.environment.device, "seed": options.seed},
                work,
            )
            save_facts(facts, work / artifacts.NCU_FACTS)
            _step(options, "report: sections, source, machine code")
            save_profile(write_details(profile, work), work)
            reports = write_reports(work)
    return ProfileResult(
        out_dir=folder.final,
        profile=reports.read.profile,
        diagnoses=reports.read.diagnosis,
        no_contract=reports.no_contract,
    )


def _place(job: Job) -> Path:
    """Where the command line would put it."""
    name, problem = folder_name(type(job.plan)), problem_folder(job.plan)
    return artifacts.profile_folder(artifacts.PROFILES, MODE, name, problem, timestamp(job.now))


def _tool(options: NcuOptions) -> Tool:
    """Where ncu is, known before anything runs, and whom its progress is told."""
    environment = dict(options.environment or worker_environment())
    step = options.on_step
    return Tool(
        ncu=find_ncu(environment),
        environment=environment,
        limit_s=options.limit_s,
        on_progress=(lambda done: step(f"ncu: {done.text}")) if step else None,
    )


def _step(options: NcuOptions, what: str) -> None:
    if options.on_step is not None:
        options.on_step(what)
