"""The task `timeline`: what a collector of spans shall see of a plan, inside ranges of our own.

Outermost ranges, in this order: `warm-up`; `solo`, where each stage runs alone and is waited for;
one `iteration` for each call of the whole plan, queued without waiting. A range a stage lies around
its launches. Under nsys the ranges are NVTX; torch's profiler runs in here and leaves `spans.json`.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from mla_var3 import conf
from mla_var3.core import artifacts
from mla_var3.core.errors import BadArgument, MlaError, NoUsableData
from mla_var3.core.timeline import ITERATION, SOLO, WARM_UP, Timeline, save_timeline
from mla_var3.measure.events import failure
from mla_var3.measure.kineto_reader import read_kineto
from mla_var3.measure.launch import Around, enqueue, launch_in_order, launch_stage
from mla_var3.measure.worker_event import compile_stages
from mla_var3.measure.worker_prepare import Prepared, prepare
from mla_var3.measure.worker_spec import WorkerSpec

EMPTY = "recorded no operation, twice"


class Calls(NamedTuple):
    """What is run inside the ranges, and how often."""

    prepared: Prepared
    around: Around
    on_gpu: bool
    iterations: int


def run_timeline(spec: WorkerSpec) -> None:
    """Run the plan inside its ranges, `bench_runs` times; then compile for the record."""
    on_gpu = spec.device.startswith("cuda")
    if not on_gpu and spec.collector == "nsys":
        raise BadArgument("nsys records CUDA: on a CPU the collector is kineto")
    prepared = prepare(spec)
    iterations = spec.bench_runs or runs("iterations")
    if spec.collector == "nsys":
        run_calls(Calls(prepared, _nvtx_range, on_gpu, iterations))
    else:
        _under_kineto(Calls(prepared, _record_function, on_gpu, iterations), Path(spec.out_dir))
    compile_stages(spec, prepared, Path(spec.out_dir))


def runs(name: str) -> int:
    """A number of runs by its name in conf/nsys.json."""
    return int(conf.table("nsys")["runs"][name]["value"])


def run_calls(calls: Calls) -> None:
    """Warm up, each stage alone, then the whole plan."""
    wait = _wait if calls.on_gpu else _no_wait
    with calls.around(WARM_UP):
        for _ in range(runs("warm_up_calls")):
            _call(calls, None)
        wait()
    with calls.around(SOLO):
        for _ in range(runs("solo_runs")):
            for kernel in calls.prepared.stages:
                with calls.around(kernel.name):
                    launch_stage(kernel)
                wait()
    for _ in range(calls.iterations):
        with calls.around(ITERATION):
            _call(calls, calls.around)
    wait()


def _call(calls: Calls, around: Around | None) -> None:
    """The whole plan once; on a CPU also concurrent stages come one after the other."""
    launch = enqueue if calls.on_gpu else launch_in_order
    if around is None:
        launch(calls.prepared.runnable)
    else:
        launch(calls.prepared.runnable, around)


def _under_kineto(calls: Calls, folder: Path) -> None:
    """Record with torch's profiler; a first session that stays empty is tried once more."""
    import torch

    tool = f"torch {torch.__version__}"
    for _ in range(2):
        trace = folder / artifacts.KINETO_TRACE
        _profiled(lambda: run_calls(calls), calls.on_gpu, trace)
        timeline = read_kineto(trace.read_bytes(), tool, calls.on_gpu)
        if timeline.operations:
            save_timeline(timeline, folder / artifacts.SPANS)
            return
    raise NoUsableData(_empty(timeline))


def _empty(timeline: Timeline) -> str:
    seen = f"{len(timeline.calls)} CUDA calls and {len(timeline.ranges)} ranges"
    return (
        f"torch's profiler {EMPTY} (it saw {seen}): another profiler may hold CUPTI, or this "
        "driver gives no trace; --collector=nsys records from outside"
    )


def _profiled(run: Callable[[], None], on_gpu: bool, trace: Path) -> None:
    from torch.profiler import ProfilerActivity, profile

    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu else [])]
    try:
        with profile(activities=activities) as recorded:
            run()
        recorded.export_chrome_trace(str(trace))
    except MlaError:
        raise
    except RuntimeError as error:
        if "CUDA" in str(error):
            raise failure(error) from error
        first = (str(error).strip().splitlines() or [""])[0]
        raise MlaError(f"torch's profiler failed: {first}") from error


@contextmanager
def _nvtx_range(name: str) -> Iterator[None]:
    import torch

    torch.cuda.nvtx.range_push(name)
    try:
        yield
    finally:
        torch.cuda.nvtx.range_pop()


def _record_function(name: str) -> AbstractContextManager[Any]:
    from torch.profiler import record_function

    opened: AbstractContextManager[Any] = record_function(name)
    return opened


def _wait() -> None:
    import torch

    try:
        torch.cuda.synchronize()
    except RuntimeError as error:
        raise failure(error) from error


def _no_wait() -> None:
    """A CPU has done its work when the call returns."""
