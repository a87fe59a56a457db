"""One run of `ncu --set full` on a plan's stages, and the record that is made of it."""

import dataclasses
from pathlib import Path

from mla_var3.analyse.predict import with_prediction
from mla_var3.analyse.timing import lock_remark
from mla_var3.core import artifacts
from mla_var3.core.ncu_facts import NcuFacts
from mla_var3.core.params import tiling_source
from mla_var3.core.record import Environment, Mode, Profile, Stage
from mla_var3.core.target import arch
from mla_var3.measure.clocks import driver_version, read_clocks
from mla_var3.measure.ncu_metrics import full_set
from mla_var3.measure.ncu_reader.table import chip_of
from mla_var3.measure.ncu_run import NcuRun, record_ranges
from mla_var3.measure.ncu_stages import PlanStages
from mla_var3.measure.range_limit import take_seen
from mla_var3.measure.timing_record import model_stages
from mla_var3.measure.worker import ERROR
from mla_var3.measure.worker_event import Compiled
from mla_var3.measure.worker_run import JOB
from mla_var3.measure.worker_spec import WorkerSpec, spec_for
from mla_var3.runtime.measuring import MeasureOptions, device_lock
from mla_var3.runtime.problem_files import identity
from mla_var3.runtime.profiling.event import not_as_planned, take_compiled, with_reason
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

MODE: Mode = "ncu"


def measure(job: Job, runs: int, folder: Path, options: MeasureOptions) -> tuple[Profile, NcuFacts]:
    """Run ncu; report, log and the compiler's artifacts stay in `folder`.

    Raises what the tool's faults stand for, and `NoUsableData` where no stage was seen.
    """
    clock = read_clocks(job.gpu.uuid)
    driver = driver_version(job.gpu.uuid)
    recorded, cut = _recorded(job, _spec(job, runs, folder, options), driver, folder, options)
    job = job.seen_by(recorded.profile.environment)
    compiled = take_compiled(folder)
    found = stages_seen(job, recorded, runs, cut)
    facts = NcuFacts(
        seconds=round(recorded.seconds, 2),
        passes=passes(found),
        launches=len(recorded.profile.stages) - found.strangers,
        runs=runs,
        cache=options.cache,
        tilings={stage: tiling_source(job.plan, stage) for stage in job.plan.TILINGS},
        cut=dict(found.cut),
        absent=_absent(job, compiled, folder),
    )
    told = Environment(
        device=job.gpu.name,
        compute_capability=job.gpu.capability,
        sm_count=job.target.sm_count,
        clock_max_hz=clock.max_sm_mhz * 1e6 if clock.max_sm_mhz else None,
        driver=driver,
        clocks_locked=clock.locked,
    )
    made = environment(recorded.profile.environment, job, told)
    return _profile(job, recorded, found, compiled, made, folder), facts


def _spec(job: Job, runs: int, folder: Path, options: MeasureOptions) -> WorkerSpec:
    return spec_for(
        job.plan,
        "ranges",
        f"cuda:{job.gpu.index}",
        folder,
        uuid=job.gpu.uuid,
        seed=options.seed,
        bench_runs=runs,
        compile_for=arch(job.gpu.capability),
        settings=range_settings(MODE),
    )


def _recorded(
    job: Job, spec: WorkerSpec, driver: str | None, folder: Path, options: MeasureOptions
) -> tuple[NcuRun, dict[str, str]]:
    """What ncu recorded, and the stages of which it did not see all."""
    metrics = full_set(chip_of(job.gpu.capability), job.dtypes)
    asked = ncu_job(job, spec, folder / artifacts.FULL_REPORT)
    runs = spec.bench_runs or 1
    asked = asked._replace(
        full=True,
        warm=options.cache == "warm",
        launches=runs * most_launches(len(asked.stages), MODE),
        expected=runs * len(job.kernels) if job.plan.LANGUAGE != "torch" else None,
    )
    tool = dataclasses.replace(job.tool, driver=driver or "")
    try:
        with device_lock(job.gpu, options):
            recorded = record_ranges(tool, asked, metrics)
    finally:
        (folder / JOB).unlink()  # it names directories of this machine
        (folder / ERROR).unlink(missing_ok=True)
        seen = take_seen(folder)
    return recorded, cut_stages(seen, recorded.profile.stages, asked.launches, MODE)


def _absent(job: Job, compiled: Compiled, folder: Path) -> dict[str, str]:
    """Why there is no PTX of a stage, by its name."""
    reasons = {}
    for kernel in job.kernels:
        if any((folder / artifacts.compiled_folder(kernel.name)).glob("*.ptx")):
            continue
        made = compiled.stages.get(kernel.name)
        told = [why for name, why in made.missing.items() if name.endswith(".ptx")] if made else []
        told += [compiled.reasons.get(kernel.name, ""), kernel.no_compile_reason]
        reasons[kernel.name] = next(filter(None, told), "the compiler gave none")
    return reasons


def _profile(
    job: Job,
    recorded: NcuRun,
    found: PlanStages,
    compiled: Compiled,
    made: Environment,
    folder: Path,
) -> Profile:
    """The record: each stage with ncu's figures, the plan's own work and its compiled code."""
    by_model = _by_model(job, compiled, folder)
    report = recorded.profile
    parts = (report.failure, cut_text(found), unseen_text(found))
    failure = "; ".join(part for part in parts if part)
    return Profile(
        mode="ncu",
        status="PARTIAL" if failure else "OK",
        stages=merged(found.stages, by_model),
        groups=merged(found.groups, by_model),
        environment=made,
        plan=identity(job.plan),
        source=report.source,
        created=job.now.isoformat(timespec="seconds"),
        failure=failure,
        tilings={name: tiling.as_dict() for name, tiling in job.plan.tilings().items()},
        warnings=(
            *not_as_planned(job.plan, compiled.launched),
            *remarks(report, found),
            *filter(None, (lock_remark(made.clocks_locked),)),
        ),
    )


def _by_model(job: Job, compiled: Compiled, folder: Path) -> dict[str, Stage]:
    """Each stage by its own work, the peaks, and its compiled code."""
    made = model_stages(job.plan, job.target, compiled.stages, folder)
    return {stage.name: with_prediction(with_reason(stage, compiled)) for stage in made}
