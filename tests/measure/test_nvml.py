"""NVML through a stand-in for pynvml: every figure by hand, and drivers that refuse some of it."""

import sys
import threading
from itertools import islice, pairwise

import pytest
from tests.support.fake_nvml import UUID, FakeNvml, NVMLError

from mla_var3.measure.nvml import NvmlProbe

HELD = {
    "sw power cap": 5e9,
    "sw thermal slowdown": 0.0,
    "hw thermal slowdown": 0.0,
    "hw power brake": 0.0,
}
FIELDS = (74, 269, 270, 271)


def test_one_reading_has_every_figure_in_its_unit() -> None:
    probe = NvmlProbe(UUID, FakeNvml())
    reading = probe.read()
    assert (reading.sm_mhz, reading.memory_mhz, reading.temperature_c) == (1392.0, 3201.0, 61.0)
    assert (reading.power_w, reading.power_average_w) == (698.25, 690.5)  # from milliwatt
    assert reading.reasons == 4
    assert (probe.source, probe.period_ms) == ("nvml", 20)


def test_the_counters_are_the_fields_in_ns_and_the_energy_in_joule() -> None:
    probe = NvmlProbe(UUID, FakeNvml())
    assert probe.counters_from == "nvml fields"
    assert probe.counters() == (HELD, 1234.0)


def test_without_the_fields_the_violation_status_counts() -> None:
    probe = NvmlProbe(UUID, FakeNvml(refused=(*FIELDS, 83)))
    assert probe.counters_from == "nvml violation status"
    held, energy = probe.counters()
    assert held == {"sw power cap": 7e9, "sw thermal slowdown": 1000.0}
    assert energy is None


def test_without_either_nothing_counts() -> None:
    probe = NvmlProbe(UUID, FakeNvml(refused=(*FIELDS, "nvmlDeviceGetViolationStatus")))
    assert probe.counters_from == ""
    assert probe.counters()[0] == {}


@pytest.mark.parametrize(
    ("refused", "field", "value"),
    [
        ((186,), "power_w", None),
        ((185,), "power_average_w", 681.0),  # the older call
        ((185, "nvmlDeviceGetPowerUsage"), "power_average_w", None),
        (("nvmlDeviceGetClockInfo",), "sm_mhz", None),
        (("nvmlDeviceGetTemperatureV",), "temperature_c", 61.0),  # the older name
        (("nvmlDeviceGetTemperatureV", "nvmlDeviceGetTemperature"), "temperature_c", None),
        (("nvmlDeviceGetCurrentClocksEventReasons",), "reasons", 4),
        (("nvmlDeviceGetFieldValues",), "power_w", None),
    ],
)
def test_what_a_driver_refuses_is_missing_and_never_zero(
    refused: tuple[object, ...], field: str, value: float | None
) -> None:
    assert getattr(NvmlProbe(UUID, FakeNvml(refused)).read(), field) == value


def test_a_module_without_the_newer_names_works() -> None:
    class Older(FakeNvml):
        nvmlDeviceGetCurrentClocksEventReasons = None  # type: ignore[assignment]
        nvmlDeviceGetTemperatureV = None  # type: ignore[assignment]

    reading = NvmlProbe(UUID, Older()).read()
    assert (reading.reasons, reading.temperature_c) == (4, 61.0)


def test_readings_follow_the_period_and_can_be_paused() -> None:
    probe = NvmlProbe(UUID, FakeNvml())
    stop = threading.Event()
    times = [reading.at_ns for reading in islice(probe.readings(stop), 4)]
    assert all(b - a >= 19e6 for a, b in pairwise(times))
    probe.pause(True)
    threading.Timer(0.1, stop.set).start()
    assert list(probe.readings(stop)) == []


def test_another_device_or_no_module_is_an_error_of_the_caller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(NVMLError, match="Not Found"):
        NvmlProbe("GPU-other", FakeNvml())
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(ImportError):
        NvmlProbe(UUID)
    fake = FakeNvml()
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    NvmlProbe(UUID).close()
    assert (fake.log[0], fake.log[-1]) == ("nvmlInit", "nvmlShutdown")
