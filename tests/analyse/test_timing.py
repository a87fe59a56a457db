"""Rates and doubts of timed runs, against arithmetic by hand."""

from typing import Any

import pytest
from tests.support.timings import CLOCK, cpu_timing, gpu_timing, series

from mla_var3.analyse.predict import with_prediction
from mla_var3.analyse.timing import NOT_LOCKED, impossible, remarks, with_rates
from mla_var3.analyse.timing_verdict import diagnose_event
from mla_var3.core.device import load_devices
from mla_var3.core.record import Metric, Profile, Stage
from mla_var3.core.timing import Floor, Timing, WarmUp

H200 = load_devices().find("NVIDIA H200")
SAMPLES = [1000e3] * 200


def whole(timing: Timing, flops: float = 5e11, moved: float = 1e8, **more: float) -> Stage:
    """A timed whole with its work, against 989.5 TFLOP/s and 4800 GB/s, and its rates."""
    from mla_var3.core import stats

    samples = timing.series.samples_ns
    floor = 100 * timing.floor.ns / stats.median(samples)
    values: dict[str, tuple[float, str]] = {
        "duration": (stats.median(samples), "ns"),
        "duration_p10": (stats.quantile(samples, 0.1), "ns"),
        "duration_p90": (stats.quantile(samples, 0.9), "ns"),
        "floor_share": (floor, "%"),
        "model_flops": (flops, "flop"),
        "model_read_bytes": (moved, "byte"),
        "model_write_bytes": (0.0, "byte"),
        "peak_tflops": (989.5, "TFLOP/s"),
        "peak_gbps": (4800.0, "GB/s"),
    }
    if len(samples) > 5:
        values["drift"] = (stats.drift_pct(samples), "%")
    missing = {}
    if timing.clock is not None:
        values["sm_clock"] = (1620e6, "Hz")
    else:
        missing["sm_clock"] = "the clock of a CPU is not read"
    metrics = {key: Metric(value, unit, "event", key) for key, (value, unit) in values.items()}
    metrics |= {key: Metric(value, "x", "event", key) for key, value in more.items()}
    stage = Stage(
        name="end to end", kernel="end to end", launch=0, metrics=metrics, missing=missing
    )
    return with_rates(with_prediction(stage), timing, H200, "bf16")


def test_rates_and_shares_by_hand() -> None:
    """5e11 FLOP in 1 ms: 500 TFLOP/s of 989.5; 1e8 byte: 100 GB/s of 4800."""
    stage = whole(gpu_timing(SAMPLES))
    assert stage.value("achieved_tflops") == pytest.approx(500.0)
    assert stage.value("achieved_gbps") == pytest.approx(100.0)
    assert stage.value("flops_share") == pytest.approx(100 * 500 / 989.5)
    assert stage.value("bytes_share") == pytest.approx(100 * 100 / 4800)
    assert stage.value("roofline_share") == pytest.approx(100 * 500 / 989.5)


def test_the_peak_follows_the_clock_and_dram_does_not() -> None:
    assert H200 is not None
    rated_mhz = H200.peaks["bf16"].clock_mhz
    stage = whole(gpu_timing(SAMPLES))
    at_clock = 989.5 * 1620 / rated_mhz
    assert stage.value("peak_tflops_at_clock") == pytest.approx(at_clock)
    assert stage.value("clock_share") == pytest.approx(100 * 500 / at_clock)
    memory = whole(gpu_timing(SAMPLES), flops=1e9, moved=4.2e9)
    assert memory.value("clock_share") == memory.value("roofline_share")
    assert memory.value("bytes_share") == pytest.approx(100 * 4200 / 4800)


def test_without_a_clock_the_share_at_it_is_missing() -> None:
    stage = whole(cpu_timing(SAMPLES))
    assert stage.value("clock_share") is None
    assert stage.missing["clock_share"] == "the clock of a CPU is not read"


def test_launch_bound_refuses_percent_of_peak() -> None:
    """A floor of 2.1 µs is 11 % of 19 µs and 9.9 % of 21.2 µs."""
    bound = whole(gpu_timing([19e3] * 200), flops=1e9)
    assert bound.value("achieved_tflops") == pytest.approx(1e9 / 19e3 / 1e3)
    for key in ("flops_share", "bytes_share", "roofline_share", "clock_share"):
        assert bound.value(key) is None
        assert bound.missing[key].startswith("launch-bound")
    assert remarks(gpu_timing([19e3] * 200), bound)[0].startswith(
        "launch-bound: the timer's floor of 2.1 µs is 11 % of the median"
    )
    free = whole(gpu_timing([21.2e3] * 200), flops=1e9)
    assert free.value("flops_share") is not None


