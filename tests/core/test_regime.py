"""Figures of a series with what was seen of the device meanwhile; the lock, judged from it."""

from typing import Any

import pytest
from tests.support.timings import CLOCK, gpu_timing, monitored, series

from mla_var3.core.monitor import Held, Monitor, Reading, busy
from mla_var3.core.regime import clock_of, figures_of, rows_of, with_lock
from mla_var3.core.timing import Clock, Timing

SECOND = 1e9
SW_CAP, IDLE, APPLICATION = 4, 1, 2


def readings(*clocks: float, step: float = 0.02 * SECOND, **more: Any) -> tuple[Reading, ...]:
    return tuple(Reading(step * (at + 1), mhz, **more) for at, mhz in enumerate(clocks))


def test_only_readings_in_a_busy_window_count() -> None:
    """Of a clock that is 1980 MHz while idle and 1392 while busy, only 1392 is of the kernel."""
    monitor = Monitor(source="nvml", readings=readings(1980, 1392, 1392, 1980, 1380, 1980))
    windows = ((0.03 * SECOND, 0.07 * SECOND), (0.09 * SECOND, 0.11 * SECOND))
    found = busy(monitor, windows)
    assert (found.readings, found.busy_ns) == (3, pytest.approx(0.06 * SECOND))
    assert found.sm_mhz == pytest.approx((1381.2, 1392.0, 1392.0))  # p5 of 1380, 1392, 1392
    assert busy(monitor, ()).sm_mhz == ()


@pytest.mark.parametrize(
    ("count", "seconds", "told"), [(60, 1.2, True), (9, 1.2, False), (60, 0.9, False)]
)
def test_power_needs_ten_readings_and_a_second(count: int, seconds: float, told: bool) -> None:
    step = seconds * SECOND / (count + 1)
    monitor = Monitor(
        source="nvml",
        readings=readings(*[1392.0] * count, step=step, power_w=698.0, power_average_w=690.0),
    )
    found = busy(monitor, ((0.0, seconds * SECOND),))
    assert (found.power_w, found.power_average_w) == ((698.0, 690.0) if told else (None, None))
    assert found.no_power == ("" if told else "run too short for the sensor")


def test_what_is_not_told_is_none_and_never_zero() -> None:
    found = busy(Monitor(source="nvml", readings=readings(*[None] * 60)), ((0.0, 2 * SECOND),))  # type: ignore[arg-type]
    assert (found.sm_mhz, found.power_w, found.cap_pct) == ((), None, None)
    assert found.no_power == "not told by this driver"


def test_reasons_are_those_of_more_than_a_twentieth_of_the_readings() -> None:
    bits = [SW_CAP] * 60 + [0] * 36 + [APPLICATION] * 4 + [IDLE] * 100
    seen = tuple(Reading(float(at), 1392.0, reasons=bit) for at, bit in enumerate(bits, start=1))
    found = busy(Monitor(source="nvml", readings=seen), ((0.0, 1000.0),))
    assert found.reasons == ("sw power cap",)  # idle holds nothing back; 2 % is too little
    assert found.cap_pct == 30.0


def test_counters_come_before_readings() -> None:
    """The cap held for 0.93 s of 1 s; the readings saw it in half of them."""
    seen = tuple(Reading(float(at), 1392.0, reasons=SW_CAP * (at % 2)) for at in range(1, 101))
    monitor = Monitor(source="nvml", readings=seen)
    held = Held(counted_ns=1 * SECOND, by_ns={"sw power cap": 0.93 * SECOND})
    taken = series([1e6] * 100, windows_ns=((0.0, 1000.0),))
    assert figures_of(taken, monitor).cap_pct == 50.0
    counted = series([1e6] * 100, windows_ns=((0.0, 1000.0),), held=held)
    assert figures_of(counted, monitor).cap_pct == pytest.approx(93.0)


