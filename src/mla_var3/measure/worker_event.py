"""The task `event`: times a plan end to end and writes every sample to `timing.json`."""

import sys
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from mla_var3.core import artifacts, stats
from mla_var3.core.errors import MlaError
from mla_var3.core.plan import CompiledStage
from mla_var3.core.regime import figures_of
from mla_var3.core.timing import (
    CacheState,
    Floor,
    Machine,
    Series,
    Timing,
    cache_state,
    save_timing,
)
from mla_var3.measure import timing
from mla_var3.measure.burst import burst_series
from mla_var3.measure.clocks import driver_version, power_limit_w
from mla_var3.measure.events import EventTimer
from mla_var3.measure.kernel_count import KernelCount, count_kernels
from mla_var3.measure.monitor_cost import monitor_cost
from mla_var3.measure.static import compile_stage
from mla_var3.measure.timing_cpu import (
    CpuLoad,
    CpuTimer,
    cpu_name,
    last_level_cache_bytes,
    measured_peaks,
)
from mla_var3.measure.worker_looks import Looks, look_at, rebased
from mla_var3.measure.worker_prepare import Prepared, check_outputs, poison_outputs, prepare
from mla_var3.measure.worker_spec import WorkerSpec

RESULT = "worker.json"


class Compiled(msgspec.Struct, frozen=True):
    """Beside `timing.json`: what was launched, and what the compiler gave for each stage, or why
    there is nothing.
    """

    stages: dict[str, CompiledStage] = {}
    reasons: dict[str, str] = {}
    launched: dict[str, tuple[int, ...]] = {}
    """The grid of every stage that ran, as `plan` made it for this very device."""


class Queueing(NamedTuple):
    """How calls get to the device, in words, and the host's time for one."""

    words: str
    host_ns: float | None


class Run(NamedTuple):
    """What the timed part gave."""

    floor: Floor
    series: Series
    retried: bool
    more: tuple[Series, ...]
    burst: Series | None


class Job(NamedTuple):
    """A plan that is ready to be timed, and with what."""

    spec: WorkerSpec
    chosen: dict[str, float]
    timer: EventTimer | CpuTimer
    looks: Looks
    cache: CacheState
    """What its state may truly be called."""


def measure(spec: WorkerSpec) -> None:
    """Warm up, poison, time, check what was written, count, and save; then compile."""
    chosen = timing.settings(spec.device, spec.settings)
    prepared = prepare(spec)
    machine = machine_of(spec)
    flush_bytes = int(chosen["flush_caches"] * machine.flush_cache_bytes)
    job = _job(spec, prepared, chosen, machine, flush_bytes)
    load = CpuLoad()
    origin = job.timer.now()
    warm = timing.warm_up(job.timer, chosen)
    call_ns = warm.window_ns[-1] if warm.window_ns else warm.busy_ns
    queueing = _queue(job.timer, chosen, call_ns)
    poisoned = poison_outputs(prepared)
    done = _timed(job, call_ns, origin)
    crowd = _crowd(job.timer, chosen, load)
    if job.looks.monitor is not None:
        job.looks.monitor.stop()
    seen = job.looks.found(origin)
    doubts = check_outputs(prepared, poisoned)
    counted = _count(prepared, job.timer)
    result = Timing(
        machine=machine,
        seed=spec.seed,
        power_limit_w=power_limit_w(spec.uuid),
        timer=job.timer.name,
        queueing=queueing.words,
        flush=flush_words(flush_bytes),
        settings=chosen,
        warm_up=warm,
        floor=done.floor,
        series=done.series,
        more=done.more,
        burst=done.burst,
        kernels=counted.kernels,
        monitor=seen,
        host_ns=queueing.host_ns,
        retried=done.retried,
        clock=job.looks.clock(done.series, seen),
        warnings=crowd + doubts,
        missing=job.looks.missing()
        | ({"kernel count": counted.missing} if counted.missing else {}),
    )
    folder = Path(spec.out_dir)
    save_timing(result, folder / artifacts.TIMING)
    compile_stages(spec, prepared, folder)


def _job(
    spec: WorkerSpec,
    prepared: Prepared,
    chosen: dict[str, float],
    machine: Machine,
    flush_bytes: int,
) -> Job:
    cache = cache_state(spec.cache, flush_bytes, machine.flush_cache_bytes)
    if not spec.device.startswith("cuda"):
        return Job(spec, chosen, CpuTimer(prepared.run, flush_bytes), Looks(), cache)
    import torch

    looks = look_at(spec.uuid, machine.sm_count, chosen)
    return Job(
        spec, chosen, EventTimer(prepared.run, flush_bytes, torch, looks.cycles), looks, cache
    )


def _queue(timer: EventTimer | CpuTimer, chosen: dict[str, float], call_ns: float) -> Queueing:
    """Hold the stream before each sample where the host may be the slower side."""
    if isinstance(timer, CpuTimer):
        return Queueing("one call after the other on this thread", None)
    host_ns = timer.host_ns()
    if not timing.needs_hold(call_ns, host_ns, chosen):
        return Queueing("one call a sample; the flush gives the host time to queue it", host_ns)
    hold = timing.hold_ns(host_ns, chosen)
    if timer.counts_cycles:
        hold += chosen["hold_stamp_ns"]
    timer.hold(hold)
    words = f"a spin kernel of {hold / 1e3:.0f} µs holds the stream before each sample"
    return Queueing(words, host_ns)


