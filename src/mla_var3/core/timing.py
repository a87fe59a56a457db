"""`timing.json`: every sample of a timed run, in the order of the run, with how it was taken.

Times are in nanoseconds. What a later question needs is kept: nothing is averaged here. Files of
schema version 1 have one look at the clock, and no burst, monitor or kernel count.
"""

import math
from pathlib import Path
from typing import Any, Literal

import msgspec

from mla_var3.core.errors import NotFound, NoUsableData
from mla_var3.core.monitor import Held, Monitor, Window

FORMAT: Literal["mla_var3/timing"] = "mla_var3/timing"
CacheState = Literal["cold", "cold, written only", "warm"]
Regime = Literal["sustained", "burst"]
StopReason = Literal["converged", "time limit", "count", "samples and time reached", "sample limit"]
"""The last two: of schema version 1."""
VERSION: Literal[2] = 2
LATER = "comes with a later version"
"""Schema version 1 says so of what it lacks."""
NORMAL = "normal"
FLUSHED = 2.0
"""Caches do not evict strictly the oldest line: so many times their size must be touched."""


class WarmUp(msgspec.Struct, frozen=True, kw_only=True):
    """Calls before the timed part, back to back; `window_ns` is the mean of a call by window."""

    calls: int
    busy_ns: float
    settled: bool
    window_ns: tuple[float, ...] = ()


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """Samples of one kind, one call each. `wall_ns` is the time that taking them took."""

    cache: CacheState
    samples_ns: tuple[float, ...]
    stop: StopReason
    wall_ns: float
    regime: Regime = "sustained"
    windows_ns: tuple[Window, ...] = ()
    """When it was busy, on the clock of the monitor: one window, or one a burst."""
    mhz: tuple[float | None, ...] = ()
    """SM clock of each sample, where it was counted in band."""
    held: Held | None = None

    @property
    def cycles(self) -> tuple[float | None, ...]:
        """SM cycles of each sample: its time times its own clock."""
        pairs = zip(self.samples_ns, self.mhz, strict=True) if self.mhz else ()
        return tuple(ns * mhz / 1e3 if mhz else None for ns, mhz in pairs)

    @property
    def duty_pct(self) -> float | None:
        """Share of the time that the kernel itself ran; flushes are the rest."""
        return 100.0 * sum(self.samples_ns) / self.wall_ns if self.wall_ns > 0 else None


class Floor(msgspec.Struct, frozen=True, kw_only=True):
    """What the timer reads without a kernel: around nothing, and around an empty one (medians)."""

    nothing_ns: float
    empty_ns: float

    @property
    def ns(self) -> float:
        """The larger of both."""
        return max(self.nothing_ns, self.empty_ns)


