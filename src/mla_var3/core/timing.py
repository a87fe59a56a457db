"""`timing.json`: every sample of a timed run, in the order of the run, with how it was taken.

Times are in nanoseconds. What a later question needs is kept: nothing is averaged here.
"""

from pathlib import Path
from typing import Any, Literal

import msgspec

from mla_var3.core.errors import NotFound, NoUsableData

FORMAT: Literal["mla_var3/timing"] = "mla_var3/timing"
CacheState = Literal["cold", "cold, written only", "warm"]
StopReason = Literal["count", "samples and time reached", "time limit", "sample limit"]
LATER = "comes with a later version"


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
    """One reading of the device's clocks and of what holds them back, with its source."""

    source: str
    sm_mhz: float | None = None
    memory_mhz: float | None = None
    max_sm_mhz: float | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    reasons: tuple[str, ...] = ()
    """What holds the clock back, in the driver's words: `sw power cap`."""
    locked: bool | None = None
    """None: not told."""
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
    schema_version: Literal[1] = 1
    machine: Machine
    seed: int
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
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"{FORMAT} 1"}
    schema = msgspec.json.schema(Timing)
    schema["$defs"]["Timing"]["required"] += ["format", "schema_version"]
    return head | schema


def _rounded(timing: Timing) -> Timing:
    def short(series: Series) -> Series:
        samples = tuple(round(sample, 1) for sample in series.samples_ns)
        return msgspec.structs.replace(series, samples_ns=samples)

    more = tuple(map(short, timing.more))
    return msgspec.structs.replace(timing, series=short(timing.series), more=more)
