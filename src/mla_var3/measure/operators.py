"""The task `operators`: where the time of a plan goes on a CPU, by torch's own operators."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mla_var3.core import artifacts
from mla_var3.core.errors import BadArgument, MlaError
from mla_var3.core.operators import Operator, OperatorTable, StageOperators, save_operators
from mla_var3.core.plan import Kernel
from mla_var3.measure.cpu_peaks import cpu_peaks
from mla_var3.measure.launch import launch_stage
from mla_var3.measure.worker_prepare import Prepared, prepare
from mla_var3.measure.worker_spec import WorkerSpec

WARM_UP_CALLS = 3
LEAST_RUNS, MOST_RUNS = 5, 200
TIMED_S, PROFILED_S = 0.5, 0.5
MOST_OPERATORS = 30


def run_operators(spec: WorkerSpec) -> None:
    """Time each stage without the profiler, then run it under it, and save `operators.json`."""
    if spec.device.startswith("cuda"):
        raise BadArgument("the table of operators is of a CPU; a GPU has ncu")
    prepared = prepare(spec)
    for _ in range(WARM_UP_CALLS):
        for kernel in prepared.stages:
            launch_stage(kernel)
    stages = tuple(_stage(kernel) for kernel in prepared.stages)
    table = OperatorTable(working_set_bytes=working_set(prepared), peaks=cpu_peaks(), stages=stages)
    save_operators(table, Path(spec.out_dir) / artifacts.OPERATORS)


def working_set(prepared: Prepared) -> int:
    """Bytes of the plan's inputs and outputs, each memory counted once."""
    tensors = [*prepared.inputs, *(out for kernel in prepared.stages for out in kernel.outputs)]
    storages = {
        storage.data_ptr(): storage.nbytes()
        for tensor in tensors
        if hasattr(tensor, "untyped_storage") and (storage := tensor.untyped_storage())
    }
    return sum(storages.values())


def operators_of(events: Any, runs: int) -> tuple[Operator, ...]:
    """The rows of `profile.key_averages()` for one run, by their own time, longest first."""
    found = [
        Operator(
            name=str(event.key),
            calls=event.count / runs,
            self_ns=1e3 * float(event.self_cpu_time_total) / runs,
            flops=float(event.flops or 0) / runs,
        )
        for event in events
        if event.self_cpu_time_total > 0 and not str(event.key).startswith("ProfilerStep")
    ]
    ranked = sorted(found, key=lambda operator: -operator.self_ns)
    kept, rest = ranked[:MOST_OPERATORS], ranked[MOST_OPERATORS:]
    if not rest:
        return tuple(kept)
    others = Operator(
        name=f"others ({len(rest)})",
        calls=sum(operator.calls for operator in rest),
        self_ns=sum(operator.self_ns for operator in rest),
        flops=sum(operator.flops for operator in rest),
    )
    return (*kept, others)


def _stage(kernel: Kernel) -> StageOperators:
    samples = _samples(lambda: launch_stage(kernel), TIMED_S)
    runs = max(1, min(MOST_RUNS, round(PROFILED_S * 1e9 / (sum(samples) / len(samples)))))
    return StageOperators(
        stage=kernel.name,
        samples_ns=samples,
        profiled_runs=runs,
        operators=_profiled(kernel, runs),
    )


def _samples(run: Callable[[], None], seconds: float) -> tuple[float, ...]:
    """Times of single runs, one after the other, for some seconds and at least a few."""
    samples: list[float] = []
    end = time.perf_counter() + seconds
    while len(samples) < LEAST_RUNS or (time.perf_counter() < end and len(samples) < MOST_RUNS):
        begin = time.perf_counter_ns()
        run()
        samples.append(float(time.perf_counter_ns() - begin))
    return tuple(samples)


def _profiled(kernel: Kernel, runs: int) -> tuple[Operator, ...]:
    from torch.profiler import ProfilerActivity, profile

    try:
        with profile(activities=[ProfilerActivity.CPU], with_flops=True) as recorded:
            for _ in range(runs):
                launch_stage(kernel)
    except MlaError:
        raise
    except RuntimeError as error:
        first = (str(error).strip().splitlines() or [""])[0]
        raise MlaError(f"torch's profiler failed: {first}") from error
    return operators_of(recorded.key_averages(), runs)
