"""The task `ranges`: launches of each stage inside an NVTX range of its name, for a profiler."""

from mla_var3.core.errors import BadArgument, KernelFailed
from mla_var3.core.plan import Kernel
from mla_var3.measure.events import failure
from mla_var3.measure.launch import launch_stage
from mla_var3.measure.worker_prepare import Prepared, prepare
from mla_var3.measure.worker_spec import WorkerSpec

WARM_UP_CALLS = 3


def run_ranges(spec: WorkerSpec) -> None:
    """Warm up outside any range, then `bench_runs` launches (default 1) of each stage inside one.

    Stages run one after the other on one stream, also those that the plan runs at the same time.
    """
    if not spec.device.startswith("cuda"):
        raise BadArgument("ranges need a CUDA device")
    prepared = prepare(spec)
    import torch

    try:
        for _ in range(WARM_UP_CALLS):
            prepared.run()
        torch.cuda.synchronize()
        for kernel in prepared.stages:
            _range(kernel, spec.bench_runs or 1)
            torch.cuda.synchronize()
    except KernelFailed:
        raise
    except RuntimeError as error:
        raise failure(error) from error
    _print_stages(prepared)


def _range(kernel: Kernel, launches: int) -> None:
    """One range: the profiler's filter finds the launches between push and pop."""
    import torch

    torch.cuda.nvtx.range_push(kernel.name)
    try:
        for _ in range(launches):
            launch_stage(kernel)
    finally:
        torch.cuda.nvtx.range_pop()


def _print_stages(prepared: Prepared) -> None:
    """For the log: what a filter could have matched."""
    print("stages:", ", ".join(kernel.name for kernel in prepared.stages))
