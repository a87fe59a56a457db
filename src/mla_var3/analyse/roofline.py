"""Device roofline of a stage from its own counters: TFLOP/s, GB/s, FLOP/byte."""

from msgspec import structs

from mla_var3.analyse.facts import Facts
from mla_var3.analyse.knowledge import limit
from mla_var3.analyse.words import label, percent
from mla_var3.core.device import Device, Dtype, Peak
from mla_var3.core.diagnosis import Roofline
from mla_var3.core.record import Environment, Stage

TENSOR_FLOPS: dict[Dtype, str] = {
    "bf16": "flops_bf16",
    "fp16": "flops_fp16",
    "tf32": "flops_tf32",
    "fp8": "flops_fp8",
    "fp64": "flops_fp64",
}
FP32_COUNTS = ("fadd_per_cycle", "fmul_per_cycle", "ffma_per_cycle")


def roofline_of_stage(stage: Stage, environment: Environment, device: Device | None) -> Roofline:
    """The roofline of a stage; what is not known is None and has its reason in `missing`."""
    return roofline(Facts(stage, environment, device))


def roofline(facts: Facts) -> Roofline:
    """The same from facts."""
    missing: dict[str, str] = {}
    dtype, flops = _work(facts, missing)
    moved = _bytes(facts, missing)
    time = facts.get("duration")
    if not time:
        missing["duration"] = facts.reason("duration")
    peak = _peak(facts, dtype, missing)
    clock = facts.get("sm_clock")
    if clock is None:
        missing["clock_mhz"] = facts.reason("sm_clock")
    peak_clocked = None if peak is None or not clock else _at_clock(peak, clock / 1e6)
    gbps = facts.device.dram_gbps if facts.device else None
    top = peak.tflops if peak else None
    intensity = flops / moved if flops is not None and moved else None
    result = Roofline(
        dtype=dtype,
        flops=flops,
        dram_bytes=moved,
        intensity=intensity,
        achieved_tflops=flops / time / 1e3 if flops is not None and time else None,
        achieved_gbps=moved / time if moved is not None and time else None,
        peak_tflops=top,
        peak_tflops_at_clock=peak_clocked,
        peak_gbps=gbps,
        ridge=_ridge(top, gbps),
        ridge_at_clock=_ridge(peak_clocked, gbps),
        attainable_tflops=_attainable(top, gbps, intensity),
        attainable_tflops_at_clock=_attainable(peak_clocked, gbps, intensity),
        clock_mhz=clock / 1e6 if clock else None,
        missing=missing,
    )
    return _with_notes(result)


def share_of_roof(line: Roofline) -> float | None:
    """Percent of the higher of both roofs at the measured clock; None where unknown."""
    pairs = (
        (line.achieved_tflops, line.peak_tflops_at_clock),
        (line.achieved_gbps, line.peak_gbps),
    )
    shares = [100.0 * value / peak for value, peak in pairs if value is not None and peak]
    possible = [share for share in shares if share <= limit("roofline_impossible")]
    return min(max(possible), 100.0) if possible else None


def _work(facts: Facts, missing: dict[str, str]) -> tuple[Dtype | None, float | None]:
    """The dtype that most FLOPs are done in, and all counted FLOPs of it."""
    counted: dict[Dtype, float] = {
        dtype: value
        for dtype, key in TENSOR_FLOPS.items()
        if (value := facts.get(key)) is not None and value > 0
    }
    if counted:
        dtype = max(counted, key=lambda name: counted[name])
        return dtype, counted[dtype]
    if facts.mma_family != "" and (facts.tensor is None or facts.tensor >= 1.0):
        tensor = "not recorded" if facts.tensor is None else percent(facts.tensor)
        missing["flops"] = f"tensor FLOP counters not in the report (tensor pipe {tensor})"
        return None, None
    adds, products, fused = (facts.get(key) for key in FP32_COUNTS)
    cycles = facts.get("cycles_elapsed")
    if adds is None or products is None or fused is None or cycles is None:
        absent = next(key for key in (*FP32_COUNTS, "cycles_elapsed") if facts.get(key) is None)
        missing["flops"] = f"{label(absent)}: {facts.reason(absent)}"
        return None, None
    return "fp32", (adds + products + 2.0 * fused) * cycles


def _bytes(facts: Facts, missing: dict[str, str]) -> float | None:
    read, written = facts.get("dram_read_bytes"), facts.get("dram_write_bytes")
    if read is None or written is None:
        key = "dram_read_bytes" if read is None else "dram_write_bytes"
        missing["dram_bytes"] = f"{label(key)}: {facts.reason(key)}"
        return None
    if read + written == 0.0:
        missing["intensity"] = "no DRAM traffic"
    return read + written


def _peak(facts: Facts, dtype: Dtype | None, missing: dict[str, str]) -> Peak | None:
    if facts.device is None:
        name = facts.environment.device or "the device"
        missing["peak_tflops"] = missing["peak_gbps"] = f"peaks of {name} are unknown"
        return None
    if dtype is None:
        missing["peak_tflops"] = "the dtype of the work is unknown"
        return None
    peak = facts.device.peaks.get(dtype)
    if peak is None:
        missing["peak_tflops"] = f"no {dtype} peak is known for {facts.device.name}"
    return peak


def _at_clock(peak: Peak, clock_mhz: float) -> float:
    return peak.tflops * clock_mhz / peak.clock_mhz


def _ridge(tflops: float | None, gbps: float | None) -> float | None:
    return 1e3 * tflops / gbps if tflops is not None and gbps else None


def _attainable(tflops: float | None, gbps: float | None, intensity: float | None) -> float | None:
    if tflops is None or gbps is None or intensity is None:
        return None
    return min(tflops, gbps * intensity / 1e3)


def _with_notes(line: Roofline) -> Roofline:
    """Rates above a peak are impossible: the counter, the clock or the peak is wrong."""
    rates = (
        ("TFLOP/s", line.achieved_tflops, line.peak_tflops_at_clock, "peak at this clock"),
        ("GB/s", line.achieved_gbps, line.peak_gbps, "DRAM peak"),
    )
    notes = [
        f"{value:.0f} {unit} is {100.0 * value / peak:.0f} % of the {name}: impossible"
        for unit, value, peak, name in rates
        if value is not None and peak and 100.0 * value / peak > limit("roofline_impossible")
    ]
    if not notes:
        return line
    return structs.replace(line, notes=tuple(notes))
