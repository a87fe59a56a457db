"""The SM clock of each leg of a comparison or race, counted on the device around each call."""

import math
from typing import Any, Protocol

from mla_var3.measure.inband import SOURCE, InBandClock, find_in_band
from mla_var3.measure.quads import LegClock


class CycleTimer(Protocol):
    """A timer that notes cycles around its samples: `EventTimer`."""

    def read(self, batch: Any) -> list[float]: ...

    def mhz_of(self, batch: Any) -> list[float | None]: ...


class InBandLegs:
    """A `ClockOfLegs`: every call has its own clock, and so its own cycles."""

    source = SOURCE

    def of_leg(self, timer: Any, batch: Any, begin_ns: float, end_ns: float) -> LegClock:
        """Mean clock of the calls, and cycles where each of them is known."""
        return leg_clock(timer, batch)


def leg_clock(timer: CycleTimer, batch: Any) -> LegClock:
    """Of a batch that was read."""
    clocks = timer.mhz_of(batch)
    known = [mhz for mhz in clocks if mhz is not None]
    if not known:
        return LegClock()
    cycles: tuple[float, ...] = ()
    if len(known) == len(clocks):
        pairs = zip(timer.read(batch), known, strict=True)
        cycles = tuple(ns * mhz / 1e3 for ns, mhz in pairs)
    return LegClock(math.fsum(known) / len(known), cycles)


def cycles_on(device: str, sms: int | None) -> InBandClock | str:
    """What notes cycles on torch's current device, or why nothing does."""
    if not device.startswith("cuda"):
        return "the clock of a CPU is not read"
    import torch

    return find_in_band(torch, sms)
