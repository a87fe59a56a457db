"""What the child sees of the GPU beside the timed part: monitor, nvidia-smi once, cycles."""

from typing import NamedTuple

from mla_var3.core.monitor import Held, Monitor
from mla_var3.core.regime import IN_BAND, clock_of, figures_of
from mla_var3.core.timing import Clock, Series
from mla_var3.measure.clocks import ClockWatch, read_clocks
from mla_var3.measure.inband import InBandClock, find_in_band
from mla_var3.measure.monitor import Counted, GpuMonitor, find_monitor, held_between
from mla_var3.measure.timing import Settings


class Looks(NamedTuple):
    """Who looks at the device while it is timed; of a CPU nobody does."""

    monitor: GpuMonitor | None = None
    watch: ClockWatch | None = None
    """Asks nvidia-smi once: lock, highest clock, what holds it."""
    cycles: InBandClock | None = None
    no_cycles: str = ""

    def counters(self) -> Counted | None:
        """The driver's counters now."""
        return self.monitor.count() if self.monitor else None

    def held_since(self, before: Counted | None) -> Held | None:
        """What held the clock back since then."""
        return held_between(before, self.counters())

    def found(self, origin_ns: float) -> Monitor | None:
        """Everything that was read, in times from `origin_ns` on."""
        return self.monitor.result(origin_ns) if self.monitor else None

    def clock(self, series: Series, monitor: Monitor | None) -> Clock | None:
        """The clocks of the timed part."""
        if self.watch is None:
            return None
        sensor = monitor.source if monitor else ""
        return clock_of(self.watch.result(), figures_of(series, monitor), sensor)

    def missing(self) -> dict[str, str]:
        """Part of the protocol to the reason it was not done."""
        if self.watch is None:
            return {"clock": "the clock of a CPU is not read"}
        return {f"{IN_BAND} clock": self.no_cycles} if self.no_cycles else {}


def look_at(uuid: str, sms: int | None, chosen: Settings) -> Looks:
    """Begin to look at a CUDA device: before the warm-up, so that every source has started."""
    import torch

    monitor = find_monitor(uuid) if chosen["monitor"] else None
    if monitor is not None:
        monitor.start()
    found: InBandClock | str = "not asked for"
    if chosen["in_band"]:
        found = find_in_band(torch, sms)
    cycles = None if isinstance(found, str) else found
    return Looks(
        monitor=monitor,
        watch=ClockWatch(lambda: read_clocks(uuid)),
        cycles=cycles,
        no_cycles=found if isinstance(found, str) else "",
    )


def rebased(series: Series, origin_ns: float) -> tuple[tuple[float, float], ...]:
    """The busy windows of a series in whole ns from `origin_ns` on."""
    return tuple((round(a - origin_ns), round(b - origin_ns)) for a, b in series.windows_ns)
