"""Stored profiles in a line each, for thousands of them: the few figures that a history needs.

Times are in nanoseconds, clocks in Hz, percentages 0..100. What a record does not hold is None, and
`missing` says why.
"""

import msgspec

from mla_var3.core.annotation import AcrossRuns
from mla_var3.core.record import Environment, Mode, PlanIdentity, Source, Status

Value = int | float | str | bool
Tilings = dict[str, dict[str, Value | None]]


class StageLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One launch of a stored profile."""

    stage: str
    kernel: str
    duration_ns: float | None = None
    duration_by: Source | None = None
    tensor_pct: float | None = None
    dram_pct: float | None = None
    occupancy_pct: float | None = None
    l2_hit_pct: float | None = None
    sm_clock_hz: float | None = None
    sm_clock_from: str = ""
    registers: float | None = None
    spill_bytes: float | None = None
    waves: float | None = None


class Run(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One stored profile."""

    profile: str
    """Its folder below the root: `event/flash_mla_v1/b32_…/20261201-101502`."""
    mode: Mode
    status: Status
    created: str = ""
    """ISO 8601, UTC."""
    failure: str = ""
    plan: PlanIdentity | None = None
    file: str = ""
    """Of an import: the report's file."""
    environment: Environment = Environment()
    tilings: Tilings = {}
    duration_ns: float | None = None
    """End to end where the plan was timed so, else the sum of its launches."""
    duration_by: Source | None = None
    duration_from: str = ""
    """How it was taken: `median of 820 samples, CUDA events, cold cache`."""
    kernels_ns: float | None = None
    """Sum of the launches by another method than `duration_ns`."""
    kernels_by: Source | None = None
    sm_clock_hz: float | None = None
    sm_clock_from: str = ""
    kernels_clock_hz: float | None = None
    """During those launches, weighted by time."""
    kernels_clock_from: str = ""
    temperature_c: float | None = None
    power_w: float | None = None
    achieved_tflops: float | None = None
    achieved_gbps: float | None = None
    stages: tuple[StageLine, ...] = ()
    missing: dict[str, str] = {}
    """Field to the reason it is None."""

    @property
    def kernel(self) -> str:
        return self.plan.kernel if self.plan else self.file

    @property
    def version(self) -> str:
        return (self.plan.version or "base") if self.plan else "-"


class ChangePoint(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """From one run on, a series of runs takes another time."""

    first_after: int
    """Position in the series of the first run with the new time."""
    created: str
    """Of that run."""
    profile: str
    before_ns: float
    """Median of the runs since the change before, or since the first."""
    after_ns: float
    """Median of the runs up to the next change, or the last."""
    change_pct: float
    runs_before: int
    runs_after: int
    p: float
    """Of Pettitt's test where it was found."""
    notes: tuple[str, ...] = ()
    """What else differs between the last run before and the first after it."""


class SeriesKey(msgspec.Struct, frozen=True, kw_only=True):
    """What the runs of a series have in common."""

    kernel: str
    version: str
    language: str
    params: tuple[tuple[str, Value], ...]
    mode: Mode
    duration_by: Source | None
    device: str | None


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """Runs of one plan on one problem and device in one mode, by time."""

    key: SeriesKey
    runs: tuple[Run, ...]
    changes: tuple[ChangePoint, ...] = ()


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One run as it is shown: against the run before it."""

    run: Run
    against: AcrossRuns | None = None
    """None: the first of its series, or a run without a time."""
