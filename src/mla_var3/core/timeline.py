"""What ran on the GPU (or CPU) and when: `spans.json`, beside profile.json in `nsys` mode.

All times are nanoseconds on one clock, counted from the start of the capture. What a collector
does not tell is None or absent, with the reason in `missing`; nothing here names a host, a user, a
folder or an environment variable.
"""

from pathlib import Path
from typing import Literal

import msgspec

from mla_var3.core.errors import NotFound, NoUsableData

FORMAT: Literal["mla_var3/spans"] = "mla_var3/spans"
VERSION: Literal[1] = 1
Collector = Literal["nsys", "kineto"]
Kind = Literal["kernel", "memcpy", "memset", "graph", "cpu"]
"""`graph`: a CUDA graph that was traced as a whole. `cpu`: an operator that ran on the CPU."""

WARM_UP = "warm-up"
SOLO = "solo"
ITERATION = "iteration"
"""Names of our own outermost ranges: `warm-up`; `solo`, which holds a range a stage, each stage
alone; and one `iteration` for each call of the whole plan, which holds a range a stage."""


class Shape(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an operation is: shared by all launches of the same kernel in the same shape."""

    kind: Kind
    name: str
    """Short name of a kernel; `memcpy HtoD`, `memset`."""
    full_name: str = ""
    grid: tuple[int, ...] = ()
    block: tuple[int, ...] = ()
    registers: int | None = None
    shared_bytes: int | None = None
    """Static and dynamic together, a block."""
    local_bytes: int | None = None
    """Local memory a thread: spills or a stack."""
    migration: bool = False
    """A unified-memory migration, not a copy that the program asked for."""


class Operation(msgspec.Struct, frozen=True, array_like=True):
    """One piece of work on a device. Indices point into the lists of `Timeline`; -1 is none."""

    shape: int
    start: int
    end: int
    device: int
    """Ordinal as the collector gives it; -1 is the CPU."""
    context: int
    stream: int
    """On the CPU: the thread."""
    process: int
    call: int = -1
    """The API call that launched it: same correlation id and same process."""
    bytes: int | None = None
    graph_node: int | None = None


class Call(msgspec.Struct, frozen=True, array_like=True):
    """One call of the CUDA runtime or driver API."""

    name: int
    """Index into `Timeline.names`."""
    start: int
    end: int
    thread: int
    process: int
    result: int = 0


class Range(msgspec.Struct, frozen=True, array_like=True):
    """One NVTX range, in CPU time; `end` None was never closed."""

    name: int
    start: int
    end: int | None
    thread: int
    process: int
    nested: bool = True
    """A push/pop range, which nests on its thread; False: start/end, which need not."""


class TimelineDevice(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A GPU of the capture. `ordinal` is the one of `Operation.device`, None where not mapped."""

    name: str
    ordinal: int | None = None
    compute_capability: str | None = None
    sm_count: int | None = None
    gbps: float | None = None


class PlanTimeline(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a plan means its stages to do, by the names of their ranges."""

    stages: tuple[str, ...]
    """All stages in the order in which they are launched."""
    groups: tuple[tuple[str, ...], ...] = ()
    """Stages that are meant to overlap: those of a `ConcurrentKernels`."""
    streams: int = 1
    """Streams the plan was asked to use; 1 runs the stages one after the other."""


class Timeline(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`spans.json`. `operations` are ordered by start, `calls` and `ranges` too."""

    # By a factory: defaults are left out of the file, these two never.
    format: Literal["mla_var3/spans"] = msgspec.field(default_factory=lambda: FORMAT)
    schema_version: Literal[1] = msgspec.field(default_factory=lambda: VERSION)
    collector: Collector
    tool: str
    """`nsys 2025.3.2`, `torch 2.11.0`."""
    plan: PlanTimeline | None = None
    """What ran, where it was a plan of ours; None: a program of someone else."""
    devices: tuple[TimelineDevice, ...] = ()
    names: tuple[str, ...] = ()
    """Texts of calls and ranges."""
    shapes: tuple[Shape, ...] = ()
    operations: tuple[Operation, ...] = ()
    calls: tuple[Call, ...] = ()
    ranges: tuple[Range, ...] = ()
    graphs_as_whole: bool = False
    """Graph launches were traced as one row each: what overlaps inside is not known."""
    diagnostics: tuple[str, ...] = ()
    """The collector's own warnings and errors, without paths."""
    impossible: dict[str, int] = {}
    """Rows that were left out, counted by the reason: `ends before it starts`."""
    lost: str = ""
    """What the collector says it lost; empty: nothing."""
    missing: dict[str, str] = {}
    """What the collector does not tell, with the reason: `ranges`, `calls`, `memcpy`."""
    remarks: tuple[str, ...] = ()
    """What the reader says of the file: an unknown schema version, a table by another name."""

    def shape_of(self, operation: Operation) -> Shape:
        """What an operation is."""
        return self.shapes[operation.shape]


def save_timeline(timeline: Timeline, path: Path) -> None:
    """Write `spans.json`, compact."""
    path.write_bytes(msgspec.json.encode(timeline) + b"\n")


def load_timeline(path: Path) -> Timeline:
    """Read `spans.json`; `NoUsableData` names what is wrong with it."""
    if not path.is_file():
        raise NotFound(f"no {path.name}: the profile has no spans")
    try:
        return msgspec.json.decode(path.read_bytes(), type=Timeline)
    except msgspec.MsgspecError as error:
        raise NoUsableData(f"{path.name} is no timeline: {error}") from error