def _timed(job: Job, call_ns: float, origin_ns: float) -> Run:
    """The floor, the series with a look at the clocks, and what is taken beside it."""
    chosen, timer = job.chosen, job.timer
    floor = timing.measure_floor(timer, chosen)
    request = timing.Request(job.spec.bench_runs, job.spec.cache, call_ns)
    before = job.looks.counters()
    if job.spec.regime == "burst":
        if job.looks.watch is not None:
            job.looks.watch.start()
        series, retried = burst_series(timer, chosen, request), False
    else:
        series, retried = timing.take_series(timer, chosen, request, job.looks.watch)
    held = job.looks.held_since(before)
    series = replace(series, held=held, windows_ns=rebased(series, origin_ns))
    burst = _burst(job, series, request, origin_ns)
    short = stats.median(series.samples_ns) < chosen["short_ns"]
    others: tuple[CacheState, ...] = ("cold", "cold, written only", "warm")
    more = tuple(
        timing.short_series(timer, int(chosen["more_samples"]), cache)
        for cache in others
        if short and cache != series.cache
    )
    if job.looks.monitor is not None:
        cost = monitor_cost(timer, job.looks.monitor, chosen, job.spec.cache, call_ns)
        if cost is not None:
            job.looks.monitor.costs(cost)
    return Run(
        floor,
        replace(series, cache=job.cache),
        retried,
        more if job.cache == job.spec.cache else (),
        replace(burst, cache=job.cache) if burst else None,
    )


def _burst(job: Job, series: Series, request: timing.Request, origin_ns: float) -> Series | None:
    """A second of bursts, where the power cap held a sustained run back."""
    if series.regime == "burst" or job.looks.monitor is None:
        return None
    cap = figures_of(series, job.looks.found(origin_ns)).cap_pct
    if cap is None or cap <= job.chosen["cap_pct"]:
        return None
    shorter = job.chosen | {"limit_s": job.chosen["burst_s"]}
    before = job.looks.counters()
    burst = burst_series(job.timer, shorter, request._replace(bench_runs=None))
    held = job.looks.held_since(before)
    return replace(burst, held=held, windows_ns=rebased(burst, origin_ns))


def _count(prepared: Prepared, timer: EventTimer | CpuTimer) -> KernelCount:
    if isinstance(timer, CpuTimer):
        return KernelCount({}, "a CPU launches no kernels")
    return count_kernels(lambda: timer.once())


def _crowd(
    timer: EventTimer | CpuTimer, chosen: dict[str, float], load: CpuLoad
) -> tuple[str, ...]:
    """A doubt where other processes used the CPU that was timed."""
    others = load.others_pct() if isinstance(timer, CpuTimer) else None
    if others is None or others <= chosen["shared_pct"]:
        return ()
    return (f"shared CPU: others used {others:.0f} % of its cores, so times may be too long",)


def machine_of(spec: WorkerSpec, with_peaks: bool = True) -> Machine:
    """The device as torch and the driver name it; of a CPU its measured rates too."""
    import torch

    versions = {"python": sys.version.split()[0], "torch": str(torch.__version__)}
    if not spec.device.startswith("cuda"):
        cache = last_level_cache_bytes()
        return Machine(
            device=cpu_name(),
            flush_cache_bytes=cache,
            threads=torch.get_num_threads(),
            versions=versions,
            peaks=measured_peaks(cache) if with_peaks else {},
        )
    properties = torch.cuda.get_device_properties(torch.cuda.current_device())
    if torch.version.cuda:
        versions["cuda"] = str(torch.version.cuda)
    return Machine(
        device=properties.name,
        capability=f"{properties.major}.{properties.minor}",
        sm_count=properties.multi_processor_count,
        flush_cache_bytes=int(getattr(properties, "L2_cache_size", 0)) or 64 << 20,
        driver=driver_version(spec.uuid),
        versions=versions,
    )


def compile_stages(spec: WorkerSpec, prepared: Prepared, folder: Path) -> None:
    """Artifacts of each stage; where there are none the reason, and the timing stands."""
    stages: dict[str, CompiledStage] = {}
    reasons: dict[str, str] = {}
    for kernel in prepared.stages:
        if not spec.compile_for:
            reasons[kernel.name] = kernel.no_compile_reason or "nothing is compiled for a CPU"
            continue
        try:
            place = folder / artifacts.compiled_folder(kernel.name)
            found = compile_stage(kernel, place, spec.compile_for)
        except MlaError as error:
            reasons[kernel.name] = str(error)
            continue
        if found is None:
            reasons[kernel.name] = kernel.no_compile_reason or "this language compiles nothing"
        else:
            stages[kernel.name] = found
    launched = {kernel.name: kernel.grid for kernel in prepared.stages}
    (folder / RESULT).write_bytes(msgspec.json.encode(Compiled(stages, reasons, launched)))


def flush_words(flush_bytes: int) -> str:
    """What is done before each cold sample."""
    size = f"{flush_bytes / 1e6:.0f} MB"
    return f"{size} written, then {size} of a second buffer read, before each sample"
