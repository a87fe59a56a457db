"""What annotation mode adds to a record: how it was taken, and comparisons in rows.

Times are in nanoseconds, sizes in bytes, percentages 0..100. A figure that is not known is None,
and `missing` or `note` says why.
"""

from pathlib import Path
from typing import Literal

import msgspec

from mla_var3.core.errors import NotFound, NoUsableData
from mla_var3.core.record import Metric

FORMAT: Literal["mla_var3/annotation"] = "mla_var3/annotation"
VERSION: Literal[1] = 1
Side = Literal["model", "counters"]


class WorkRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Work of a stage by the plan and as it was counted: FLOPs, bytes read, bytes written."""

    stage: str
    what: str
    unit: str
    model: float | None = None
    counted: float | None = None
    gap_pct: float | None = None
    """Counted over model, minus 1."""
    flagged: bool = False
    note: str = ""


class RooflineRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One stage against its roofline, by one side's work and the same measured duration."""

    stage: str
    side: Side
    state: str = ""
    """State of the cache and the memory whose rate is the roof, where there are several."""
    dtype: str = ""
    duration_ns: float | None = None
    flops: float | None = None
    bytes: float | None = None
    intensity: float | None = None
    """FLOP/byte."""
    tflops: float | None = None
    gbps: float | None = None
    roofline_ns: float | None = None
    """Time at the nearer roof, at the measured clock where that is known."""
    share_pct: float | None = None
    """`roofline_ns` over the duration."""
    at_clock: bool = False
    missing: str = ""


class Roofs(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The roofs of one element type: rates, and the ridge point between them in FLOP/byte."""

    label: str
    tflops: float
    gbps: float
    tflops_at_clock: float | None = None

    @property
    def ridge(self) -> float:
        """FLOP/byte at which both roofs meet."""
        return 1e3 * self.tflops / self.gbps


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of an earlier profile and of this one."""

    label: str
    previous: Metric
    current: Metric
    change: str
    """In words: `−31.5 %`."""


class AcrossRuns(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """This profile against the last stored one: never interleaved, so never a verdict."""

    version: str
    """Of the earlier profile."""
    created: str
    profile: str
    """Folder of the earlier profile below the folder of all profiles."""
    changes: tuple[Change, ...] = ()
    ratio: float | None = None
    """Earlier time over this one; None where they must not be compared."""
    floor_pct: float = 0.0
    """Below it a change means nothing."""
    differs: tuple[str, ...] = ()
    """Fields that forbid a comparison."""
    notes: tuple[str, ...] = ()
    """What else differs and may explain a change: tiling, clock."""


class AnnotationRun(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`annotation.json`: how long each part took, and what it is compared with."""

    # By a factory: defaults are left out of the file, these two never.
    format: Literal["mla_var3/annotation"] = msgspec.field(default_factory=lambda: FORMAT)
    schema_version: Literal[1] = msgspec.field(default_factory=lambda: VERSION)
    event_s: float | None = None
    ncu_s: float | None = None
    passes: int | None = None
    """Times that ncu ran each kernel."""
    counters: int | None = None
    """Names that ncu was asked for."""
    operators_s: float | None = None
    tilings: dict[str, str] = {}
    """Where the tiling of each stage came from: `default`, `typed`."""
    before: AcrossRuns | None = None
    cut: dict[str, str] = {}
    """Stages of which ncu did not profile every launch, and why: it knows no time of them."""
    no_counters: str = ""
    """Why there are no counters at all; empty where there are."""
    no_event: str = ""
    """Why the plan was not timed end to end; empty where it was."""


def save_run(run: AnnotationRun, path: Path) -> None:
    """Write `annotation.json`."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(run), indent=1) + b"\n")


def load_run(path: Path) -> AnnotationRun:
    """Read `annotation.json`; `NoUsableData` names what is wrong with it."""
    if not path.is_file():
        raise NotFound(f"no {path.name}: the profile does not tell how it was taken")
    try:
        return msgspec.json.decode(path.read_bytes(), type=AnnotationRun)
    except msgspec.MsgspecError as error:
        raise NoUsableData(f"{path.name} is no run of annotation mode: {error}") from error