class Clock(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The device's clocks in the timed part and what holds them back, with their source.

    Medians of `readings`; of schema version 1 it was one.
    """

    source: str
    """Of the SM clock: `in-band`, `nvml`, `nvidia-smi`."""
    sensor: str = ""
    """Of the rest, where another source told it."""
    readings: int = 1
    sm_mhz: float | None = None
    memory_mhz: float | None = None
    max_sm_mhz: float | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    reasons: tuple[str, ...] = ()
    """What holds the clock back, in the driver's words: `sw power cap`."""
    locked: bool | None = None
    """None: not told. A lock that was not held is none."""
    lock_mhz: float | None = None
    """What it was locked to, where that is known."""
    lock_held: bool | None = None
    """Judged from the readings in the run; None: no lock, or too few readings."""
    during_run: bool = True
    missing: dict[str, str] = {}


class Machine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where it ran, as the child saw it."""

    device: str
    capability: str = ""
    sm_count: int | None = None
    flush_cache_bytes: int
    """The cache that a flush must cover: L2 of a GPU, the last level of a CPU."""
    threads: int | None = None
    driver: str | None = None
    versions: dict[str, str] = {}
    peaks: dict[str, float] = {}
    """Rates measured on this CPU just before: `matmul_fp32_tflops`, `dram_gbps`."""


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that one event run saw."""

    format: Literal["mla_var3/timing"] = FORMAT
    schema_version: Literal[1, 2] = VERSION
    machine: Machine
    seed: int
    distribution: str = NORMAL
    """Of the random inputs."""
    power_limit_w: float | None = None
    """Watt that the driver holds the device to; None: not told."""
    timer: str
    """`CUDA events` or `perf_counter_ns`."""
    queueing: str
    """How the calls get to the device without gaps, in words."""
    flush: str
    """What is done before each cold sample, in words."""
    settings: dict[str, float]
    warm_up: WarmUp
    floor: Floor
    series: Series
    more: tuple[Series, ...] = ()
    """Short series with the cache in other states, for kernels that are over quickly."""
    burst: Series | None = None
    """Added where the power cap held the sustained run back; never mixed with it."""
    kernels: dict[str, int] = {}
    """Kernels that one call launches, by name, and how often; empty: not counted."""
    monitor: Monitor | None = None
    host_ns: float | None = None
    """Host time of launching one call."""
    retried: bool = False
    """The first series was unusable, and was taken once more."""
    clock: Clock | None = None
    shared_gpu: bool | None = None
    """Whether other processes use the device; None: not told."""
    warnings: tuple[str, ...] = ()
    missing: dict[str, str] = {}
    """Part of the protocol to the reason it was not done."""

    @property
    def regime(self) -> Regime:
        """Of the series that the figures are of."""
        return self.series.regime

    @property
    def launches(self) -> int | None:
        """Kernels in one call; None: not counted."""
        return sum(self.kernels.values()) or None


def load_timing(path: Path) -> Timing:
    """Read a `timing.json`; `NoUsableData` names what is wrong with it."""
    if not path.is_file():
        raise NotFound(f"no {path.name}: the profile has no samples")
    try:
        return msgspec.json.decode(path.read_bytes(), type=Timing)
    except msgspec.MsgspecError as error:
        raise NoUsableData(f"{path.name} is no timing of mla_var3: {error}") from error


def save_timing(timing: Timing, path: Path) -> None:
    """Write it, samples to a tenth of a nanosecond."""
    path.write_bytes(msgspec.json.encode(_rounded(timing)) + b"\n")


def json_schema() -> dict[str, Any]:
    """The JSON Schema of `timing.json`."""
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"{FORMAT} {VERSION}",
    }
    schema = msgspec.json.schema(Timing)
    schema["$defs"]["Timing"]["required"] += ["format", "schema_version"]
    return head | schema


def _rounded(timing: Timing) -> Timing:
    def short(series: Series) -> Series:
        samples = tuple(round(sample, 1) for sample in series.samples_ns)
        mhz = tuple(None if clock is None else round(clock, 2) for clock in series.mhz)
        return msgspec.structs.replace(series, samples_ns=samples, mhz=mhz)

    return msgspec.structs.replace(
        timing,
        series=short(timing.series),
        more=tuple(map(short, timing.more)),
        burst=short(timing.burst) if timing.burst else None,
    )


def cache_state(wanted: CacheState, touched_bytes: float, cache_bytes: float) -> CacheState:
    """What the state of the cache may be called: `cold` only where at least twice the cache is
    touched between two calls on the same data.

    Of a graph that repeats a call on `n` sets of inputs, `touched_bytes` is n times their bytes.
    """
    return wanted if wanted == "warm" or touched_bytes >= FLUSHED * cache_bytes else "warm"


def rotations(call_bytes: float, cache_bytes: float) -> int:
    """How many sets of inputs a graph must turn through before its calls find a cold cache."""
    if not call_bytes > 0:
        raise ValueError("a call that touches nothing never leaves the cache cold")
    return math.ceil(FLUSHED * cache_bytes / call_bytes)
