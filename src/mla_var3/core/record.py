"""The record: what was seen in one profiling, with the origin of every number.

Units stand beside the value (`Metric.unit`) or in the name. A number that is missing is absent
from `metrics` and its reason stands in `missing`; it is never 0 and never NaN.
"""

import math
from typing import Annotated, Literal, get_args

import msgspec

from mla_var3.core.errors import ContradictoryRecord, ReportFault

SCHEMA_VERSION = 1

Source = Literal["ncu", "event", "nsys", "static", "model", "spec"]
Mode = Literal["annotation", "event", "ncu", "nsys", "static"]
Status = Literal["OK", "PARTIAL", "CHECK_FAILED", "KERNEL_FAILED"]
SpeedupScope = Literal["GLOBAL", "LOCAL", "UNKNOWN", "-"]
RuleType = Literal["NONE", "OK", "OPTIMIZATION", "WARNING", "ERROR"]
Percent = Annotated[float, msgspec.Meta(description="percent, 0 to 100 unless a counter misreads")]


def _need(condition: bool, why: str) -> None:
    if not condition:
        raise ContradictoryRecord(why)


class Metric(msgspec.Struct, frozen=True):
    """One finite number with its unit, where it comes from, and the raw name it was read from.

    `raw` is a counter's name, or an expression of names (`a + b`) where it was computed.
    """

    value: float | int
    unit: str
    source: Source
    raw: str

    def __post_init__(self) -> None:
        _need(math.isfinite(self.value), f"metric {self.raw} is {self.value}: say it is missing")
        _need(bool(self.raw), "a metric without the name it came from")


class Shares(msgspec.Struct, frozen=True):
    """Parts of a whole in percent, largest first: stall reasons, opcodes."""

    parts: dict[str, Percent]
    unit: str
    source: Source
    raw: str

    def __post_init__(self) -> None:
        _need(all(map(math.isfinite, self.parts.values())), f"{self.raw}: a share is not finite")


class Rule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One rule result of Nsight Compute; texts without link codes. `speedup_pct` is its raw cap."""

    section: str
    rule: str
    type: RuleType
    title: str = ""
    message: str = ""
    scope: SpeedupScope = "-"
    speedup_pct: Percent | None = None
    focus: dict[str, float] = {}


class HotLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One source line by warp-stall samples. `file` is a base name; no directory is kept."""

    file: str
    line: int
    samples_pct: Percent
    text: str = ""
    instruction: str = ""
    stall: str = ""
    library: bool = False


class Stage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One launch (or one stage of a plan) and all that was read of it."""

    name: str
    """Short name, unique in the profile: `copy_k`, `copy_k#2`."""
    kernel: str
    """Full kernel name as the tool gave it."""
    launch: int
    """Position in the report, from 0 over all ranges."""
    metrics: dict[str, Metric]
    missing: dict[str, str] = {}
    """Key of `conf/metrics.json` to the reason it is not here."""
    grid: tuple[int, ...] = ()
    block: tuple[int, ...] = ()
    stalls: Shares | None = None
    opcodes: Shares | None = None
    rules: tuple[Rule, ...] = ()
    hot_lines: tuple[HotLine, ...] = ()
    warnings: tuple[str, ...] = ()
    interrupted: bool = False
    """The profiler was stopped inside this launch: nothing of it can be trusted."""
    isolated: bool = False
    """A stage of concurrent kernels that was profiled alone."""
    sms_given: int | None = None
    """SMs the plan gives this stage; None: all of them."""
    tuned_for: tuple[str, ...] = ()
    """Architectures, `sm_90`, that its tiling is meant for; empty: any, or not known."""
    nvtx: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        both = self.metrics.keys() & self.missing.keys()
        _need(not both, f"{self.name}: both measured and missing: {sorted(both)}")

    def value(self, key: str) -> float | None:
        """Value of a metric in its unit, or None where it is missing."""
        metric = self.metrics.get(key)
        return None if metric is None else metric.value


class SourceFile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The file a record was read from; its directory is not kept."""

    file: str
    kind: Literal["ncu-rep", "ncu-csv", "nsys-sqlite", "nsys-rep"]
    bytes: int
    sha256: str


