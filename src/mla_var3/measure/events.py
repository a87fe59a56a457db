"""Times one call of a plan with CUDA events on torch's current stream; the host never waits inside.

Order of a cold sample: write twice the L2, read a second buffer, hold the stream (short calls
only), start event, call, stop event. Only what stands between the events is timed.
"""

import time
from collections.abc import Callable
from typing import Any

from mla_var3.core.errors import KernelFailed, MachineCannot
from mla_var3.core.timing import CacheState

BYTES = 4
CYCLES_PER_NS = 2.0
"""Of the fastest SM clock: a spin of so many cycles lasts at least its time."""
ENQUEUES = 10


class EventTimer:
    """A `Timer` of CUDA events. `run` launches the plan once and does not wait."""

    name = "CUDA events"

    def __init__(self, run: Callable[[], None], flush_bytes: int, torch: Any) -> None:
        """`torch` is the module, or a stand-in that records the order of calls."""
        self._torch = torch
        self._run = run
        self._hold_cycles = 0
        size = flush_bytes // BYTES
        self._written = torch.empty(size, dtype=torch.int32, device="cuda")
        self._read = torch.zeros(size, dtype=torch.float32, device="cuda")
        self._sum = torch.empty((), dtype=torch.float32, device="cuda")

    def hold(self, hold_ns: float) -> None:
        """From now on the stream spins so long before each sample; 0: not at all."""
        self._hold_cycles = int(hold_ns * CYCLES_PER_NS)

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

    def start(self, count: int, cache: CacheState) -> list[tuple[Any, Any]]:
        return [self._sample(self._run, cache) for _ in range(count)]

    def read(self, batch: list[tuple[Any, Any]]) -> list[float]:
        return self._elapsed(batch)

    def floor(self, count: int) -> tuple[list[float], list[float]]:
        kept, self._hold_cycles = self._hold_cycles, max(self._hold_cycles, 100_000)
        nothing = [self._sample(lambda: None, "warm") for _ in range(count)]
        empty = [self._sample(lambda: self._torch.cuda._sleep(0), "warm") for _ in range(count)]
        self._hold_cycles = kept
        return self._elapsed(nothing), self._elapsed(empty)

    def _sample(self, run: Callable[[], None], cache: CacheState) -> tuple[Any, Any]:
        begin, end = self._event(), self._event()
        if cache != "warm":
            self._written.fill_(1)
        if cache == "cold":  # else the kernel pays for writing the dirty lines back
            self._torch.sum(self._read, dim=0, out=self._sum)
        if self._hold_cycles:
            self._torch.cuda._sleep(self._hold_cycles)
        begin.record()
        run()
        end.record()
        return begin, end

    def _event(self) -> Any:
        return self._torch.cuda.Event(enable_timing=True)

    def _elapsed(self, batch: list[tuple[Any, Any]]) -> list[float]:
        """Times of queued samples in ns, after waiting for the last."""
        if not batch:
            return []
        try:
            batch[-1][1].synchronize()
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
