"""A timing read into the record: the plan end to end, and its stages by the model and the code."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from mla_var3 import conf
from mla_var3.core import artifacts, rank, stats
from mla_var3.core.device import Devices
from mla_var3.core.params import depends_on_sms
from mla_var3.core.plan import CompiledStage, Kernel, KernelPlan, Tiling, stages_of
from mla_var3.core.record import Metric, Stage
from mla_var3.core.regime import RegimeFigures, rows_of
from mla_var3.core.target import Target, of_driver
from mla_var3.core.timing import Clock, Timing
from mla_var3.measure.static import read_stage

END_TO_END = "end to end"
_OF_THE_WHOLE = ("model_", "peak_", "ceiling_")
_BY_SMS = ("model_", "grid_size", "wave")
_CPU_PEAKS = {
    "peak_tflops": ("matmul_fp32_tflops", "float32 matmul of 1024³ on this CPU, best of 5"),
    "peak_gbps": ("dram_gbps", "copy and read of twice the last cache on this CPU, best of 5"),
}


def target_of(timing: Timing, devices: Devices) -> Target:
    """The device that was timed, with its entry in the table of peaks where it has one."""
    machine = timing.machine
    if not machine.capability:
        return Target("cpu", "", None)
    return of_driver(machine.device, machine.capability, devices, machine.sm_count)


def whole_kernel(plan: KernelPlan) -> Kernel:
    """The plan as one stage: the algorithm's own work, in the element type of most of its FLOPs.

    Neither depends on how many SMs there are.
    """
    stages = stages_of(plan.plan_empty())
    most = max(stages, key=lambda kernel: kernel.cost.flops)
    return Kernel(
        name=END_TO_END,
        tiling=Tiling(),
        cost=plan._algorithmic_flops_bytes(),
        grid=(),
        compute_dtype=most.compute_dtype,
    )


def read_whole(plan: KernelPlan, timing: Timing, target: Target) -> Stage:
    """The plan end to end: its times, the timer's floor, the clock, its work and the peaks."""
    kernel = whole_kernel(plan)
    model = read_stage(kernel, 0, target, None, Path())
    metrics = {key: m for key, m in model.metrics.items() if key.startswith(_OF_THE_WHOLE)}
    missing = {key: why for key, why in model.missing.items() if key.startswith(_OF_THE_WHOLE)}
    metrics |= times(timing) | _conditions(timing)
    missing |= _absent(timing, metrics)
    metrics, missing = _with_cpu_peaks(timing, metrics, missing)
    if timing.clock is None or timing.clock.sm_mhz is None:
        missing["sm_clock"] = _no_clock(timing)
    reasons: dict[str, str] = conf.table("event")["not_by_event"]
    missing |= {key: why for key, why in reasons.items() if key not in metrics}
    return Stage(name=END_TO_END, kernel=END_TO_END, launch=0, metrics=metrics, missing=missing)


def read_stages(
    plan: KernelPlan,
    timing: Timing,
    target: Target,
    compiled: Mapping[str, CompiledStage],
    folder: Path,
) -> tuple[Stage, ...]:
    """Each stage by the model and its compiled code; `folder` holds `compiled/`.

    `plan` is made for the SMs that it ran on. The time of the only stage is that of the whole.
    """
    reasons: dict[str, str] = conf.table("event")["not_by_event"]
    made = model_stages(plan, target, compiled, folder)
    stages = []
    for stage in made:
        metrics, missing = _with_cpu_peaks(timing, stage.metrics, stage.missing | reasons)
        if len(made) == 1:
            metrics |= {"duration": times(timing)["duration"]}
            missing = {key: why for key, why in missing.items() if key != "duration"}
        stages.append(msgspec.structs.replace(stage, metrics=metrics, missing=missing))
    return tuple(stages)


