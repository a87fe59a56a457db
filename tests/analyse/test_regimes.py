"""A burst beside a sustained run, and what makes a run unreliable, against arithmetic by hand."""

from typing import Any

import msgspec
import pytest
from tests.analyse.test_timing import SAMPLES, whole
from tests.support.timings import CLOCK, cpu_timing, gpu_timing, monitored, series

from mla_var3.analyse.regimes import launches_remark, unreliable, with_burst
from mla_var3.analyse.timing import impossible, is_steady, remarks
from mla_var3.core.device import load_devices
from mla_var3.core.record import Metric, Stage
from mla_var3.core.timing import Clock, Floor, WarmUp

H200 = load_devices().find("NVIDIA H200")
FLOPS = 2 * 8192**3
CLOCK_S, CLOCK_B = 1392.0, 1605.0


def with_metrics(stage: Stage, **values: float) -> Stage:
    metrics = {key: Metric(value, "x", "event", key) for key, value in values.items()}
    return msgspec.structs.replace(stage, metrics=stage.metrics | metrics)


def matmul() -> Stage:
    """cuBLAS 8192³: 1602.4 µs at 1392 MHz, 1391 µs in bursts at 1605."""
    timing = monitored()
    stage = whole(timing, flops=FLOPS, moved=4.0e8)  # at the clock of 1620 that `whole` says
    stage = with_metrics(stage, burst_duration=1391e3, burst_sm_clock=CLOCK_B * 1e6)
    return with_burst(stage, timing)


def test_the_rates_of_a_burst_are_its_own() -> None:
    stage = matmul()
    assert stage.value("burst_tflops") == pytest.approx(FLOPS / 1391e3 / 1e3)
    assert stage.value("burst_gbps") == pytest.approx(4.0e8 / 1391e3)
    assert stage.value("burst_roofline_share") == pytest.approx(FLOPS / 1391e3 / 1e3 / 9.895)
    assert stage.value("achieved_tflops") == pytest.approx(FLOPS / 1602.4e3 / 1e3)


def test_the_peak_of_a_burst_follows_the_clock_of_the_burst() -> None:
    assert H200 is not None
    peak = 989.5 * CLOCK_B / H200.peaks["bf16"].clock_mhz
    share = matmul().value("burst_clock_share")
    assert share == pytest.approx(100 * FLOPS / 1391e3 / 1e3 / peak)


def test_without_a_burst_nothing_is_added() -> None:
    stage = whole(gpu_timing(SAMPLES))
    assert with_burst(stage, gpu_timing(SAMPLES)) == stage


def test_memory_bound_bursts_do_not_follow_the_sm_clock() -> None:
    stage = whole(monitored(), flops=1e9, moved=4.2e9)
    stage = with_metrics(stage, burst_duration=1e6, burst_sm_clock=CLOCK_B * 1e6)
    found = with_burst(stage, monitored())
    assert found.value("burst_clock_share") == pytest.approx(100 * 4200 / 4800)


@pytest.mark.parametrize(
    ("time", "text"),
    [
        (10e3, "IMPOSSIBLE 6400 GB/s is 133 % of the DRAM peak; likely causes: warm cache, wrong"),
        (13.1e3, ""),  # 4885 GB/s: 101.8 %
    ],
)
def test_a_rate_above_dram_is_impossible(time: float, text: str) -> None:
    """TileGym issue 82: 64 MB in 10 µs on a part of 4.8 TB/s."""
    timing = gpu_timing([time] * 200, floor=Floor(nothing_ns=0.1, empty_ns=0.2))
    assert impossible(whole(timing, flops=1e6, moved=64e6), timing).startswith(text or "")
    assert bool(impossible(whole(timing, flops=1e6, moved=64e6), timing)) == bool(text)