def test_impossible_names_the_rate_and_the_causes() -> None:
    """64 MB in 10 µs is 6.4 TB/s on a part of 4.8."""
    timing = gpu_timing(SAMPLES)
    floor = Floor(nothing_ns=0.1, empty_ns=0.2)
    stage = whole(gpu_timing([10e3] * 200, floor=floor), flops=1e6, moved=64e6)
    assert impossible(stage, timing) == (
        "IMPOSSIBLE 6400 GB/s is 133 % of the DRAM peak; likely causes: warm cache, wrong work "
        "formula, sparse peak, kernel not run"
    )
    flops = whole(gpu_timing(SAMPLES), flops=1.1e12)
    assert "1100 TFLOP/s is 111 % of the dense peak" in impossible(flops, timing)
    assert impossible(whole(gpu_timing(SAMPLES), flops=1.005e12), timing) == ""  # 101.6 %


def test_a_warm_cache_has_no_dram_roof() -> None:
    timing = gpu_timing([10e3] * 200, floor=Floor(nothing_ns=1.0, empty_ns=1.0))
    warm = gpu_timing(
        [10e3] * 200,
        floor=timing.floor,
        series=series([10e3] * 200, cache="warm"),
    )
    stage = whole(warm, flops=1e6, moved=64e6)
    assert impossible(stage, warm) == ""
    for key in ("bytes_share", "roofline_share", "clock_share"):
        assert stage.missing[key].startswith("warm cache")


def test_one_reading_of_the_clock_is_a_doubt_and_no_failure() -> None:
    assert H200 is not None
    low = 989.5 * 1620 / H200.peaks["bf16"].clock_mhz
    stage = whole(gpu_timing(SAMPLES), flops=low * 1.05 * 1e9)
    assert impossible(stage, gpu_timing(SAMPLES)) == ""
    assert any("105 % of the roofline at the measured clock" in text for text in
               remarks(gpu_timing(SAMPLES), stage))  # fmt: skip


def said(**more: Any) -> tuple[str, ...]:
    samples = more.pop("samples", SAMPLES)
    timing = gpu_timing(samples, **more)
    return remarks(timing, whole(timing))


def test_a_quiet_run_has_only_the_notes_of_its_clock() -> None:
    assert said() == (NOT_LOCKED, "SM clock 1.62 of 1.98 GHz in the run (sw power cap)")
    locked = type(CLOCK)(source="nvidia-smi", sm_mhz=1320.0, max_sm_mhz=1320.0, locked=True)
    assert said(clock=locked) == ()
    unknown = type(CLOCK)(source="nvidia-smi", missing={"clock": "no nvidia-smi on PATH"})
    (text,) = said(clock=unknown)
    assert text.startswith("not told whether the clocks are locked: times of separate runs may")


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (
            {"warm_up": WarmUp(calls=9, busy_ns=5e9, settled=False, window_ns=(3.0, 1.0, 1.1))},
            "did not settle: warm-up ended at its limit: its last windows differ by 200.0 %",
        ),
        (
            {"samples": [1000e3] * 100 + [960e3] * 100},
            "did not settle: drift -4.0 % from the first to the last third of the samples",
        ),
        ({"samples": [1000e3] * 20}, "short run: 20 samples; p10 and p90 rest on few"),
        (
            {"samples": [1000e3, 1200e3] * 100},
            "samples spread: p90 is 20 % above p10",
        ),
        (
            {"host_ns": 2500e3},
            "host-bound: launching one call takes the host 2500.0 µs, the device 1000.0 µs; back "
            "to back the host decides",
        ),
        ({"shared_gpu": True}, "shared GPU: other processes compute on it, so times may be too"),
        ({"retried": True}, "the first series had no usable time and was taken again"),
        ({"warnings": ("the result of a holds NaN: try --check",)}, "the result of a holds NaN"),
    ],
)
def test_each_doubt_is_said(more: dict[str, Any], text: str) -> None:
    assert any(line.startswith(text) for line in said(**more)), said(**more)


def test_the_verdict_is_the_models_and_says_how_far_from_the_roof() -> None:
    stage = whole(gpu_timing(SAMPLES))
    profile = Profile(mode="event", status="OK", stages=(stage,), end_to_end=stage)
    verdict = diagnose_event(profile)
    assert verdict.bound == "Compute"
    assert verdict.root_cause == (
        "from the model: the FLOPs need 505.3 µs at the peak, the run took 1000.0 µs, 51 % of the "
        "roofline. Event reads no counters, so what takes the rest is open"
    )
    (item,) = verdict.opportunities
    assert item.gain_pct == pytest.approx(100 - (stage.value("clock_share") or 0))
    assert verdict.total_ns == 1000e3


def test_a_launch_bound_run_is_not_compared_with_the_roof() -> None:
    stage = whole(gpu_timing([10e3] * 200), flops=1e9)
    verdict = diagnose_event(Profile(mode="event", status="OK", stages=(stage,)))
    (item,) = verdict.opportunities
    assert (item.name, round(item.gain_pct)) == ("more work a launch, or fewer launches", 21)
    assert verdict.stages[0].key_issue == "launch-bound"
    assert "% of the roofline" not in verdict.root_cause


def test_at_the_roof_there_is_nothing_to_try() -> None:
    stage = whole(gpu_timing(SAMPLES), flops=1e9, moved=4.75e9)
    verdict = diagnose_event(Profile(mode="event", status="OK", stages=(stage,)))
    assert verdict.bound == "Memory"
    assert verdict.opportunities == ()
