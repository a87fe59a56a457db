"""What was seen of a GPU beside a timed run: its clocks, power, and what held the clocks back.

Times are in nanoseconds on one clock with the windows of the run. What the driver does not tell is
None, never 0.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import msgspec

from mla_var3 import conf
from mla_var3.core import stats

CAP = "sw power cap"
Window = tuple[float, float]


class Reading(msgspec.Struct, frozen=True, array_like=True):
    """One look at the device. Power in watt: of this moment, and as the driver averages it."""

    at_ns: float
    sm_mhz: float | None = None
    memory_mhz: float | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    power_average_w: float | None = None
    reasons: int | None = None
    """Bits of what holds the clock back (conf/monitor.json)."""


class Held(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the driver's own counters say of a stretch of time: they miss nothing."""

    counted_ns: float
    """From one look at the counters to the other."""
    by_ns: dict[str, float] = {}
    """For how long each reason held the clock back."""
    energy_j: float | None = None

    def share_pct(self, reason: str) -> float | None:
        """Of the time; None where it was not counted."""
        spent = self.by_ns.get(reason)
        if spent is None or self.counted_ns <= 0:
            return None
        return min(100.0, 100.0 * spent / self.counted_ns)


class Overhead(msgspec.Struct, frozen=True, kw_only=True):
    """How much longer a call takes while the device is looked at, in percent, with its interval."""

    pct: float
    low_pct: float
    high_pct: float
    level_pct: float
    quads: int


class Monitor(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Every reading of a run, in order."""

    source: str
    """`nvml`, `nvidia-smi`; `n/a` where nothing could be asked."""
    period_ms: float = 0.0
    readings: tuple[Reading, ...] = ()
    counters: str = ""
    """Who adds up what held the clock back: `nvml fields`, `nvml violation status`; or nobody."""
    overhead: Overhead | None = None
    missing: dict[str, str] = {}


class Busy(NamedTuple):
    """The readings that fell into the busy windows of a run, put together."""

    readings: int
    busy_ns: float
    sm_mhz: tuple[float, ...] = ()
    """5th, 50th and 95th percentile; empty: not told."""
    memory_mhz: float | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    power_average_w: float | None = None
    no_power: str = ""
    reasons: tuple[str, ...] = ()
    """Active in more than a twentieth of the readings."""
    cap_pct: float | None = None
    """Share of the readings with the software power cap active."""


def busy(monitor: Monitor, windows: Sequence[Window]) -> Busy:
    """What was read while the kernel ran; readings between the windows count for nothing."""
    inside = [r for r in monitor.readings if any(a <= r.at_ns <= b for a, b in windows)]
    busy_ns = sum(b - a for a, b in windows)
    short = too_short(len(inside), busy_ns)
    clocks = _told(inside, lambda reading: reading.sm_mhz)
    reasons = {name: _active_pct(inside, name) for name in conf.table("monitor")["reasons"]}
    least = conf.table("monitor")["told_share_pct"]["value"]
    power = _told(inside, lambda reading: reading.power_w)
    average = _told(inside, lambda reading: reading.power_average_w)
    return Busy(
        readings=len(inside),
        busy_ns=busy_ns,
        sm_mhz=tuple(stats.quantile(clocks, q) for q in (0.05, 0.5, 0.95)) if clocks else (),
        memory_mhz=_middle(_told(inside, lambda reading: reading.memory_mhz)),
        temperature_c=_middle(_told(inside, lambda reading: reading.temperature_c)),
        power_w=None if short else _middle(power),
        power_average_w=None if short else _middle(average),
        no_power=short or ("" if power or average else "not told by this driver"),
        reasons=tuple(
            name
            for name, share in reasons.items()
            if share and share > least and name != "gpu idle"
        ),
        cap_pct=reasons[CAP],
    )


def too_short(readings: int, busy_ns: float) -> str:
    """Why the power is not shown; empty where it is."""
    table = conf.table("monitor")
    enough = readings >= table["least_readings"]["value"]
    if enough and busy_ns >= table["least_busy_s"]["value"] * 1e9:
        return ""
    return "run too short for the sensor"


def _active_pct(readings: Sequence[Reading], name: str) -> float | None:
    bit: int = conf.table("monitor")["reasons"][name]["bit"]
    told = [reading.reasons for reading in readings if reading.reasons is not None]
    if not told:
        return None
    return 100.0 * sum(bool(bits & bit) for bits in told) / len(told)


def _told(readings: Iterable[Reading], value: Callable[[Reading], float | None]) -> list[float]:
    return [found for found in map(value, readings) if found is not None]


def _middle(values: Sequence[float]) -> float | None:
    return stats.median(values) if values else None