def test_above_the_peak_at_a_steady_clock_is_impossible() -> None:
    """At 1392 MHz; one reading is a doubt, ten are a fact."""
    assert H200 is not None
    low = 989.5 * 1620 / H200.peaks["bf16"].clock_mhz
    steady = gpu_timing(SAMPLES, clock=msgspec.structs.replace(CLOCK, readings=10))
    stage = whole(steady, flops=low * 1.05 * 1e9)
    assert impossible(stage, steady).startswith(
        "IMPOSSIBLE 105 % of the roofline at the measured clock; likely causes: "
    )
    assert not any("read once" in text for text in remarks(steady, stage))
    once = gpu_timing(SAMPLES)
    assert (is_steady(steady), is_steady(once)) == (True, False)
    assert impossible(stage, once) == ""


def test_an_impossible_burst_is_impossible() -> None:
    stage = with_metrics(matmul(), burst_roofline_share=103.0)
    assert impossible(stage, monitored()).startswith("IMPOSSIBLE 103 % of the roofline in bursts")


def test_power_and_lock_are_said() -> None:
    timing = monitored()
    texts = remarks(timing, matmul())
    assert (
        "power-limited: SM clock 30 % below boost, the power cap active 93 % of the time; compare "
        "versions only with mla compare, not across separate runs"
    ) in texts
    assert not any(text.startswith("SM clock") for text in texts)  # said once
    lost = Clock(
        source="in-band",
        sm_mhz=1278.0,
        readings=640,
        reasons=("sw power cap",),
        lock_mhz=1305.0,
        lock_held=False,
        locked=False,
    )
    lost_timing = gpu_timing(SAMPLES, clock=lost)
    texts = remarks(lost_timing, whole(lost_timing))
    assert texts[0] == (
        "lock at 1305 MHz not held (sw power cap), the clock ran at 1278 MHz: take a lower one "
        "(scripts/lock-gpu-clock.sh)"
    )
    assert not any(text.startswith("clocks not locked") for text in texts)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({}, ()),
        ({"warm_up": WarmUp(calls=9, busy_ns=5e9, settled=False)}, ("not settled",)),
        ({"series": series([1000e3] * 100 + [960e3] * 100)}, ("not settled",)),
        ({"clock": msgspec.structs.replace(CLOCK, lock_held=False)}, ("lock not held",)),
        ({"shared_gpu": True}, ("shared GPU",)),
        ({"shared_gpu": None}, ()),
    ],
)
def test_what_strict_refuses(more: dict[str, Any], words: tuple[str, ...]) -> None:
    timing = gpu_timing(SAMPLES, **more)
    stage = whole(msgspec.structs.replace(timing, clock=CLOCK))
    assert unreliable(timing, stage) == words


def test_a_ramp_gives_no_verdict_but_a_doubt() -> None:
    """triton issue 2306: 11.2 to 8.8 µs over the first 100 calls, in a run that is too short."""
    ramp = [11.2e3 - 2.4e3 * min(call, 100) / 100 for call in range(120)]
    timing = gpu_timing(ramp, floor=Floor(nothing_ns=0.1, empty_ns=0.2))
    stage = whole(timing, flops=1e9)
    assert unreliable(timing, stage) == ("not settled",)
    assert any(text.startswith("did not settle: drift -") for text in remarks(timing, stage))


@pytest.mark.parametrize(
    ("kernels", "stages", "exactly", "text"),
    [
        ({}, 2, True, ""),
        ({"a": 1, "b": 1}, 2, True, ""),
        ({"a": 1}, 2, True, "one call launched 1 kernel, and the plan has 2 stages"),
        ({"a": 3}, 2, True, "one call launched 3 kernels, and the plan has 2 stages"),
        ({"a": 6}, 1, False, ""),  # torch launches several
        ({"a": 1}, 2, False, "one call launched 1 kernel, and the plan has 2 stages"),
    ],
)
def test_the_kernels_are_held_against_the_stages(
    kernels: dict[str, int], stages: int, exactly: bool, text: str
) -> None:
    assert launches_remark(gpu_timing(SAMPLES, kernels=kernels), stages, exactly) == text


def test_a_cpu_has_no_regime_to_doubt() -> None:
    timing = cpu_timing(SAMPLES)
    assert unreliable(timing, whole(timing)) == ()
