"""Looks at the GPU beside a timed run, in a thread: clocks, power, and what holds them back.

NVML every 20 ms where nvidia-ml-py is installed, else nvidia-smi every 100 ms, else nothing, with
the reason. NVML's calls leave Python's lock, so the launching thread goes on.
"""

import threading
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

import msgspec

from mla_var3.core.monitor import Held, Monitor, Overhead, Reading
from mla_var3.measure.nvml import NvmlProbe
from mla_var3.measure.smi_loop import SmiProbe

STOP_S = 2.0


class Probe(Protocol):
    """Someone who can be asked of one device."""

    source: str
    period_ms: float
    counters_from: str

    def readings(self, stop: threading.Event) -> Iterator[Reading]: ...

    def counters(self) -> tuple[dict[str, float], float | None]: ...

    def pause(self, paused: bool) -> None: ...

    def close(self) -> None: ...


class Counted(NamedTuple):
    """The driver's counters at one time: ns by reason, joules."""

    at_ns: float
    by_ns: dict[str, float]
    energy_j: float | None


class GpuMonitor:
    """Reads a device until stopped; whatever goes wrong is told and never raised."""

    def __init__(self, probe: Probe | None, missing: dict[str, str] | None = None) -> None:
        """`probe` None: nothing can be asked, for the reasons of `missing`."""
        self._probe = probe
        self._missing = dict(missing or {})
        self._readings: list[Reading] = []
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._overhead: Overhead | None = None

    @property
    def is_reading(self) -> bool:
        return self._thread is not None

    def start(self) -> None:
        if self._probe is not None and self._thread is None:
            self._thread = threading.Thread(target=self._read, daemon=True)
            self._thread.start()

    def pause(self, paused: bool) -> None:
        """Stop or go on reading, to measure what it costs."""
        if self._probe is not None:
            self._probe.pause(paused)

    def count(self) -> Counted | None:
        """The driver's counters now; None where nobody adds up."""
        if self._probe is None or not self._probe.counters_from:
            return None
        by_ns, energy = self._probe.counters()
        return Counted(time.perf_counter_ns(), by_ns, energy)

    def costs(self, overhead: Overhead) -> None:
        """Keep what looking was found to cost."""
        self._overhead = overhead

    def stop(self) -> None:
        """End; nothing is read afterwards."""
        self._stop.set()
        if self._probe is not None:
            self._probe.pause(False)
            if self._thread is not None and self._probe.source != NvmlProbe.source:
                self._probe.close()  # it waits for a line
            if self._thread is not None:
                self._thread.join(STOP_S)
            self._probe.close()

    def result(self, origin_ns: float = 0.0) -> Monitor:
        """Everything that was read, in times from `origin_ns` on."""
        probe = self._probe
        if probe is None:
            return Monitor(source="n/a", missing=self._missing)
        readings = tuple(
            msgspec.structs.replace(reading, at_ns=round(reading.at_ns - origin_ns))
            for reading in self._readings
        )
        missing = dict(self._missing)
        if not readings:
            missing.setdefault("readings", f"{probe.source} did not answer while the kernel ran")
        if not probe.counters_from:
            missing["counters"] = f"{probe.source} adds up nothing here"
        return Monitor(
            source=probe.source,
            period_ms=probe.period_ms,
            readings=readings,
            counters=probe.counters_from,
            overhead=self._overhead,
            missing=missing,
        )

    def _read(self) -> None:
        if self._probe is None:
            return
        try:
            for reading in self._probe.readings(self._stop):
                self._readings.append(reading)
        except Exception as error:  # a thread must not print a traceback
            self._missing["readings"] = f"{self._probe.source} failed: {type(error).__name__}"


def find_monitor(
    uuid: str,
    nvml: Callable[[str], Probe] = NvmlProbe,
    smi: Callable[[str], Probe] = SmiProbe,
) -> GpuMonitor:
    """A monitor of the device by the best source that answers here."""
    if not uuid:
        return GpuMonitor(None, {"monitor": "the driver does not tell the UUID of the device"})
    reasons: dict[str, str] = {}
    for name, make in (("nvml", nvml), ("nvidia-smi", smi)):
        try:
            return GpuMonitor(make(uuid), reasons)
        except ImportError:
            reasons[name] = "nvidia-ml-py is not installed (extra gpu)"
        except Exception as error:  # NVML's errors are of its own module
            reasons[name] = str(error) or type(error).__name__
    return GpuMonitor(None, reasons)


def held_between(before: Counted | None, after: Counted | None) -> Held | None:
    """What the counters say of the time between two looks."""
    if before is None or after is None:
        return None
    energy = None
    if before.energy_j is not None and after.energy_j is not None:
        energy = round(after.energy_j - before.energy_j, 3)
    return Held(
        counted_ns=after.at_ns - before.at_ns,
        by_ns={
            name: spent - before.by_ns[name]
            for name, spent in after.by_ns.items()
            if name in before.by_ns and spent >= before.by_ns[name]
        },
        energy_j=energy,
    )
