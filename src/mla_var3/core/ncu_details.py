"""What a full Nsight Compute report tells of one launch, beyond the record: read once, then shown.

Counters keep NVIDIA's label, unit and value. Where one has no value its reason stands beside it;
where an instruction was not counted there is None, which is not 0. No directory is kept.
"""

from typing import Literal, NamedTuple

import msgspec

from mla_var3.core.record import RuleType, SpeedupScope

Value = float | int | str
OnDisk = Literal["same", "differs", "absent", ""]


class Counter(msgspec.Struct, frozen=True, omit_defaults=True):
    """One counter as the report gives it; `reason` says why there is no value."""

    name: str
    """The counter, or an expression of counters (`a / b`) where it was computed."""
    value: Value | None
    unit: str = ""
    label: str = ""
    reason: str = ""


class Breakdown(msgspec.Struct, frozen=True):
    """The counters that a throughput is the largest of, the largest first."""

    of: str
    parts: tuple[Counter, ...]


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """A section of the report with NVIDIA's names and its place among the others."""

    identifier: str
    name: str
    description: str
    order: int
    parent: str = ""
    header: tuple[Counter, ...] = ()
    body: tuple[Counter, ...] = ()
    breakdowns: tuple[Breakdown, ...] = ()


class Focus(msgspec.Struct, frozen=True):
    """A counter that a rule looked at, and what it says of it."""

    name: str
    value: float | None
    info: str


class RuleTable(msgspec.Struct, frozen=True):
    """A table that a rule made."""

    title: str
    description: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class RuleResult(msgspec.Struct, frozen=True, kw_only=True):
    """A rule's whole text, without link codes and directories; `speedup_pct` is its raw cap."""

    section: str
    rule: str
    name: str
    type: RuleType
    title: str
    message: str
    scope: SpeedupScope = "-"
    speedup_pct: float | None = None
    focus: tuple[Focus, ...] = ()
    tables: tuple[RuleTable, ...] = ()


class Stall(msgspec.Struct, frozen=True):
    """A warp state: cycles per issued instruction from counters, samples from sampling."""

    reason: str
    cycles: float | None
    samples: int | None
    not_issued: int | None
    """Samples of it at which the scheduler issued nothing."""


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """Occupancy against one resource: (amount, warps an SM) in ascending order."""

    title: str
    resource: str
    name: str
    points: tuple[tuple[int, float], ...]
    current: int | None = None
    """The amount that this launch uses."""


class MemoryTable(msgspec.Struct, frozen=True):
    """A table of a memory unit; a cell is None where the report has no such counter."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Counter | None, ...]], ...]


class Opcode(msgspec.Struct, frozen=True):
    """Executed instructions of one opcode or category, by warp and by active thread."""

    name: str
    warp: int | None
    thread: int | None


class Series(msgspec.Struct, frozen=True):
    """A counter sampled over the launch's time, in order."""

    name: str
    unit: str
    values: tuple[float, ...]


class Column(msgspec.Struct, frozen=True):
    """A counter by instruction; None where the instruction was not counted."""

    name: str
    unit: str
    total: Value | None
    """The report's own value of the counter as a whole."""
    values: tuple[float | int | None, ...]


class Line(NamedTuple):
    """A source line: index of its file among the sources, number from 1."""

    file: int
    number: int


class SourceText(msgspec.Struct, frozen=True):
    """A source file as the report holds it; `name` is its base name, `text` "" where none is."""

    name: str
    text: str
    library: bool
    on_disk: OnDisk = ""
    """How the file at the recorded path compares; "" where it was not looked at."""


class Marker(msgspec.Struct, frozen=True):
    """A rule's remark at a source line or at an instruction's offset."""

    rule: str
    message: str
    line: Line | None = None
    offset: int | None = None


class Instructions(msgspec.Struct, frozen=True, kw_only=True):
    """The kernel's instructions in the order of their addresses; all tuples are of one length."""

    offsets: tuple[int, ...]
    """Bytes from the start of the function; the same in every run."""
    from_start: bool
    """False: the function's start is not known, and offsets count from the lowest address."""
    sass: tuple[str, ...]
    ptx: tuple[str, ...]
    """PTX line that an instruction comes from, "" where none is told."""
    lines: tuple[Line | None, ...]
    samples: tuple[int | None, ...] | None
    """Warp samples; None where the kernel was not sampled."""
    columns: tuple[Column, ...]
    stalls: dict[str, Column]
    """Reason to its samples; columns that are in `columns` too."""
    executed: Column | None
    excess_sectors: Column | None
    """L2 sectors beyond those that the bytes asked for need."""
    excess_wavefronts: Column | None
    """Passes through shared memory beyond those that conflict-free access needs."""


class LaunchDetails(msgspec.Struct, frozen=True, kw_only=True):
    """All that is shown of one launch."""

    position: int
    kernel: str
    """Full kernel name as the tool gave it."""
    sections: tuple[Section, ...] = ()
    rules: tuple[RuleResult, ...] = ()
    stalls: tuple[Stall, ...] = ()
    curves: tuple[Curve, ...] = ()
    memory: tuple[MemoryTable, ...] = ()
    opcodes: tuple[Opcode, ...] = ()
    categories: tuple[Opcode, ...] = ()
    series: tuple[Series, ...] = ()
    sources: tuple[SourceText, ...] = ()
    markers: tuple[Marker, ...] = ()
    instructions: Instructions | None = None
    """None where no counter was collected by instruction."""
    counters: int = 0
    """How many counters the report has of this launch."""
