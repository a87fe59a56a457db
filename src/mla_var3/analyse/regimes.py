"""The burst run beside a sustained one: its rates; and what makes a measurement unreliable."""

import msgspec

from mla_var3.analyse.predict import work_bytes
from mla_var3.analyse.timing import is_launch_bound
from mla_var3.core import units
from mla_var3.core.record import Metric, Stage
from mla_var3.core.timing import Timing

NOT_SETTLED = "not settled"
LOCK_LOST = "lock not held"
SHARED = "shared GPU"


def with_burst(stage: Stage, timing: Timing) -> Stage:
    """The whole with the rates of its burst run, against the peaks and at the bursts' own clock."""
    time = stage.value("burst_duration")
    if not time or is_launch_bound(stage, timing.settings):
        return stage
    found: dict[str, Metric] = {}
    flops, moved = stage.value("model_flops"), work_bytes(stage)
    if flops is not None:
        found["burst_tflops"] = _metric(flops / time / 1e3, "TFLOP/s", "model_flops")
    if moved is not None:
        found["burst_gbps"] = _metric(moved / time, "GB/s", "model bytes")
    roof = stage.value("roofline_time")
    if roof is not None and "roofline_share" in stage.metrics:
        found["burst_roofline_share"] = _metric(100.0 * roof / time, "%", "roofline_time")
        at_clock = _roof_at_clock(stage)
        if at_clock is not None:
            found["burst_clock_share"] = _metric(
                100.0 * at_clock / time, "%", "roofline at burst_sm_clock"
            )
    return msgspec.structs.replace(stage, metrics=stage.metrics | found)


def unreliable(timing: Timing, whole: Stage) -> tuple[str, ...]:
    """Why figures of this run cannot be relied on, in words: `--strict` makes it an error."""
    drift = whole.value("drift")
    drifts = drift is not None and abs(drift) > timing.settings["drift_pct"]
    clock = timing.clock
    reasons = {
        NOT_SETTLED: not timing.warm_up.settled or drifts,
        LOCK_LOST: clock is not None and clock.lock_held is False,
        SHARED: bool(timing.shared_gpu),
    }
    return tuple(word for word, holds in reasons.items() if holds)


def launches_remark(timing: Timing, stages: int, counts_exactly: bool) -> str:
    """A doubt where one call launched fewer kernels than the plan has stages; else empty.

    `counts_exactly`: each stage is one kernel, so more are a doubt too.
    """
    count = timing.launches
    if count is None or count == stages or (count > stages and not counts_exactly):
        return ""
    launched, planned = units.count(count, "kernel"), units.count(stages, "stage")
    return f"one call launched {launched}, and the plan has {planned}"


def _roof_at_clock(stage: Stage) -> float | None:
    """Time in ns at the peak that follows the clock of the bursts, or at the DRAM peak."""
    names = ("compute_time", "memory_time", "peak_tflops", "peak_tflops_at_clock", "sm_clock")
    told = [stage.value(name) for name in (*names, "burst_sm_clock")]
    known = [value for value in told if value]
    if len(known) < len(told):
        return None
    compute, memory, rated, at_clock, clock, burst = known
    return max(compute * rated / (at_clock * burst / clock), memory)


def _metric(value: float, unit: str, raw: str) -> Metric:
    return Metric(value, unit, "event", f"{raw} / burst_duration")
