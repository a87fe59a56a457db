"""A stand-in for `ncu_report`: reports from plain values, or copied from a recording and edited.

`copy_of(path)` gives the launches of a recording; edit `launch.metrics`, `names`, `rules` …, then
`profile_of(launches)` reads them as `read_report` would.
"""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mla_var3.core.record import Profile, SourceFile
from mla_var3.measure.ncu_reader.blocks import Layout
from mla_var3.measure.ncu_reader.part import read_part
from mla_var3.measure.ncu_reader.report_file import build_profile

NO_VALUE = object()
"""Value of a metric that is there and empty: `has_value()` is False."""
SOURCE = SourceFile(file="fake.ncu-rep", kind="ncu-rep", bytes=1, sha256="0" * 64)
_PER_PC = ("inst_executed", "smsp__pcsamp_", "sass__inst_executed_per_opcode")


@dataclass
class FakeMetric:
    """One metric; `instances` are (correlation id, value), the ids numbers or texts."""

    stored: Any = NO_VALUE
    stored_unit: str = ""
    instances: Sequence[tuple[Any, Any]] = ()

    def has_value(self) -> bool:
        return self.stored is not NO_VALUE

    def value(self) -> Any:
        return None if self.stored is NO_VALUE else self.stored

    def unit(self) -> str:
        return self.stored_unit

    def num_instances(self) -> int:
        return len(self.instances)

    def has_correlation_ids(self) -> bool:
        return bool(self.instances)

    def correlation_ids(self) -> "FakeIds":
        return FakeIds([identifier for identifier, _ in self.instances])

    def as_uint64(self, index: int) -> int:
        return int(self.instances[index][1])


@dataclass
class FakeIds:
    """Correlation ids of a metric."""

    ids: Sequence[Any]

    def as_uint64(self, index: int) -> int:
        if not isinstance(self.ids[index], int):
            raise TypeError("not a number")
        return int(self.ids[index])

    def as_string(self, index: int) -> str:
        if not isinstance(self.ids[index], str):
            raise TypeError("not a text")
        return str(self.ids[index])


@dataclass
class FakeSourceInfo:
    """Where an instruction comes from."""

    file: str
    number: int

    def file_name(self) -> str:
        return self.file

    def line(self) -> int:
        return self.number


@dataclass
class FakeNvtx:
    """One domain with open push/pop ranges."""

    ranges: tuple[str, ...]

    def domains(self) -> tuple[int, ...]:
        return (0,)

    def domain_by_id(self, identifier: int) -> "FakeNvtx":
        return self

    def push_pop_ranges(self) -> tuple[str, ...]:
        return self.ranges

    def start_end_ranges(self) -> tuple[str, ...]:
        return ()


@dataclass
class FakeLaunch:
    """One launch. `metrics`: name to a `FakeMetric`; `lines`: program counter to (file, line)."""

    function: str | None = "kernel"
    full: str | None = None
    mangled: str | None = None
    metrics: dict[str, FakeMetric] = field(default_factory=dict)
    rules: list[dict[str, Any]] = field(default_factory=list)
    lines: dict[int, tuple[str, int]] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    sass: dict[int, str] = field(default_factory=dict)
    nvtx: tuple[str, ...] | None = None
    asked: set[str] = field(default_factory=set)
    """Names of the metrics that were looked up."""

    def name(self, base: int = 0) -> str | None:
        named = (self.function, self.full, self.mangled)[base]
        return self.function if named is None else named

    def metric_names(self) -> tuple[str, ...]:
        return tuple(self.metrics)

    def metric_by_name(self, name: str) -> FakeMetric | None:
        self.asked.add(name)
        return self.metrics.get(name)

    def rule_results_as_dicts(self) -> list[dict[str, Any]]:
        return self.rules

    def source_info(self, counter: int) -> FakeSourceInfo | None:
        return FakeSourceInfo(*self.lines[counter]) if counter in self.lines else None

    def source_files(self) -> dict[str, str]:
        return self.sources

    def sass_by_pc(self, counter: int) -> str:
        return self.sass.get(counter, "")

    def nvtx_state(self) -> FakeNvtx | None:
        return None if self.nvtx is None else FakeNvtx(self.nvtx)

    def set(self, name: str, value: Any, unit: str = "") -> None:
        """Give a metric a value, keeping the unit it had."""
        old = self.metrics.get(name)
        self.metrics[name] = FakeMetric(value, unit or (old.stored_unit if old else ""))

    def edited(self) -> "FakeLaunch":
        """A copy whose metrics may be added, removed and replaced."""
        twin = copy.copy(self)
        twin.metrics = dict(self.metrics)
        twin.asked = set()
        return twin


