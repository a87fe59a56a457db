"""The figures of one series of samples: its time with an interval, its clock, its power.

A sustained and a burst series are two rows, never one number.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from mla_var3.core import rank, stats
from mla_var3.core.monitor import CAP, Busy, Monitor, busy
from mla_var3.core.timing import CacheState, Clock, Regime, Series, Timing

IN_BAND = "in-band"
PERCENTILES = (0.05, 0.5, 0.95)
NO_CLOCK = "n/a"


class RegimeFigures(NamedTuple):
    """One row. Times in ns; a figure that is not known is None or empty."""

    regime: Regime
    cache: CacheState
    samples: int
    median_ns: float
    interval: rank.Interval | None
    """95 % by blocks; None: `rank.SHORT_RUN`."""
    clock_source: str
    """`in-band`, `nvml`, `nvidia-smi`, `n/a`."""
    sm_mhz: tuple[float, ...] = ()
    """5th, 50th and 95th percentile; one figure where it was read once."""
    readings: int = 0
    """That the clock rests on."""
    seen: Busy | None = None
    """The monitor's readings in the busy windows."""
    cap_pct: float | None = None
    """Share of the time with the software power cap active, else of the readings."""

    @property
    def clock_mhz(self) -> float | None:
        """The median."""
        return self.sm_mhz[len(self.sm_mhz) // 2] if self.sm_mhz else None

    @property
    def cycles(self) -> float | None:
        """Median time times median clock."""
        return None if self.clock_mhz is None else self.median_ns * self.clock_mhz / 1e3


def figures_of(series: Series, monitor: Monitor | None) -> RegimeFigures:
    """One series with what was seen of the device meanwhile."""
    seen = busy(monitor, series.windows_ns) if monitor else None
    counted = [mhz for mhz in series.mhz if mhz is not None]
    source, readings = NO_CLOCK, 0
    clocks: tuple[float, ...] = ()
    if counted:
        source, readings = IN_BAND, len(counted)
        clocks = tuple(stats.quantile(counted, share) for share in PERCENTILES)
    elif seen and seen.sm_mhz and monitor:
        source, clocks, readings = monitor.source, seen.sm_mhz, seen.readings
    held = series.held.share_pct(CAP) if series.held else None
    return RegimeFigures(
        regime=series.regime,
        cache=series.cache,
        samples=len(series.samples_ns),
        median_ns=stats.median(series.samples_ns),
        interval=rank.block_interval(series.samples_ns),
        clock_source=source,
        sm_mhz=clocks,
        readings=readings,
        seen=seen,
        cap_pct=held if held is not None or seen is None else seen.cap_pct,
    )


def rows_of(timing: Timing) -> tuple[RegimeFigures, ...]:
    """The series of the figures, and the burst run that was added to it."""
    first = figures_of(timing.series, timing.monitor)
    clock = timing.clock
    if not first.sm_mhz and clock is not None and clock.sm_mhz is not None:
        first = first._replace(
            clock_source=clock.source, sm_mhz=(clock.sm_mhz,), readings=clock.readings
        )
    return (first, *((figures_of(timing.burst, timing.monitor),) if timing.burst else ()))


def clock_of(told: Clock, figures: RegimeFigures, sensor: str = "") -> Clock:
    """What nvidia-smi told once, with the medians of the run where something read it steadily.

    `sensor` is who read the power and the temperature.
    """
    changes: dict[str, Any] = {}
    if figures.sm_mhz:
        changes |= {
            "source": figures.clock_source,
            "sm_mhz": figures.clock_mhz,
            "readings": figures.readings,
        }
    seen = figures.seen
    if seen is not None and seen.readings:
        power = seen.power_w if seen.power_w is not None else seen.power_average_w
        found = {
            "memory_mhz": seen.memory_mhz,
            "temperature_c": seen.temperature_c,
            "power_w": power,
        }
        changes |= {name: value for name, value in found.items() if value is not None}
        changes |= {"sensor": sensor, "reasons": seen.reasons or told.reasons}
    missing = {name: why for name, why in told.missing.items() if name not in changes}
    if figures.sm_mhz:
        missing.pop("clock", None)
    return msgspec.structs.replace(told, missing=missing, **changes)


def with_lock(timing: Timing, lock_mhz: float | None) -> Timing:
    """Whether a lock of the clock was held, by the clocks in the run.

    `lock_mhz` is what it was locked to; without it a lock that the driver tells of is held where
    the clock did not leave its highest readings.
    """
    clock = timing.clock
    if clock is None or (lock_mhz is None and not clock.locked):
        return timing
    read = _clocks(timing)
    held = None
    if read:
        target = lock_mhz if lock_mhz is not None else stats.quantile(read, 0.95)
        held = lost_pct(read, target, timing.settings) <= timing.settings["lock_lost_pct"]
    locked = clock.locked if held is None else held
    changed = msgspec.structs.replace(clock, lock_mhz=lock_mhz, lock_held=held, locked=locked)
    return msgspec.structs.replace(timing, clock=changed)


def lost_pct(read: Sequence[float], target: float, settings: dict[str, float]) -> float:
    """Share of the readings that are farther from the lock than the settings allow."""
    apart = settings["lock_apart_pct"] / 100.0 * target
    return 100.0 * sum(abs(mhz - target) > apart for mhz in read) / len(read)


def _clocks(timing: Timing) -> list[float]:
    """Every reading of the SM clock while the kernel ran."""
    counted = [mhz for mhz in timing.series.mhz if mhz is not None]
    if counted:
        return counted
    windows = timing.series.windows_ns
    readings = timing.monitor.readings if timing.monitor else ()
    found = [
        reading.sm_mhz
        for reading in readings
        if reading.sm_mhz is not None and any(a <= reading.at_ns <= b for a, b in windows)
    ]
    if found:
        return found
    clock = timing.clock
    return [clock.sm_mhz] if clock and clock.sm_mhz is not None else []
