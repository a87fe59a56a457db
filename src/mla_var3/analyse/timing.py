"""What a timed run says of itself: rates against the peaks, and every reason to doubt them."""

from collections.abc import Mapping

import msgspec

from mla_var3.analyse.predict import work_bytes
from mla_var3.analyse.timing_clock import (
    below_boost,
    is_power_limited,
    lock_lost,
    power_limited,
)
from mla_var3.analyse.words import duration
from mla_var3.conf import table
from mla_var3.core import stats
from mla_var3.core.device import Device, Dtype
from mla_var3.core.record import Metric, Stage
from mla_var3.core.timing import Timing

SHARES = ("flops_share", "bytes_share", "roofline_share", "clock_share")
_RATES = {
    "flops_share": ("TFLOP/s", "achieved_tflops", "dense peak"),
    "bytes_share": ("GB/s", "achieved_gbps", "DRAM peak"),
}
"""Share of a peak to the rate that it is of: unit, key, and the name of the peak."""
NOT_LOCKED = (
    "clocks not locked: times of separate runs may differ by 15 %; compare versions interleaved, "
    "in one run"
)
LOCK_NOT_TOLD = (
    "not told whether the clocks are locked: times of separate runs may differ by 15 %; compare "
    "versions interleaved, in one run"
)
_WARM = "warm cache: the inputs may come from it, so the DRAM roof does not hold"


def is_launch_bound(stage: Stage, settings: Mapping[str, float]) -> bool:
    """Whether the timer's floor is too large a part of the time."""
    share = stage.value("floor_share")
    return share is not None and share > settings["floor_share_pct"]


def with_rates(stage: Stage, timing: Timing, device: Device | None, dtype: str) -> Stage:
    """The predicted whole with its achieved rates and their shares of the peaks, in percent.

    Launch-bound: no share. `device` None: the peaks do not follow a clock that we know.
    """
    time, flops, moved = stage.value("duration"), stage.value("model_flops"), work_bytes(stage)
    if not time or flops is None or moved is None:
        return stage
    found = {
        "achieved_tflops": _rate(flops / time / 1e3, "TFLOP/s", "model_flops / duration"),
        "achieved_gbps": _rate(moved / time, "GB/s", "model bytes / duration"),
    }
    if is_launch_bound(stage, timing.settings):
        why = "launch-bound: the time is an upper bound, percent of peak is refused"
        return _merged(stage, found, dict.fromkeys(SHARES, why))
    shares, missing = _shares(stage, time, timing.series.cache == "warm")
    clocked, unclocked = _at_clock(stage, time, device, dtype)
    if "roofline_share" in missing:
        clocked.pop("clock_share", None)
        unclocked["clock_share"] = missing["roofline_share"]
    return _merged(stage, found | shares | clocked, missing | unclocked)


def impossible(stage: Stage, timing: Timing) -> str:
    """Which rate is above a peak, and what may be wrong; empty where none is.

    At the measured clock only where that is a median of many readings: one is not the whole run.
    """
    most = timing.settings["impossible_pct"]
    causes = table("event")["causes_of_impossible"]
    for key, (unit, rate, peak) in _RATES.items():
        share = stage.value(key)
        if share is not None and share > most:
            shown = f"{stage.value(rate) or 0.0:.4g} {unit} is {share:.0f} % of the {peak}"
            return f"IMPOSSIBLE {shown}; likely causes: {causes}"
    shares = {"burst_roofline_share": "roofline in bursts"}
    if is_steady(timing):
        shares |= {
            "clock_share": "roofline at the measured clock",
            "burst_clock_share": "roofline at the clock of the bursts",
        }
    for key, what in shares.items():
        share = stage.value(key)
        if share is not None and share > most:
            return f"IMPOSSIBLE {share:.0f} % of the {what}; likely causes: {causes}"
    return ""


def is_steady(timing: Timing) -> bool:
    """Whether the clock rests on enough readings to be that of the run."""
    least: int = table("monitor")["least_readings"]["value"]
    return timing.clock is not None and timing.clock.readings >= least


def remarks(timing: Timing, stage: Stage) -> tuple[str, ...]:
    """Every doubt about the figures of a timed whole, in the order of their weight."""
    return tuple(
        text
        for text in (
            _launch_bound(timing, stage),
            _at_clock_impossible(timing, stage),
            power_limited(timing),
            lock_lost(timing.clock),
            *timing.warnings,
            _unsettled(timing),
            _drift(timing, stage),
            _few(timing),
            _spread(timing, stage),
            _host_bound(timing, stage),
            *_clock_remarks(timing),
            _shared(timing),
            _retried(timing),
        )
        if text
    )


def lock_remark(locked: bool | None) -> str:
    """What follows of clocks that are not known to be locked; empty where they are."""
    return {True: "", False: NOT_LOCKED, None: LOCK_NOT_TOLD}[locked]


def series_texts(timing: Timing) -> list[str]:
    """The further states of the cache, one line each: `warm cache: 3.1 µs (50 samples)`."""
    return [
        f"{series.cache} cache: {duration(stats.median(series.samples_ns))} "
        f"({len(series.samples_ns)} samples)"
        for series in timing.more
        if series.samples_ns
    ]


