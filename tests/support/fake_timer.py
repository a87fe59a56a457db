"""A timer that is fed: a series of call times, and a clock that runs on by what it is asked for."""

from collections.abc import Callable
from itertools import repeat
from typing import Any

from mla_var3.core.timing import CacheState

FLUSH_NS = 60_000.0


class FakeTimer:
    """`times` is the time of each call in ns, in order; the last one repeats."""

    name = "fake"

    def __init__(self, times: list[float], lost: Callable[[int], bool] | None = None) -> None:
        self._times = iter(times)
        self._last = times[-1] if times else 0.0
        self._clock = 0.0
        self._lost = lost
        """Whether the n-th batch comes back empty."""
        self.batches: list[tuple[int, CacheState]] = []
        self.read_batches = 0

    def now(self) -> float:
        return self._clock

    def rest(self, ns: float) -> None:
        """The device is idle."""
        self._clock += ns

    def calls(self, count: int) -> float:
        spent = sum(self._next() for _ in repeat(None, count))
        self._clock += spent
        return spent

    def start(self, count: int, cache: CacheState) -> Any:
        self.batches.append((count, cache))
        samples = [self._next() for _ in repeat(None, count)]
        if self._lost is not None and self._lost(len(self.batches)):
            samples = []
        return samples

    def read(self, batch: Any) -> list[float]:
        self.read_batches += 1
        self._clock += sum(batch) + FLUSH_NS * len(batch)
        return list(batch)

    def floor(self, count: int) -> tuple[list[float], list[float]]:
        return [1500.0] * count, [2100.0] * count

    def _next(self) -> float:
        return next(self._times, self._last)
