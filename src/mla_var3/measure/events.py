"""Times one call of a plan with CUDA events on torch's current stream; the host never waits inside.

Order of a cold sample: write twice the L2, read a second buffer, hold the stream (short calls
only), note the cycles, start event, call, stop event, note the cycles. Only what stands between the
events is timed.
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from mla_var3.core.errors import KernelFailed, MachineCannot
from mla_var3.core.timing import CacheState

BYTES = 4
CYCLES_PER_NS = 3.5
"""Above the fastest SM clock that is sold (3.1 GHz): a spin of so many cycles lasts at least its
time."""
ENQUEUES = 10


class Cycles(Protocol):
    """Notes cycles before and after a sample: `measure/inband.py`."""

    def slots(self, count: int) -> Any: ...

    def stamp(self, slots: Any, row: int) -> None: ...

    def mhz(self, slots: Any) -> list[float | None]: ...


class Batch(NamedTuple):
    """Samples that are queued: their events, and where their cycles are noted."""

    events: list[tuple[Any, Any]]
    slots: Any = None
    noted: Any = None
    """Event after the last note."""


class EventTimer:
    """A `Timer` of CUDA events. `run` launches the plan once and does not wait."""

    name = "CUDA events"

    def __init__(
        self,
        run: Callable[[], None],
        flush_bytes: int,
        torch: Any,
        cycles: Cycles | None = None,
    ) -> None:
        """`torch` is the module, or a stand-in that records the order of calls."""
        self._torch = torch
        self._run = run
        self._cycles = cycles
        self._hold_cycles = 0
        size = flush_bytes // BYTES
        self._written = torch.empty(size, dtype=torch.int32, device="cuda")
        self._read = torch.zeros(size, dtype=torch.float32, device="cuda")
        self._sum = torch.empty((), dtype=torch.float32, device="cuda")

    def hold(self, hold_ns: float) -> None:
        """From now on the stream spins so long before each sample; 0: not at all."""
        self._hold_cycles = int(hold_ns * CYCLES_PER_NS)

    @property
    def counts_cycles(self) -> bool:
        """Whether two more launches stand around each sample."""
        return self._cycles is not None

    def once(self) -> None:
        """One call, and wait for it."""
        self._run()
        self._wait()

    def now(self) -> float:
        return float(time.perf_counter_ns())

    def calls(self, count: int) -> float:
        begin, end = self._event(), self._event()
        begin.record()
        for _ in range(count):
            self._run()
        end.record()
        return self._elapsed([(begin, end)])[0]

    def host_ns(self) -> float:
        """Host time of launching one call, the median of some on an idle stream."""
        spent = []
        for _ in range(ENQUEUES):
            begin = time.perf_counter_ns()
            self._run()
            spent.append(time.perf_counter_ns() - begin)
            self._wait()
        return float(sorted(spent)[ENQUEUES // 2])

    def start(self, count: int, cache: CacheState) -> Batch:
        slots = self._cycles.slots(count) if self._cycles and count else None
        events = []
        for at in range(count):
            self._flush(cache)
            self._hold()
            self._stamp(slots, 2 * at)
            events.append(self._timed(self._run))
            self._stamp(slots, 2 * at + 1)
        if slots is None:
            return Batch(events)
        noted = self._event()
        noted.record()
        return Batch(events, slots, noted)

    def read(self, batch: Batch) -> list[float]:
        return self._elapsed(batch.events, batch.noted)

    def mhz_of(self, batch: Batch) -> list[float | None]:
        """SM clock of each sample of a batch that was read; empty where no cycles are noted."""
        if self._cycles is None or batch.slots is None:
            return []
        return self._cycles.mhz(batch.slots)

    def floor(self, count: int) -> tuple[list[float], list[float]]:
        kept, self._hold_cycles = self._hold_cycles, max(self._hold_cycles, 100_000)
        nothing = [self._held(lambda: None) for _ in range(count)]
        empty = [self._held(lambda: self._torch.cuda._sleep(0)) for _ in range(count)]
        self._hold_cycles = kept
        return self._elapsed(nothing), self._elapsed(empty)

    def _held(self, run: Callable[[], None]) -> tuple[Any, Any]:
        self._hold()
        return self._timed(run)

    def _timed(self, run: Callable[[], None]) -> tuple[Any, Any]:
        begin, end = self._event(), self._event()
        begin.record()
        run()
        end.record()
        return begin, end

    def _flush(self, cache: CacheState) -> None:
        if cache != "warm":
            self._written.fill_(1)
        if cache == "cold":  # else the kernel pays for writing the dirty lines back
            self._torch.sum(self._read, dim=0, out=self._sum)

    def _hold(self) -> None:
        if self._hold_cycles:
            self._torch.cuda._sleep(self._hold_cycles)

    def _stamp(self, slots: Any, row: int) -> None:
        if self._cycles is not None and slots is not None:
            self._cycles.stamp(slots, row)

    def _event(self) -> Any:
        return self._torch.cuda.Event(enable_timing=True)

    def _elapsed(self, batch: list[tuple[Any, Any]], last: Any = None) -> list[float]:
        """Times of queued samples in ns, after waiting for the last, or for what follows it."""
        if not batch:
            return []
        try:
            (last or batch[-1][1]).synchronize()
            return [1e6 * begin.elapsed_time(end) for begin, end in batch]
        except RuntimeError as error:
            raise failure(error) from error

    def _wait(self) -> None:
        try:
            self._torch.cuda.synchronize()
        except RuntimeError as error:
            raise failure(error) from error


def failure(error: RuntimeError) -> KernelFailed | MachineCannot:
    """What the device reports when it is waited for; which stage it was is not told."""
    first = (str(error).strip().splitlines() or [""])[0]
    if type(error).__name__ == "OutOfMemoryError":
        return MachineCannot(f"not enough memory on the device: {first}")
    return KernelFailed(f"a stage failed on the device: {type(error).__name__}: {first}")
