"""`comparison.json`: two versions timed against each other, with every sample in run order.

Times are in nanoseconds, clocks in MHz. Side A is what is compared with, side B what is judged.
What follows from the samples is in `verdict`, and can be computed again from the rest of the file.
"""

from pathlib import Path
from typing import Any, Literal

import msgspec

from mla_var3.core.comparison_verdict import ComparisonVerdict
from mla_var3.core.errors import ContradictoryRecord, NotFound, NoUsableData
from mla_var3.core.timing import Machine, WarmUp

FORMAT: Literal["mla_var3/comparison"] = "mla_var3/comparison"
Letter = Literal["A", "B"]
Order = Literal["ABBA", "BAAB"]
Value = int | float | str | bool
LEGS = 4


class Conditions(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What must be equal before two times may stand side by side; None: not told."""

    tool: str
    """What took the times: `event`, `ncu`, `nsys`."""
    kernel: str | None = None
    """Of a stored run; what ran side by side had the same inputs and gave the same result."""
    gpu: str | None = None
    """Exact product name; of a CPU its model."""
    power_limit_w: float | None = None
    driver_major: str | None = None
    params: dict[str, Value] = {}
    """All fields of the problem, its element type too."""
    cache: str | None = None
    """`cold`, `warm`; of a profiler what it does with the caches."""
    regime: str | None = None
    """`sustained`, `burst`."""
    timer: str | None = None
    clocks: str | None = None
    """`not locked`, `locked at 1305 MHz`."""
    seed: int | None = None
    distribution: str | None = None


class Side(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One of the two: which plan, and exactly which code."""

    label: str
    """As short as tells them apart: `v3`, `v1@a1b2c3d`, `triton flash_mla v1`."""
    kernel: str
    version: str = ""
    language: str = ""
    import_path: str = ""
    revision: str = ""
    """Of git, where the code was taken from there."""
    source_sha256: str = ""
    """Of the plan's file."""
    code_sha256: str = ""
    """Of that file and all kernel files that it imports."""
    tilings: dict[str, dict[str, Value | None]] = {}
    launches: int | None = None
    """Kernels in one call of the first shape; None: not counted."""


class Leg(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Some calls of one side, one after the other."""

    side: Letter
    samples_ns: tuple[float, ...]
    thrown_ns: tuple[float, ...] = ()
    """Calls before them that do not count."""
    mhz: float | None = None
    """Mean SM clock while it ran; None: not known."""
    cycles: tuple[float, ...] = ()
    """SM cycles of each sample, where they were counted in band."""


class Quad(msgspec.Struct, frozen=True, kw_only=True):
    """Four legs in the order of the run."""

    legs: tuple[Leg, ...]

    def __post_init__(self) -> None:
        if self.order not in ("ABBA", "BAAB"):
            raise ContradictoryRecord(f"the legs of a quad are {self.order}, not ABBA or BAAB")

    @property
    def order(self) -> str:
        """`ABBA`, `BAAB`."""
        return "".join(leg.side for leg in self.legs)


class QuadRun(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one process saw: quads of A against B, and before them A against a second build of A."""

    quads: tuple[Quad, ...]
    self_check: tuple[Quad, ...] = ()
    """Side B is the second build of A."""
    warm_up: WarmUp | None = None
    """Both sides in turn; a call is one of each."""
    clock_source: str = ""
    """`in-band`, `nvml`; empty: the clocks are not known."""
    no_clock: str = ""
    """Why they are not."""
    shared_gpu: bool | None = None
    warnings: tuple[str, ...] = ()


class StoredSeries(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The samples of an earlier run of one side, as its `timing.json` holds them."""

    samples_ns: tuple[float, ...]
    mhz: float | None = None
    created: str = ""
    profile: str = ""
    """Folder of the profile below the folder of all profiles."""
    settled: bool = True


class Shape(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Both sides on one problem: interleaved runs, or one stored series of each side."""

    a: Conditions
    b: Conditions
    runs: tuple[QuadRun, ...] = ()
    """One a process."""
    stored: tuple[StoredSeries, StoredSeries] | None = None
    outputs: dict[str, float] = {}
    """Relative error of each side's output against the reference, 0..1, by `A` and `B`."""
    memory_bound: bool | None = None
    """DRAM % above TC %; None: not known."""
    memory_bound_by: str = ""
    """What says so: `the model`, `counters`."""
    failure: str = ""
    """Why it has no times: `B gives wrong results: …`."""

    def __post_init__(self) -> None:
        if self.failure and (self.runs or self.stored):
            raise ContradictoryRecord("a shape that failed has no times")
        if self.runs and self.stored:
            raise ContradictoryRecord("times are interleaved or stored, not both")


class Floors(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Changes below the largest of these are none, in percent."""

    least_pct: float
    """Of the protocol."""
    machine_pct: float | None = None
    """What A against A showed on this very machine; None: never measured."""
    typed_pct: float | None = None
    """`--min_effect`."""

    @property
    def pct(self) -> float:
        return max(self.least_pct, self.machine_pct or 0.0, self.typed_pct or 0.0)


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that one comparison saw, and its verdict."""

    format: Literal["mla_var3/comparison"] = FORMAT
    schema_version: Literal[1] = 1
    created: str
    """ISO 8601, UTC."""
    a: Side
    b: Side
    shapes: tuple[Shape, ...]
    floors: Floors
    settings: dict[str, float]
    machine: Machine | None = None
    processes: int = 1
    warnings: tuple[str, ...] = ()
    missing: dict[str, str] = {}
    """Part of the protocol to the reason it was not done."""
    verdict: ComparisonVerdict | None = None

    def __post_init__(self) -> None:
        if not self.shapes:
            raise ContradictoryRecord("a comparison of no shape")

    @property
    def across_runs(self) -> bool:
        """Whether any shape's times were not interleaved."""
        return any(shape.stored for shape in self.shapes)


def load_comparison(path: Path) -> Comparison:
    """Read a `comparison.json`; `NoUsableData` names what is wrong with it."""
    if not path.is_file():
        raise NotFound(f"no {path.name}: give the folder of a comparison")
    try:
        return msgspec.json.decode(path.read_bytes(), type=Comparison)
    except (msgspec.MsgspecError, ContradictoryRecord) as error:
        raise NoUsableData(f"{path.name} is no comparison of mla_var3: {error}") from error


def save_comparison(comparison: Comparison, path: Path) -> None:
    """Write it, as it is: the verdict must follow from the file."""
    path.write_bytes(msgspec.json.encode(comparison) + b"\n")


def json_schema() -> dict[str, Any]:
    """The JSON Schema of `comparison.json`."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"{FORMAT} 1"}
    schema = msgspec.json.schema(Comparison)
    schema["$defs"]["Comparison"]["required"] += ["format", "schema_version"]
    return head | schema
