"""The burst regime: some milliseconds of work, then idle, so that the power limit is not met."""

import time
from collections.abc import Callable
from typing import Any

from mla_var3.core.errors import NoUsableData
from mla_var3.core.monitor import Window
from mla_var3.core.timing import Series, StopReason
from mla_var3.measure.timing import SECOND, Request, Settings, Timer, mhz_of, stop_reason

Rest = Callable[[float], None]
"""Leaves the device idle for so many ns."""


def idle(ns: float) -> None:
    """Wait on the host: nothing is queued."""
    time.sleep(ns / SECOND)


def burst_series(timer: Timer, chosen: Settings, request: Request, rest: Rest = idle) -> Series:
    """Samples in bursts: all of one are queued, read, and followed by a rest.

    Stops as a sustained series does. Raises `NoUsableData` for a series without usable times.
    """
    begin = timer.now()
    rest(chosen["burst_rest_s"] * SECOND)
    samples: list[float] = []
    mhz: list[float | None] = []
    windows: list[Window] = []
    stop: StopReason | None = None
    while stop is None:
        left = None if request.bench_runs is None else request.bench_runs - len(samples)
        size = _calls(chosen["burst_ns"], _sample_ns(windows, len(samples), request), left)
        at = timer.now()
        batch: Any = timer.start(size, request.cache)
        taken = timer.read(batch)
        windows.append((at, timer.now()))
        samples += taken
        mhz += mhz_of(timer, batch)
        stop = stop_reason(samples, timer.now() - begin, chosen, request.bench_runs)
        busy = windows[-1][1] - windows[-1][0]
        rest(busy * (100.0 / chosen["burst_duty_pct"] - 1.0))
    if not samples or min(samples) <= 0:
        raise NoUsableData("the timer gave no usable time in bursts: the kernel may not have run")
    return Series(
        cache=request.cache,
        samples_ns=tuple(samples),
        stop=stop,
        wall_ns=timer.now() - begin,
        regime="burst",
        windows_ns=tuple(windows),
        mhz=tuple(mhz),
    )


def _sample_ns(windows: list[Window], count: int, request: Request) -> float:
    """What a sample takes with all that is done around it, from the bursts so far."""
    if not windows or not count:
        return request.call_ns
    return sum(end - begin for begin, end in windows) / count


def _calls(burst_ns: float, sample_ns: float, left: int | None) -> int:
    fitting = max(1, int(burst_ns / sample_ns)) if sample_ns > 0 else 1
    return fitting if left is None else min(fitting, left)
