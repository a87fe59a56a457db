"""How a series of samples is taken: warm up until it settles, then sample until enough.

The device is behind a `Timer`, so that all of this can be fed recorded or invented times.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from mla_var3 import conf
from mla_var3.core import rank, stats
from mla_var3.core.errors import BadArgument, NoUsableData
from mla_var3.core.timing import CacheState, Floor, Series, StopReason, WarmUp

Settings = Mapping[str, float]
SECOND = 1e9


class Timer(Protocol):
    """A device that runs one call of the plan. Times in ns; `now` is the time on the wall."""

    def now(self) -> float: ...

    def calls(self, count: int) -> float:
        """Run `count` calls back to back and wait; the time they took."""

    def start(self, count: int, cache: CacheState) -> Any:
        """Queue `count` samples, each after what brings the cache to its state; never waits."""

    def read(self, batch: Any) -> list[float]:
        """Wait for a queued batch; the time of each sample."""

    def floor(self, count: int) -> tuple[list[float], list[float]]:
        """`count` samples around nothing, and around an empty kernel."""


@runtime_checkable
class Clocked(Protocol):
    """A timer that counts the cycles of each sample in band."""

    def mhz_of(self, batch: Any) -> list[float | None]:
        """SM clock of each sample of a batch that was read; empty where nothing counts."""


class Watch(Protocol):
    """Something that looks at the device while it is busy: the clocks."""

    def start(self) -> None: ...

    def is_done(self) -> bool: ...


class Request(NamedTuple):
    """Which series to take. `call_ns` is about what one call takes: it decides the batches."""

    bench_runs: int | None = None
    cache: CacheState = "cold"
    call_ns: float = 0.0


REQUEST = Request()


class Taken(NamedTuple):
    """A series, and whether a first one was thrown away."""

    series: Series
    retried: bool


def settings(device: str, changes: Settings | None = None) -> dict[str, float]:
    """The protocol's figures for a device, with `changes` by name."""
    changes = changes or {}
    table = conf.table("event")
    entries = dict(table["settings"])
    if not device.startswith("cuda"):
        entries |= table["cpu"]
    unknown = changes.keys() - entries.keys()
    if unknown:
        raise BadArgument(f"no setting {min(unknown)!r} of event mode")
    return {name: float(entry["value"]) for name, entry in entries.items()} | dict(changes)


def warm_up(timer: Timer, chosen: Settings) -> WarmUp:
    """Some calls, then windows of calls back to back until they agree, or until the limit.

    The first call may compile for seconds: its time counts for nothing.
    """
    last = timer.calls(1)
    begin = timer.now()
    limit = chosen["warm_up_limit_s"] * SECOND
    count, busy = 1, 0.0
    while count < chosen["warm_up_calls"] and timer.now() - begin < limit:
        last = timer.calls(1)
        count, busy = count + 1, busy + last
    windows: list[float] = []
    settled = False
    while not settled and timer.now() - begin < limit:
        size = _calls_in(chosen["window_s"] * SECOND, last)
        spent = timer.calls(size)
        last = spent / size
        windows.append(last)
        count, busy = count + size, busy + spent
        settled = busy >= chosen["warm_up_busy_s"] * SECOND and agree(windows, chosen)
    return WarmUp(calls=count, busy_ns=busy, settled=settled, window_ns=tuple(windows))


def agree(windows: list[float], chosen: Settings) -> bool:
    """Whether the last windows are within the settled spread."""
    last = windows[-int(chosen["settle_windows"]) :]
    if len(last) < chosen["settle_windows"] or min(last) <= 0:
        return False
    return stats.spread_pct(last) <= chosen["settle_pct"]


def take_series(
    timer: Timer, chosen: Settings, request: Request = REQUEST, watch: Watch | None = None
) -> Taken:
    """The timed series; one that has no usable time is taken once more.

    Raises `NoUsableData` where the second has none either.
    """
    for retried in (False, True):
        series = _sample(timer, chosen, request, watch)
        if is_usable(series):
            return Taken(series, retried)
    count = len(series.samples_ns)
    why = f"{count} samples, some of 0 ns" if count else "no samples"
    raise NoUsableData(f"the timer gave no usable time, twice ({why}): the kernel may not have run")


def is_usable(series: Series) -> bool:
    """Whether there are samples, all of them positive times."""
    samples = series.samples_ns
    return bool(samples) and all(math.isfinite(s) and s > 0 for s in samples)