def _shares(stage: Stage, time: float, warm: bool) -> tuple[dict[str, Metric], dict[str, str]]:
    found: dict[str, Metric] = {}
    missing: dict[str, str] = {}
    pairs = {"flops_share": "compute_time", "bytes_share": "memory_time"}
    for key, part in pairs.items():
        needed = stage.value(part)
        if needed is None:
            missing[key] = stage.missing.get("peak_tflops", "the peak is unknown")
        elif key == "bytes_share" and warm:
            missing[key] = missing["roofline_share"] = _WARM
        else:
            found[key] = _rate(100.0 * needed / time, "%", f"{part} / duration")
    roof = stage.value("roofline_time")
    if roof is None:
        missing["roofline_share"] = stage.missing.get("roofline_time", "a peak is unknown")
    elif "roofline_share" not in missing:
        found["roofline_share"] = _rate(100.0 * roof / time, "%", "roofline_time / duration")
    return found, missing


def _at_clock(
    stage: Stage, time: float, device: Device | None, dtype: str
) -> tuple[dict[str, Metric], dict[str, str]]:
    """The peak at the measured clock, and the share of the roofline that it makes."""
    clock, compute, memory = (
        stage.value(key) for key in ("sm_clock", "compute_time", "memory_time")
    )
    if clock is None:
        why = stage.missing.get("sm_clock", "the clock is not known")
        return {}, dict.fromkeys(("peak_tflops_at_clock", "clock_share"), why)
    peak, rated = _peak_at(device, dtype, clock), stage.value("peak_tflops")
    if peak is None or rated is None or compute is None or memory is None:
        why = stage.missing.get("peak_tflops", "a peak is unknown")
        return {}, dict.fromkeys(("peak_tflops_at_clock", "clock_share"), why)
    needed = max(compute * rated / peak, memory)
    return {
        "peak_tflops_at_clock": Metric(peak, "TFLOP/s", "spec", "peak_tflops * sm_clock / clock"),
        "clock_share": _rate(100.0 * needed / time, "%", "roofline at sm_clock / duration"),
    }, {}


def _peak_at(device: Device | None, dtype: str, clock_hz: float) -> float | None:
    known: dict[str, Dtype] = {name: name for name in device.peaks} if device else {}
    if device is None or dtype not in known:
        return None
    return device.peak_at(known[dtype], clock_hz)


def _rate(value: float, unit: str, raw: str) -> Metric:
    return Metric(value, unit, "event", raw)


def _merged(stage: Stage, found: dict[str, Metric], missing: dict[str, str]) -> Stage:
    return msgspec.structs.replace(
        stage, metrics=stage.metrics | found, missing=stage.missing | missing
    )


def _launch_bound(timing: Timing, stage: Stage) -> str:
    if not is_launch_bound(stage, timing.settings):
        return ""
    share = stage.value("floor_share") or 0.0
    return (
        f"launch-bound: the timer's floor of {duration(timing.floor.ns)} is {share:.0f} % of the "
        "median; the time is an upper bound, percent of peak is refused"
    )


def _at_clock_impossible(timing: Timing, stage: Stage) -> str:
    """One reading of the clock is not the whole run, so this is a doubt and no failure."""
    share = stage.value("clock_share")
    if share is None or share <= timing.settings["impossible_pct"] or is_steady(timing):
        return ""
    return (
        f"{share:.0f} % of the roofline at the measured clock: the clock was read once and was "
        "higher on average"
    )


def _unsettled(timing: Timing) -> str:
    warm = timing.warm_up
    if warm.settled:
        return ""
    last = [window for window in warm.window_ns[-3:] if window > 0]
    apart = f": its last windows differ by {stats.spread_pct(last):.1f} %" if len(last) > 1 else ""
    return f"did not settle: warm-up ended at its limit{apart}"


def _drift(timing: Timing, stage: Stage) -> str:
    drift = stage.value("drift")
    if drift is None or abs(drift) <= timing.settings["drift_pct"]:
        return ""
    return f"did not settle: drift {drift:+.1f} % from the first to the last third of the samples"


def _few(timing: Timing) -> str:
    count = len(timing.series.samples_ns)
    if count >= timing.settings["least_samples"]:
        return ""
    return f"short run: {count} samples; p10 and p90 rest on few"


def _spread(timing: Timing, stage: Stage) -> str:
    low, high = stage.value("duration_p10"), stage.value("duration_p90")
    if not low or high is None:
        return ""
    spread = 100.0 * (high / low - 1.0)
    if spread <= timing.settings["spread_pct"]:
        return ""
    return f"samples spread: p90 is {spread:.0f} % above p10"


def _host_bound(timing: Timing, stage: Stage) -> str:
    time, host = stage.value("duration"), timing.host_ns
    if not time or host is None or host <= time:
        return ""
    return (
        f"host-bound: launching one call takes the host {duration(host)}, the device "
        f"{duration(time)}; back to back the host decides"
    )


def _clock_remarks(timing: Timing) -> list[str]:
    clock = timing.clock
    if clock is None:
        return []
    told = () if clock.lock_held is False else (lock_remark(clock.locked),)
    limited = is_power_limited(timing)
    return [text for text in (*told, "" if limited else below_boost(clock)) if text]


def _shared(timing: Timing) -> str:
    if not timing.shared_gpu:
        return ""
    return "shared GPU: other processes compute on it, so times may be too long"


def _retried(timing: Timing) -> str:
    return "the first series had no usable time and was taken again" if timing.retried else ""