def model_stages(
    plan: KernelPlan,
    target: Target,
    compiled: Mapping[str, CompiledStage] = {},
    folder: Path = Path(),
) -> tuple[Stage, ...]:
    """Each stage by the plan's own work, and its compiled code below `folder`.

    Grid and work are left out where they follow the SMs and nobody tells how many there are.
    """
    stages = tuple(
        read_stage(
            kernel,
            position,
            target,
            compiled.get(kernel.name),
            folder / artifacts.compiled_folder(kernel.name),
        )
        for position, kernel in enumerate(stages_of(plan.plan_empty()))
    )
    if target.capability and target.sm_count is None and depends_on_sms(plan):
        return tuple(map(_without_grid, stages))
    return stages


def _without_grid(stage: Stage) -> Stage:
    lost = [key for key in stage.metrics if key.startswith(_BY_SMS)]
    reasons = dict.fromkeys(lost, "it follows the number of SMs, and nobody tells that of this GPU")
    return msgspec.structs.replace(
        stage,
        metrics={key: metric for key, metric in stage.metrics.items() if key not in lost},
        missing=stage.missing | reasons,
        grid=(),
    )


def times(timing: Timing) -> dict[str, Metric]:
    """Median, p10, p90 and shortest sample, and how the samples lie."""
    samples = timing.series.samples_ns
    regime = "in bursts, " if timing.series.regime == "burst" else ""
    kind = f"{len(samples)} samples, {timing.timer}, {regime}{timing.series.cache} cache"
    found = {
        "duration": _event("duration", stats.median(samples), f"median of {kind}"),
        "duration_p10": _event("duration_p10", stats.quantile(samples, 0.1), f"p10 of {kind}"),
        "duration_p90": _event("duration_p90", stats.quantile(samples, 0.9), f"p90 of {kind}"),
        "duration_min": _event("duration_min", min(samples), f"shortest of {kind}"),
        "samples": _event("samples", len(samples), "timing.json series"),
        "far_out": _event("far_out", stats.far_out(samples), "timing.json series"),
        "relative_iqr": _event("relative_iqr", stats.relative_iqr_pct(samples), "(q3 - q1) / q2"),
    }
    found |= _interval("duration", rank.block_interval(samples))
    try:
        drift = stats.drift_pct(samples)
    except ValueError:
        return found
    return found | {"drift": _event("drift", drift, "median of last third / first third - 1")}


def _conditions(timing: Timing) -> dict[str, Metric]:
    """The timer's floor, the duty cycle, the host's time and the clocks."""
    median = stats.median(timing.series.samples_ns)
    floor = timing.floor.ns
    found = {
        "timer_floor": _event("timer_floor", floor, "median around an empty kernel, or nothing"),
        "floor_share": _event("floor_share", 100.0 * floor / median, "timer_floor / duration"),
    }
    duty = timing.series.duty_pct
    if duty is not None:
        found["duty_cycle"] = _event("duty_cycle", duty, "sum of samples / time on the wall")
    if timing.host_ns is not None:
        found["host_time"] = _event("host_time", timing.host_ns, "host clock around one launch")
    first, *added = rows_of(timing)
    found |= _clocks(timing.clock, median) if timing.clock else {}
    if len(first.sm_mhz) > 1:
        for key, mhz in zip(("sm_clock_p5", "sm_clock_p95"), first.sm_mhz[::2], strict=True):
            found[key] = _event(key, mhz * 1e6, _clock_raw(first.clock_source, first.readings))
    seen = first.seen
    if seen is not None and seen.power_average_w is not None and seen.power_w is not None:
        found["power_average"] = _event("power_average", seen.power_average_w, "driver's average")
    if first.cap_pct is not None:
        found["cap_active"] = _event("cap_active", first.cap_pct, _cap_raw(timing))
    if timing.power_limit_w is not None:
        found["power_limit"] = _event("power_limit", timing.power_limit_w, "enforced.power.limit")
    if timing.launches is not None:
        found["launches"] = _event("launches", timing.launches, "torch.profiler, one call")
    return found | (_burst(added[0]) if added else {})


