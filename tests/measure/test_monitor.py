"""The monitor's thread, its choice of a source, its counters, and what looking costs."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.fake_nvml import UUID, FakeNvml

from mla_var3.core.monitor import Reading
from mla_var3.measure import timing
from mla_var3.measure.monitor import Counted, GpuMonitor, Probe, find_monitor, held_between
from mla_var3.measure.monitor_cost import monitor_cost
from mla_var3.measure.nvml import NvmlProbe


class Listed:
    """A probe that hands out given readings, then waits to be stopped."""

    source = "nvml"
    period_ms = 20.0
    counters_from = "nvml fields"

    def __init__(self, readings: list[Reading], fault: Exception | None = None) -> None:
        self.given, self.fault = readings, fault
        self.paused: list[bool] = []
        self.closed = 0
        self.done = threading.Event()

    def readings(self, stop: threading.Event) -> Iterator[Reading]:
        yield from self.given
        self.done.set()
        if self.fault:
            raise self.fault
        stop.wait(10)

    def counters(self) -> tuple[dict[str, float], float | None]:
        return {"sw power cap": 3e9}, 1234.0

    def pause(self, paused: bool) -> None:
        self.paused.append(paused)

    def close(self) -> None:
        self.closed += 1


def ran(probe: Listed) -> GpuMonitor:
    monitor = GpuMonitor(probe)
    monitor.start()
    probe.done.wait(10)
    monitor.stop()
    return monitor


def test_readings_are_kept_in_order_and_counted_from_the_origin() -> None:
    probe = Listed([Reading(1000.4, 1392.0), Reading(2000.0, 1400.0)])
    found = ran(probe).result(origin_ns=500.0)
    assert found.readings == (Reading(500, 1392.0), Reading(1500, 1400.0))
    assert (found.source, found.period_ms, found.counters) == ("nvml", 20.0, "nvml fields")
    assert (found.missing, probe.closed) == ({}, 1)


def test_a_probe_that_fails_is_told_and_what_it_read_is_kept() -> None:
    found = ran(Listed([Reading(1.0, 1392.0)], OSError("gone"))).result()
    assert len(found.readings) == 1
    assert found.missing == {"readings": "nvml failed: OSError"}


def test_a_probe_that_gave_nothing_is_told() -> None:
    assert ran(Listed([])).result().missing == {"readings": "nvml did not answer while the "
                                                            "kernel ran"}  # fmt: skip


def test_nvml_comes_first_then_nvidia_smi_then_nothing_with_both_reasons() -> None:
    def nvml(uuid: str) -> Probe:
        return NvmlProbe(uuid, FakeNvml())

    def absent(uuid: str) -> Probe:
        raise ImportError("pynvml")

    def silent(uuid: str) -> Probe:
        raise OSError("no nvidia-smi on PATH")

    def looped(uuid: str) -> Probe:
        probe = Listed([])
        probe.source, probe.counters_from = "nvidia-smi", ""
        return probe

    first = find_monitor(UUID, nvml, looped)
    first.stop()
    assert (first.result().source, first.result().counters) == ("nvml", "nvml fields")
    second = find_monitor(UUID, absent, looped).result()
    assert second.source == "nvidia-smi"
    assert second.missing == {
        "nvml": "nvidia-ml-py is not installed (extra gpu)",
        "readings": "nvidia-smi did not answer while the kernel ran",
        "counters": "nvidia-smi adds up nothing here",
    }
    neither = find_monitor(UUID, absent, silent)
    neither.start()
    assert neither.count() is None and not neither.is_reading
    neither.stop()
    assert neither.result().missing == {
        "nvml": "nvidia-ml-py is not installed (extra gpu)",
        "nvidia-smi": "no nvidia-smi on PATH",
    }
    assert neither.result().source == "n/a"
    other = find_monitor("GPU-other", nvml, silent).result()
    assert other.missing["nvml"] == "Not Found"
    assert "UUID" in find_monitor("").result().missing["monitor"]


def test_counters_are_subtracted() -> None:
    before = Counted(1e9, {"sw power cap": 5e9, "hw thermal slowdown": 7.0, "odd": 9.0}, 100.0)
    after = Counted(3e9, {"sw power cap": 6.5e9, "hw thermal slowdown": 7.0, "odd": 1.0}, 1500.5)
    held = held_between(before, after)
    assert held is not None
    assert (held.counted_ns, held.energy_j) == (2e9, 1400.5)
    assert held.by_ns == {"sw power cap": 1.5e9, "hw thermal slowdown": 0.0}  # odd ran backwards
    assert held.share_pct("sw power cap") == 75.0
    assert held.share_pct("hw power brake") is None
    assert held_between(None, after) is None and held_between(before, None) is None


class Slower:
    """A timer whose calls take 1 ms, and 0.4 % longer while the monitor looks."""

    name = "fake"

    def __init__(self, probe: Listed) -> None:
        self.probe = probe
        self.legs: list[bool] = []

    def start(self, count: int, cache: Any) -> list[float]:
        watched = not self.probe.paused[-1]
        self.legs.append(watched)
        drift = 1.0 + 0.001 * len(self.legs)  # the device grows slower all the time
        return [1e6 * drift * (1.004 if watched else 1.0)] * count

    def read(self, batch: list[float]) -> list[float]:
        return batch


def test_what_looking_costs_is_found_beside_a_drift() -> None:
    probe = Listed([])
    monitor = GpuMonitor(probe)
    monitor.start()
    timer: Any = Slower(probe)
    chosen = timing.settings("cuda:0", {"monitor_quads": 12.0})
    cost = monitor_cost(timer, monitor, chosen, "cold", 1e6)
    monitor.stop()
    assert cost is not None and cost.quads == 12
    assert cost.pct == pytest.approx(0.4, abs=0.001)
    assert cost.low_pct <= cost.pct <= cost.high_pct
    assert timer.legs[:8] == [False, True, True, False, True, False, False, True]
    assert probe.paused[-2:] == [False, False]  # it reads again
    assert cost.level_pct >= 99.0


def test_without_being_asked_for_it_is_not_measured() -> None:
    monitor = GpuMonitor(Listed([]))
    chosen = timing.settings("cuda:0")
    assert chosen["monitor_quads"] == 0
    assert monitor_cost(Slower(Listed([])), monitor, chosen, "cold", 1e6) is None  # type: ignore[arg-type]
