"""Invented clocks: one device whose noise two timers share, as two kernels share a GPU.

Every call is the base time, times the timer's own factor, times e to the noise of the device. The
noise is log-normal 0.3 % with 1 % spikes of mean 5 %, and what the model adds.
"""

import math
import random
from collections.abc import Callable
from typing import Any

from mla_var3.core.timing import CacheState

MODELS = ("independent", "drift", "wander", "two-level", "all")
BASE_NS = 1_000_000.0
DRIFT, DRIFT_SAMPLES = 0.04, 150.0
WANDER, WANDER_SAMPLES = 0.008, 40.0
STEP, STEP_SAMPLES = 0.02, 80.0


class NoisyDevice:
    """The state of the device: it moves on with every sample, whoever runs.

    `penalty` is added to every call of a timer that runs in another's place.
    """

    def __init__(self, model: str, seed: int, penalty: float = 0.0) -> None:
        if model not in MODELS:
            raise ValueError(model)
        self._chance = random.Random(f"{model} {seed}")
        self._parts = MODELS[1:-1] if model == "all" else (model,)
        self._calls = 0
        self._wander = 0.0
        self._slow = False
        self._penalty = penalty
        self._last: object = None
        self.clock_ns = 0.0

    def start(self, timer: object) -> float:
        """The penalty for a batch of `timer`."""
        switched = self._last is not None and self._last is not timer
        self._last = timer
        return self._penalty if switched else 0.0

    def noise(self) -> float:
        """ln of the next call over its base time."""
        chance = self._chance
        total = chance.gauss(0.0, 0.003)
        if chance.random() < 0.01:
            total += chance.expovariate(1 / 0.05)
        if "drift" in self._parts:
            total += DRIFT * (1.0 - math.exp(-self._calls / DRIFT_SAMPLES))
        if "wander" in self._parts:
            keep = math.exp(-1.0 / WANDER_SAMPLES)
            step = chance.gauss(0.0, WANDER * math.sqrt(1.0 - keep * keep))
            self._wander = keep * self._wander + step
            total += self._wander
        if "two-level" in self._parts:
            if chance.random() < 1.0 / STEP_SAMPLES:
                self._slow = not self._slow
            total += STEP * self._slow
        self._calls += 1
        return total


class NoisyTimer:
    """A `Timer` on a noisy device; `factor` is how much slower than the base its kernel is."""

    name = "invented"

    def __init__(
        self,
        device: NoisyDevice,
        factor: float = 1.0,
        shape: Callable[[int], float] | None = None,
    ) -> None:
        """`shape` adds to ln of the time by the number of the device's call: a drift to order."""
        self._device = device
        self._base = BASE_NS * factor
        self._shape = shape

    def now(self) -> float:
        return self._device.clock_ns

    def calls(self, count: int) -> float:
        spent = sum(self._call() for _ in range(count))
        self._device.clock_ns += spent
        return spent

    def start(self, count: int, cache: CacheState) -> Any:
        penalty = math.exp(self._device.start(self))
        return [self._call() * penalty for _ in range(count)]

    def read(self, batch: Any) -> list[float]:
        self._device.clock_ns += sum(batch)
        return list(batch)

    def floor(self, count: int) -> tuple[list[float], list[float]]:
        return [1500.0] * count, [2100.0] * count

    def _call(self) -> float:
        extra = self._shape(self._device._calls) if self._shape else 0.0
        return self._base * math.exp(self._device.noise() + extra)
