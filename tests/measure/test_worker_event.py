"""The child's event task in this process: what it writes, and what it refuses to time."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.measure.test_events import FakeTorch
from tests.support.cpu_plans import Doubled

from mla_var3.core.errors import BadArgument, KernelFailed, MachineCannot
from mla_var3.core.locate import find
from mla_var3.core.timing import Timing, load_timing
from mla_var3.measure import timing as protocol
from mla_var3.measure import worker_event
from mla_var3.measure.events import EventTimer
from mla_var3.measure.timing_cpu import CpuTimer
from mla_var3.measure.worker_event import measure
from mla_var3.measure.worker_spec import spec_for

pytest.importorskip("torch", reason="torch is not installed here")
pytestmark = pytest.mark.kernel

SHORT = {
    "warm_up_busy_s": 0.01,
    "warm_up_limit_s": 2.0,
    "window_s": 0.005,
    "settle_pct": 1000.0,
    "least_busy_s": 0.0,
    "least_samples": 20.0,
    "half_width_pct": 1000.0,
    "limit_s": 30.0,
}
"""The limits are for a machine that does much else."""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rates and the load of this CPU are not what is tested here."""
    peaks = {"matmul_fp32_tflops": 0.05, "dram_gbps": 20.0}
    monkeypatch.setattr("mla_var3.measure.worker_event.measured_peaks", lambda size: peaks)
    monkeypatch.setattr("mla_var3.measure.timing_cpu.CpuLoad.others_pct", lambda self: 63.0)


def timed(plan: Any, folder: Path, **more: Any) -> Timing:
    words = {"bench_runs": 4, "settings": SHORT} | more
    measure(spec_for(plan, "event", "cpu", folder, **words))
    return load_timing(folder / "timing.json")


def test_what_is_written(tmp_path: Path) -> None:
    timing = timed(Doubled(), tmp_path)
    assert len(timing.series.samples_ns) == 4
    assert all(sample > 0 for sample in timing.series.samples_ns)
    assert (timing.timer, timing.series.cache, timing.series.stop) == (
        "perf_counter_ns",
        "cold",
        "count",
    )
    assert timing.settings["limit_s"] == 30.0
    assert timing.machine.flush_cache_bytes >= 1 << 20
    assert timing.warm_up.calls >= 3
    assert timing.missing == {
        "clock": "the clock of a CPU is not read",
        "kernel count": "a CPU launches no kernels",
    }
    assert (timing.schema_version, timing.regime, timing.distribution) == (2, "sustained", "normal")
    (window,) = timing.series.windows_ns
    assert 0 < window[0] < window[1] and window[1] - window[0] == pytest.approx(
        timing.series.wall_ns, abs=2
    )
    assert timing.warnings == (
        "shared CPU: others used 63 % of its cores, so times may be too long",
    )


def test_the_protocol_stops_by_itself(tmp_path: Path) -> None:
    series = timed(Doubled(), tmp_path, bench_runs=None).series
    assert series.stop == "converged"
    assert len(series.samples_ns) == 110  # ten blocks of ten, and the batch that was queued


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("unwritten", "stage double: 4096 of 4096 elements of its output were never written"),
        ("half", "stage double: 2048 of 4096 elements of its output were never written"),
        ("fails", "stage double failed: RuntimeError"),
    ],
)
def test_a_kernel_that_does_not_do_its_work_has_no_time(
    tmp_path: Path, fault: str, why: str
) -> None:
    with pytest.raises(KernelFailed, match=why):
        timed(Doubled(fault=fault), tmp_path)
    assert not (tmp_path / "timing.json").exists()


@pytest.mark.parametrize(
    ("fault", "why"),
    [("nan", "the result of double holds NaN"), ("in_place", "the result was not checked")],
)
def test_doubts_of_the_result_are_said(tmp_path: Path, fault: str, why: str) -> None:
    warnings = timed(Doubled(fault=fault), tmp_path).warnings
    assert any(text.startswith(why) for text in warnings)


def test_a_warm_cache_has_no_flush(tmp_path: Path) -> None:
    assert timed(Doubled(), tmp_path, cache="warm").series.cache == "warm"


@pytest.mark.parametrize("cache", ["cold", "warm"])
def test_twice_the_last_cache_is_flushed_before_each_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: str
) -> None:
    class Spy(CpuTimer):
        def __init__(self, run: Any, flush_bytes: int) -> None:
            seen.append(flush_bytes)
            super().__init__(run, flush_bytes)

        def start(self, count: int, cache: Any) -> list[float]:
            seen.append((count, cache))
            return super().start(count, cache)

    seen: list[object] = []
    monkeypatch.setattr(worker_event, "CpuTimer", Spy)
    monkeypatch.setattr(worker_event, "last_level_cache_bytes", lambda: 4 << 20)
    timing = timed(Doubled(), tmp_path, cache=cache)
    assert seen == [8 << 20, (4, cache)]
    assert timing.flush.startswith("8 MB written, then 8 MB of a second buffer read")
    assert timing.machine.flush_cache_bytes == 4 << 20


@pytest.mark.parametrize(
    ("told", "size"), [({"L2_cache_size": 62914560}, 62914560), ({}, 64 << 20)]
)
def test_the_cache_of_a_gpu_is_its_l2(
    monkeypatch: pytest.MonkeyPatch, told: dict[str, int], size: int
) -> None:
    device = SimpleNamespace(
        name="NVIDIA H200", major=9, minor=0, multi_processor_count=132, **told
    )
    monkeypatch.setattr("torch.cuda.get_device_properties", lambda index: device)
    monkeypatch.setattr("torch.cuda.current_device", lambda: 0)
    monkeypatch.setattr(worker_event, "driver_version", lambda uuid: f"580 of {uuid}")
    spec = spec_for(Doubled(), "event", "cuda:0", Path(), uuid="GPU-1")
    machine = worker_event.machine_of(spec)
    assert (machine.device, machine.capability, machine.sm_count) == ("NVIDIA H200", "9.0", 132)
    assert (machine.flush_cache_bytes, machine.driver) == (size, "580 of GPU-1")


def test_short_calls_are_queued_behind_a_spin_kernel_and_long_ones_are_not() -> None:
    chosen = protocol.settings("cuda:0")
    for call_ns, spins in ((10e3, 1), (1e9, 0)):
        torch = FakeTorch()
        timer = EventTimer(lambda: None, 4000, torch)
        queueing = worker_event._queue(timer, chosen, call_ns)
        torch.log.clear()
        timer.start(1, "warm")
        assert len([word for word in torch.log if word.startswith("spin ")]) == spins
        assert ("spin kernel" in queueing.words) == bool(spins)
        assert queueing.host_ns is not None and queueing.host_ns < 1e7


def test_a_run_of_minutes_is_refused_with_a_smaller_problem(tmp_path: Path) -> None:
    plan = find("flash_mla", None, "torch")(b=64, s=64, t=65536)
    with pytest.raises(MachineCannot, match=r"would take about .* try --"):
        timed(plan, tmp_path)


def test_an_unknown_setting_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadArgument, match="no setting 'speed'"):
        timed(Doubled(), tmp_path, settings={"speed": 1.0})


def test_a_device_that_torch_does_not_see_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(MachineCannot, match="torch sees no cuda:0 here"):
        measure(spec_for(Doubled(), "event", "cuda:0", tmp_path))