def short_series(timer: Timer, count: int, cache: CacheState) -> Series:
    """Exactly `count` samples with the cache in a state."""
    begin = timer.now()
    samples = timer.read(timer.start(count, cache))
    return Series(cache=cache, samples_ns=tuple(samples), stop="count", wall_ns=timer.now() - begin)


def measure_floor(timer: Timer, chosen: Settings) -> Floor:
    """What the timer reads without a kernel, in medians."""
    nothing, empty = timer.floor(int(chosen["floor_samples"]))
    if not nothing or not empty:
        raise NoUsableData("the timer gave no time around nothing: it cannot be trusted")
    return Floor(nothing_ns=stats.median(nothing), empty_ns=stats.median(empty))


def needs_hold(call_ns: float, host_ns: float, chosen: Settings) -> bool:
    """Whether the stream must be held until a call is queued: a short call, or a slow host."""
    return call_ns < chosen["one_call_ns"] or host_ns > chosen["host_share"] * call_ns


def hold_ns(host_ns: float, chosen: Settings) -> float:
    """How long the stream is held for one call."""
    return chosen["hold_factor"] * host_ns + chosen["hold_extra_ns"]


def _calls_in(window_ns: float, call_ns: float) -> int:
    return max(1, round(window_ns / call_ns)) if call_ns > 0 else 1000


def _sample(timer: Timer, chosen: Settings, request: Request, watch: Watch | None) -> Series:
    """Batches, the next one queued before the last one is read: the device never waits.

    The batch that was queued when it could stop counts too: with it, it is judged once more.
    """
    begin = timer.now()
    size = min(int(chosen["batch"]), _calls_in(chosen["window_s"] * SECOND, request.call_ns))
    most = int(chosen["most_samples"]) if request.bench_runs is None else request.bench_runs
    queued = min(size, most)
    pending = timer.start(queued, request.cache)
    if watch is not None:
        watch.start()
    samples: list[float] = []
    mhz: list[float | None] = []
    stop: StopReason | None = None
    while pending is not None:
        more = min(size, most - queued) if stop is None else 0
        following = timer.start(more, request.cache) if more else None
        queued += more
        samples += timer.read(pending)
        mhz += mhz_of(timer, pending)
        pending = following
        stop = stop_reason(samples, timer.now() - begin, chosen, request.bench_runs)
        if pending is None and stop is None and queued < most:
            more = min(size, most - queued)
            pending = timer.start(more, request.cache)
            queued += more
    end = timer.now()
    if watch is not None:
        _keep_busy(timer, chosen, request.cache, watch)
    return Series(
        cache=request.cache,
        samples_ns=tuple(samples),
        stop=stop or "count",
        wall_ns=end - begin,
        windows_ns=((begin, end),),
        mhz=tuple(mhz),
    )


def mhz_of(timer: Timer, batch: Any) -> list[float | None]:
    """SM clock of each sample of a batch, where the timer counts cycles."""
    return timer.mhz_of(batch) if isinstance(timer, Clocked) else []


def stop_reason(
    samples: Sequence[float], wall_ns: float, chosen: Settings, bench_runs: int | None
) -> StopReason | None:
    """Why to stop, or None; with a number of runs only that number counts."""
    if not samples:
        return "count"  # a timer that gives nothing will not give more
    if bench_runs is not None:
        return "count" if len(samples) >= bench_runs else None
    if is_converged(samples, chosen):
        return "converged"
    if wall_ns >= chosen["limit_s"] * SECOND:
        return "time limit"
    return "count" if len(samples) >= chosen["most_samples"] else None


def is_converged(samples: Sequence[float], chosen: Settings) -> bool:
    """Whether there are enough samples, and half of their block interval is narrow enough."""
    if len(samples) < chosen["least_samples"] or sum(samples) < chosen["least_busy_s"] * SECOND:
        return False
    found = rank.block_interval(samples)
    if found is None:
        return False
    half = (found.high - found.low) / 2.0
    return half <= chosen["half_width_pct"] / 100.0 * stats.median(samples)


def _keep_busy(timer: Timer, chosen: Settings, cache: CacheState, watch: Watch) -> None:
    """Go on running, uncounted, until the clocks have been read: idle clocks say nothing."""
    begin = timer.now()
    while not watch.is_done() and timer.now() - begin < chosen["clock_wait_s"] * SECOND:
        timer.read(timer.start(int(chosen["batch"]), cache))
