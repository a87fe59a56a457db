"""The part of annotation mode on a CPU: torch's operators, and this CPU's own rates as roofs."""

import time
from datetime import datetime
from pathlib import Path

import msgspec

from mla_var3 import __version__
from mla_var3.analyse.cpu_roofline import with_operators
from mla_var3.analyse.predict import with_prediction
from mla_var3.core import artifacts
from mla_var3.core.annotation import AnnotationRun
from mla_var3.core.operators import CpuPeaks, OperatorTable, load_operators
from mla_var3.core.plan import KernelPlan
from mla_var3.core.record import Environment, Metric, Profile, Stage
from mla_var3.core.target import Target
from mla_var3.core.timing import Timing
from mla_var3.measure.timing_record import model_stages
from mla_var3.measure.worker_run import run_worker
from mla_var3.measure.worker_spec import spec_for
from mla_var3.runtime.measuring import MeasureOptions, device_lock
from mla_var3.runtime.problem_files import identity
from mla_var3.runtime.profiling.event import event_profile


def measure(
    plan: KernelPlan,
    timing: Timing | None,
    run: AnnotationRun,
    folder: Path,
    options: MeasureOptions,
    now: datetime,
) -> tuple[Profile, AnnotationRun]:
    """Run torch's profiler in a child and make the record of both parts."""
    begin = time.monotonic()
    spec = spec_for(plan, "operators", "cpu", folder, seed=options.seed)
    with device_lock(None, options):
        run_worker(spec, options.limit_s)
    seconds = round(time.monotonic() - begin, 2)
    found = load_operators(folder / artifacts.OPERATORS)
    if timing is None:
        profile = _untimed(plan, found, now)
    else:
        timed = event_profile(plan, _with_peaks(timing, found.peaks), folder, now)
        profile = msgspec.structs.replace(
            timed, mode="annotation", stages=_stages(timed.stages, found)
        )
    return profile, msgspec.structs.replace(run, operators_s=seconds)


def _with_peaks(timing: Timing, peaks: CpuPeaks) -> Timing:
    """The timing with the kept rates as peaks, so that all of a record is held against one."""
    rates = {"matmul_fp32_tflops": peaks.best_tflops[1], "dram_gbps": peaks.dram_gbps}
    machine = msgspec.structs.replace(timing.machine, peaks=rates)
    return msgspec.structs.replace(timing, machine=machine)


def _stages(stages: tuple[Stage, ...], found: OperatorTable) -> tuple[Stage, ...]:
    return tuple(with_operators(with_prediction(stage), found) for stage in stages)


def _untimed(plan: KernelPlan, found: OperatorTable, now: datetime) -> Profile:
    """The record of a plan that was not timed end to end."""
    made = model_stages(plan, Target("cpu", "", None))
    stages = tuple(_rated(stage, found.peaks) for stage in made)
    return Profile(
        mode="annotation",
        status="OK",
        stages=_stages(stages, found),
        environment=Environment(device=found.peaks.cpu, capture_tool=f"mla_var3 {__version__}"),
        plan=identity(plan),
        created=now.isoformat(timespec="seconds"),
        tilings={name: tiling.as_dict() for name, tiling in plan.tilings().items()},
    )


def _rated(stage: Stage, peaks: CpuPeaks) -> Stage:
    """The stage with this CPU's rates as its peaks."""
    dtype, tflops = peaks.best_tflops
    rates = {
        "peak_tflops": Metric(tflops, "TFLOP/s", "event", f"{dtype} matmul on this CPU"),
        "peak_gbps": Metric(peaks.dram_gbps, "GB/s", "event", "copy and read on this CPU"),
    }
    missing = {key: why for key, why in stage.missing.items() if key not in rates}
    return msgspec.structs.replace(stage, metrics=stage.metrics | rates, missing=missing)