@dataclass
class FakeRange:
    """One range of a report."""

    launches: Sequence[FakeLaunch]

    def num_actions(self) -> int:
        return len(self.launches)

    def action_by_idx(self, index: int) -> FakeLaunch:
        return self.launches[index]


@dataclass
class FakeModule:
    """What `import ncu_report` would give, and the report that it loads."""

    ranges: Sequence[Sequence[FakeLaunch]]
    version: str = "2026.3.1"

    class IAction:
        NameBase_FUNCTION, NameBase_DEMANGLED, NameBase_MANGLED = 0, 1, 2

    def load_report(self, path: str) -> "FakeModule":
        return self

    def get_version(self) -> str:
        return self.version

    def num_ranges(self) -> int:
        return len(self.ranges)

    def range_by_idx(self, index: int) -> FakeRange:
        return FakeRange(self.ranges[index])


def launch(metrics: dict[str, Any], **other: Any) -> FakeLaunch:
    """A launch from plain values: `{"name": value}` or `{"name": (value, unit)}`."""
    made = {
        name: FakeMetric(*value) if isinstance(value, tuple) else FakeMetric(value)
        for name, value in metrics.items()
    }
    return FakeLaunch(metrics=made, **other)


def profile_of(
    *launches: FakeLaunch, layout: Layout | None = None, path: Path | None = None
) -> Profile:
    """The launches of one range, read. `path`: the recording they are copies of, for its code."""
    return profile_of_module(FakeModule([launches]), layout=layout, path=path)


def profile_of_module(
    module: FakeModule, *, layout: Layout | None = None, path: Path | None = None
) -> Profile:
    """A whole report, read."""
    part = read_part(module, path or Path(__file__))
    return build_profile(part, layout or Layout(tool_version="2025.3.1.0 (build 1)"), SOURCE)


def copy_of(path: Path) -> list[FakeLaunch]:
    """The launches of a recording as fakes, with all that the reader asks for."""
    import ncu_report

    report = ncu_report.load_report(str(path))
    return [
        _copied(ncu_report, launch_range.action_by_idx(index))
        for number in range(report.num_ranges())
        for launch_range in [report.range_by_idx(number)]
        for index in range(launch_range.num_actions())
    ]


def _copied(module: Any, action: Any) -> FakeLaunch:
    bases = module.IAction
    state = action.nvtx_state()
    metrics = dict(_metrics(action))
    counters = [counter for counter, _ in metrics["inst_executed"].instances]
    samples = metrics.get("smsp__pcsamp_sample_count", FakeMetric()).instances
    infos = {c: action.source_info(c) for c in {*counters, *(c for c, _ in samples)}}
    return FakeLaunch(
        function=action.name(bases.NameBase_FUNCTION),
        full=action.name(bases.NameBase_DEMANGLED),
        mangled=action.name(bases.NameBase_MANGLED),
        metrics=metrics,
        rules=[dict(rule) for rule in action.rule_results_as_dicts()],
        lines={c: (i.file_name(), i.line()) for c, i in infos.items() if i is not None},
        sources=dict(action.source_files().items()),
        nvtx=None if state is None else tuple(state.domain_by_id(0).push_pop_ranges()),
    )


def _metrics(action: Any) -> Iterator[tuple[str, FakeMetric]]:
    for name in action.metric_names():
        metric = action.metric_by_name(name)
        value = metric.value() if metric.has_value() else NO_VALUE
        instances: list[tuple[Any, Any]] = []
        if name.startswith(_PER_PC) and metric.has_correlation_ids():
            ids = metric.correlation_ids()
            read = ids.as_string if "opcode" in name else ids.as_uint64
            instances = [(read(i), metric.as_uint64(i)) for i in range(metric.num_instances())]
        yield name, FakeMetric(value, metric.unit() or "", instances)
