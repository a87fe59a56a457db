"""The task `ranges`: launches of each stage inside an NVTX range of its name, for a profiler."""

from contextlib import nullcontext
from pathlib import Path

from mla_var3.core.errors import BadArgument, KernelFailed
from mla_var3.core.plan import Kernel
from mla_var3.measure.events import failure
from mla_var3.measure.launch import launch_stage
from mla_var3.measure.range_limit import (
    Counter,
    RangeLimit,
    RangeSeen,
    limit_of,
    operators_counted,
    save_seen,
)
from mla_var3.measure.worker_event import compile_stages
from mla_var3.measure.worker_prepare import Prepared, prepare
from mla_var3.measure.worker_spec import WorkerSpec

WARM_UP_CALLS = 3
NO_LIMIT = RangeLimit()


def run_ranges(spec: WorkerSpec) -> None:
    """Warm up outside any range, then `bench_runs` launches (default 1) of each stage inside one.

    Stages run one after the other on one stream, also those that the plan runs at the same time.
    A job with limits (`range_limit`) is told afterwards what lay inside each range; one with
    `compile_for` gets the stages' compiled artifacts.
    """
    if not spec.device.startswith("cuda"):
        raise BadArgument("ranges need a CUDA device")
    prepared = prepare(spec)
    import torch

    try:
        for _ in range(WARM_UP_CALLS):
            prepared.run()
        torch.cuda.synchronize()
        limit = limit_of(spec.settings)
        seen: dict[str, RangeSeen] = {}
        for kernel in prepared.stages:
            if limit.is_over:
                seen[kernel.name] = RangeSeen(cut="seconds")
                continue
            seen[kernel.name] = _range(kernel, spec.bench_runs or 1, limit)
            torch.cuda.synchronize()
    except KernelFailed:
        raise
    except RuntimeError as error:
        raise failure(error) from error
    if limit != NO_LIMIT:
        save_seen(seen, Path(spec.out_dir))
    _print_stages(prepared)
    if spec.compile_for:
        compile_stages(spec, prepared, Path(spec.out_dir))


def _range(kernel: Kernel, launches: int, limit: RangeLimit) -> RangeSeen:
    """One range: the profiler's filter finds the launches between push and pop."""
    import torch

    counter = Counter(limit, torch.cuda.nvtx.range_pop)
    torch.cuda.nvtx.range_push(kernel.name)
    try:
        with operators_counted(counter) if limit != NO_LIMIT else nullcontext():
            for _ in range(launches):
                launch_stage(kernel)
    finally:
        if not counter.seen.cut:
            torch.cuda.nvtx.range_pop()
    return counter.seen


def _print_stages(prepared: Prepared) -> None:
    """For the log: what a filter could have matched."""
    print("stages:", ", ".join(kernel.name for kernel in prepared.stages))