def _burst(row: RegimeFigures) -> dict[str, Metric]:
    """The burst run that was added."""
    raw = f"median of {row.samples} samples in bursts"
    found = {
        "burst_duration": _event("burst_duration", row.median_ns, raw),
        "burst_samples": _event("burst_samples", row.samples, "timing.json burst"),
    } | _interval("burst_duration", row.interval)
    if row.clock_mhz is not None:
        raw = _clock_raw(row.clock_source, row.readings)
        found["burst_sm_clock"] = _event("burst_sm_clock", row.clock_mhz * 1e6, raw)
    return found


def _interval(key: str, found: rank.Interval | None) -> dict[str, Metric]:
    if found is None:
        return {}
    raw = "signed ranks of 10 block medians, 95 %"
    low, high = f"{key}_low", f"{key}_high"
    return {low: _event(low, found.low, raw), high: _event(high, found.high, raw)}


def _absent(timing: Timing, metrics: Mapping[str, Metric]) -> dict[str, str]:
    """Why a figure of the protocol is not there."""
    reasons = {
        "duration_low": rank.SHORT_RUN,
        "duration_high": rank.SHORT_RUN,
        "launches": timing.missing.get("kernel count", "not counted"),
    }
    seen = rows_of(timing)[0].seen
    if seen is not None and seen.no_power:
        reasons["power"] = seen.no_power
    return {key: why for key, why in reasons.items() if key not in metrics}


def _clock_raw(source: str, readings: int) -> str:
    if source == "in-band":
        return f"clock64 over globaltimer, {readings} samples"
    return f"{source} SM clock, {readings} readings"


def _cap_raw(timing: Timing) -> str:
    if timing.series.held is not None and timing.monitor is not None:
        return f"{timing.monitor.counters}, sw power cap"
    return "readings with sw power cap active"


def _clocks(clock: Clock, median_ns: float) -> dict[str, Metric]:
    found = {}
    sensor = clock.sensor or clock.source
    if clock.sm_mhz:
        hertz = clock.sm_mhz * 1e6
        once = f"{clock.source} clocks.sm"
        raw = once if clock.readings == 1 else _clock_raw(clock.source, clock.readings)
        found["sm_clock"] = Metric(hertz, "Hz", "event", raw)
        found["cycles"] = _event("cycles", median_ns * hertz / 1e9, "duration * sm_clock")
    if clock.memory_mhz:
        found["memory_clock"] = _event(
            "memory_clock", clock.memory_mhz * 1e6, f"{sensor} clocks.mem"
        )
    if clock.temperature_c is not None:
        raw = f"{sensor} temperature.gpu"
        found["temperature"] = _event("temperature", clock.temperature_c, raw)
    if clock.power_w is not None:
        found["power"] = _event("power", clock.power_w, f"{sensor} power.draw")
    return found


def _no_clock(timing: Timing) -> str:
    if timing.clock is None:
        return timing.missing.get("clock", "not read")
    missing = timing.clock.missing
    return missing.get("clock") or missing.get("sm_mhz") or "not told"


def _with_cpu_peaks(
    timing: Timing, metrics: Mapping[str, Metric], missing: Mapping[str, str]
) -> tuple[dict[str, Metric], dict[str, str]]:
    """On a CPU its own measured rates stand for the peaks."""
    added: dict[str, Metric] = {}
    for key, (name, raw) in _CPU_PEAKS.items():
        if name in timing.machine.peaks:
            unit = "TFLOP/s" if key == "peak_tflops" else "GB/s"
            added[key] = Metric(timing.machine.peaks[name], unit, "event", raw)
    return dict(metrics) | added, {key: why for key, why in missing.items() if key not in added}


def _event(key: str, value: float, raw: str) -> Metric:
    facts = [*conf.table("metrics")["facts"], *conf.table("event")["metrics"]]
    unit = next(fact["unit"] for fact in facts if fact["key"] == key)
    return Metric(value, unit, "event", raw)
