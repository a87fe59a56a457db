"""The task `event`: times a plan end to end and writes every sample to `timing.json`."""

import sys
from pathlib import Path
from typing import NamedTuple

import msgspec

from mla_var3.core import artifacts, stats
from mla_var3.core.errors import MlaError
from mla_var3.core.plan import CompiledStage
from mla_var3.core.timing import (
    LATER,
    CacheState,
    Clock,
    Floor,
    Machine,
    Series,
    Timing,
    save_timing,
)
from mla_var3.measure import timing
from mla_var3.measure.clocks import ClockWatch, driver_version, read_clocks
from mla_var3.measure.events import EventTimer
from mla_var3.measure.static import compile_stage
from mla_var3.measure.timing_cpu import (
    CpuLoad,
    CpuTimer,
    cpu_name,
    last_level_cache_bytes,
    measured_peaks,
)
from mla_var3.measure.worker_prepare import Prepared, check_outputs, poison_outputs, prepare
from mla_var3.measure.worker_spec import WorkerSpec

RESULT = "worker.json"
NOT_YET = {
    "burst regime": LATER,
    "confidence interval by blocks": LATER,
    "monitor of clocks and power": LATER,
    "kernel count": LATER,
}


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
    clock: Clock | None


def measure(spec: WorkerSpec) -> None:
    """Warm up, poison, time, check what was written, and save; then compile for the record."""
    chosen = timing.settings(spec.device, spec.settings)
    prepared = prepare(spec)
    machine = machine_of(spec)
    flush_bytes = int(chosen["flush_caches"] * machine.flush_cache_bytes)
    timer: EventTimer | CpuTimer
    if spec.device.startswith("cuda"):
        timer = _event_timer(prepared, flush_bytes)
    else:
        timer = CpuTimer(prepared.run, flush_bytes)
    load = CpuLoad()
    warm = timing.warm_up(timer, chosen)
    call_ns = warm.window_ns[-1] if warm.window_ns else warm.busy_ns
    queueing = _queue(timer, chosen, call_ns)
    poisoned = poison_outputs(prepared)
    done = _timed(timer, chosen, spec, call_ns)
    crowd = _crowd(timer, chosen, load)
    doubts = check_outputs(prepared, poisoned)
    missing = dict(NOT_YET)
    if done.clock is None:
        missing["clock"] = "the clock of a CPU is not read"
    result = Timing(
        machine=machine,
        seed=spec.seed,
        timer=timer.name,
        queueing=queueing.words,
        flush=flush_words(flush_bytes),
        settings=chosen,
        warm_up=warm,
        floor=done.floor,
        series=done.series,
        more=done.more,
        host_ns=queueing.host_ns,
        retried=done.retried,
        clock=done.clock,
        warnings=crowd + doubts,
        missing=missing,
    )
    folder = Path(spec.out_dir)
    save_timing(result, folder / artifacts.TIMING)
    compile_stages(spec, prepared, folder)


def _queue(timer: EventTimer | CpuTimer, chosen: dict[str, float], call_ns: float) -> Queueing:
    """Hold the stream before each sample where the host may be the slower side."""
    if isinstance(timer, CpuTimer):
        return Queueing("one call after the other on this thread", None)
    host_ns = timer.host_ns()
    if not timing.needs_hold(call_ns, host_ns, chosen):
        return Queueing("one call a sample; the flush gives the host time to queue it", host_ns)
    hold = timing.hold_ns(host_ns, chosen)
    timer.hold(hold)
    words = f"a spin kernel of {hold / 1e3:.0f} µs holds the stream before each sample"
    return Queueing(words, host_ns)


def _timed(
    timer: EventTimer | CpuTimer, chosen: dict[str, float], spec: WorkerSpec, call_ns: float
) -> Run:
    """The floor, the series with a look at the clocks, and short ones in other cache states."""
    on_gpu = isinstance(timer, EventTimer)
    watch = ClockWatch(lambda: read_clocks(spec.uuid)) if on_gpu else None
    floor = timing.measure_floor(timer, chosen)
    request = timing.Request(spec.bench_runs, spec.cache, call_ns)
    series, retried = timing.take_series(timer, chosen, request, watch)
    short = stats.median(series.samples_ns) < chosen["short_ns"]
    others: tuple[CacheState, ...] = ("cold", "cold, written only", "warm")
    more = tuple(
        timing.short_series(timer, int(chosen["more_samples"]), cache)
        for cache in others
        if short and cache != series.cache
    )
    return Run(floor, series, retried, more, watch.result() if watch else None)


def _crowd(
    timer: EventTimer | CpuTimer, chosen: dict[str, float], load: CpuLoad
) -> tuple[str, ...]:
    """A doubt where other processes used the CPU that was timed."""
    others = load.others_pct() if isinstance(timer, CpuTimer) else None
    if others is None or others <= chosen["shared_pct"]:
        return ()
    return (f"shared CPU: others used {others:.0f} % of its cores, so times may be too long",)


def _event_timer(prepared: Prepared, flush_bytes: int) -> EventTimer:
    import torch

    return EventTimer(prepared.run, flush_bytes, torch)


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