class PlanIdentity(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which plan ran: import path, language, version and the problem's fields."""

    kernel: str
    version: str
    language: str = ""
    import_path: str = ""
    params: dict[str, int | float | str | bool] = {}
    source_sha256: str = ""


class Environment(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where and with what it was recorded. Never a host, a user name or a directory."""

    device: str | None = None
    """Exact product name, None where the file does not tell."""
    compute_capability: str | None = None
    sm_count: int | None = None
    clock_max_hz: float | None = None
    driver: str | None = None
    capture_tool: str | None = None
    """`ncu 2025.3.1`: what recorded the file."""
    reader_tool: str | None = None
    """`ncu_report 2026.3.1`: what read it."""
    clocks_locked: bool | None = None
    """None: the file does not tell."""
    git_commit: str | None = None


class Check(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Comparison with the reference: relative Frobenius error and worst row, both 0..1."""

    passed: bool
    relative_error: float | None = None
    worst_row: float | None = None
    detail: str = ""


class Profile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One profiling: identity, environment, stages, and a status that decides what may exist."""

    mode: Mode
    status: Status
    stages: tuple[Stage, ...]
    end_to_end: Stage | None = None
    """The plan as a whole, as it was timed from its first launch to its end."""
    groups: tuple[Stage, ...] = ()
    """Stages of the plan that launched several kernels, put together; those stand in `stages`."""
    environment: Environment = Environment()
    plan: PlanIdentity | None = None
    source: SourceFile | None = None
    created: str = ""
    """ISO 8601 time of the recording or import, UTC."""
    failure: str = ""
    """Why the status is not OK, one line."""
    check: Check | None = None
    tilings: dict[str, dict[str, int | float | str | bool | None]] = {}
    warnings: tuple[str, ...] = ()
    missing: dict[str, str] = {}

    def __post_init__(self) -> None:
        names = [stage.name for stage in self.stages]
        _need(len(set(names)) == len(names), "two stages of one name")
        _STATUS_RULES[self.status](self)

    @property
    def of_plan(self) -> tuple[tuple[Stage, tuple[Stage, ...]], ...]:
        """Each stage of the plan, and its kernels where it launched several."""
        groups = {group.name: group for group in self.groups}
        kernels: dict[str, tuple[Stage, ...]] = {}
        for stage in self.stages:
            name = next((name for name in stage.nvtx if name in groups), stage.name)
            kernels[name] = (*kernels.get(name, ()), stage)
        return tuple(
            (groups[name], own) if name in groups else (own[0], ()) for name, own in kernels.items()
        )

    @property
    def fault(self) -> ReportFault | None:
        """The file fault that `failure` begins with, such as `TRUNCATED`; None without one."""
        word = self.failure.partition(" ")[0]
        return next((fault for fault in get_args(ReportFault) if fault == word), None)


def _ok(p: Profile) -> None:
    _need(bool(p.stages), "OK without a stage")
    _need(not p.failure, "OK with a failure text")
    _need(not any(s.interrupted for s in p.stages), "OK with an interrupted launch")
    _need(p.check is None or p.check.passed, "OK with a failed check")


def _partial(p: Profile) -> None:
    _need(bool(p.stages), "PARTIAL without a stage: that is a failure, not a record")
    _need(bool(p.failure), "PARTIAL without the reason")
    _need(p.check is None or p.check.passed, "PARTIAL with a failed check")


def _check_failed(p: Profile) -> None:
    _need(p.check is not None and not p.check.passed, "CHECK_FAILED without a failed check")
    measured = [*p.stages, *p.groups, *([p.end_to_end] if p.end_to_end else [])]
    _need(not any(s.metrics for s in measured), "CHECK_FAILED with performance numbers")
    _need(bool(p.failure), "CHECK_FAILED without the reason")


def _kernel_failed(p: Profile) -> None:
    _need(not (p.stages or p.groups or p.end_to_end), "KERNEL_FAILED with stages")
    _need(bool(p.failure), "KERNEL_FAILED without the reason")
    _need(p.check is None, "KERNEL_FAILED with a check")


_STATUS_RULES = {
    "OK": _ok,
    "PARTIAL": _partial,
    "CHECK_FAILED": _check_failed,
    "KERNEL_FAILED": _kernel_failed,
}