def test_the_clock_in_band_comes_before_readings() -> None:
    monitor = Monitor(source="nvml", readings=readings(*[1500.0] * 20))
    windows = ((0.0, 1 * SECOND),)
    counted = series([1e6] * 4, mhz=(1390.0, None, 1392.0, 1394.0), windows_ns=windows)
    found = figures_of(counted, monitor)
    assert (found.clock_source, found.clock_mhz, found.readings) == ("in-band", 1392.0, 3)
    assert found.cycles == pytest.approx(1e6 * 1392 / 1e3)
    assert counted.cycles == (1390e3, None, 1392e3, 1394e3)
    plain = figures_of(series([1e6] * 4, windows_ns=windows), monitor)
    assert (plain.clock_source, plain.clock_mhz, plain.readings) == ("nvml", 1500.0, 20)
    assert figures_of(series([1e6] * 4), None).clock_source == "n/a"


def test_a_burst_is_a_row_of_its_own() -> None:
    timing = monitored()
    sustained, burst = rows_of(timing)
    assert (sustained.regime, burst.regime) == ("sustained", "burst")
    assert (sustained.median_ns, burst.median_ns) == (1602.4e3, 1391e3)
    assert (sustained.clock_mhz, burst.clock_mhz) == (1392.0, 1605.0)
    assert burst.interval is None and sustained.interval is not None  # 90 and 640 samples


def test_a_run_of_schema_1_has_its_one_reading() -> None:
    (row,) = rows_of(gpu_timing([1e6] * 200))
    assert (row.clock_source, row.sm_mhz, row.readings) == ("nvidia-smi", (1620.0,), 1)


def test_one_answer_becomes_the_medians_of_the_run() -> None:
    timing = monitored()
    told = Clock(source="nvidia-smi", sm_mhz=1770.0, max_sm_mhz=1980.0, power_w=1.0, locked=False)
    clock = clock_of(told, figures_of(timing.series, timing.monitor), "nvml")
    assert (clock.source, clock.sensor, clock.readings) == ("in-band", "nvml", 640)
    assert (clock.sm_mhz, clock.max_sm_mhz, clock.power_w) == (1392.0, 1980.0, 698.0)
    assert clock.reasons == ("sw power cap",)
    silent = Clock(source="nvidia-smi", missing={"clock": "no nvidia-smi on PATH"})
    found = clock_of(silent, figures_of(timing.series, timing.monitor), "nvml")
    assert (found.sm_mhz, found.missing) == (1392.0, {})
    assert clock_of(silent, figures_of(series([1e6] * 4), None)) == silent


def locked(clocks: list[float], mhz: float | None, **more: Any) -> Timing:
    timing = gpu_timing(
        [1e6] * len(clocks),
        series=series([1e6] * len(clocks), mhz=tuple(clocks)),
        clock=Clock(source="in-band", sm_mhz=clocks[0], **more),
    )
    return with_lock(timing, mhz)


@pytest.mark.parametrize(
    ("away", "held"),
    [(0, True), (5, True), (6, False), (100, False)],  # of 100, 2 % below 1305 is 1278.9
)
def test_a_lock_is_held_where_at_most_a_twentieth_is_two_percent_away(
    away: int, held: bool
) -> None:
    clock = locked([1278.0] * away + [1280.0] * (100 - away), 1305.0, locked=False).clock
    assert clock is not None
    assert (clock.lock_mhz, clock.lock_held, clock.locked) == (1305.0, held, held)


def test_without_its_clock_a_lock_is_held_at_its_highest_readings() -> None:
    steady = locked([1305.0] * 100, None, locked=True).clock
    dips = locked([1305.0] * 80 + [1200.0] * 20, None, locked=True).clock
    assert steady is not None and dips is not None
    assert (steady.lock_held, dips.lock_held) == (True, False)


def test_without_a_lock_nothing_is_judged() -> None:
    timing = gpu_timing([1e6] * 10)
    assert with_lock(timing, None) is timing
    assert timing.clock == CLOCK
