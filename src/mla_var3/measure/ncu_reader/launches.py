"""The launches of an opened report, one at a time: whole, interrupted, or ghosts of a cut file."""

import sys
from collections.abc import Container, Iterator
from typing import Any, NamedTuple

from mla_var3.measure.ncu_reader.readings import LaunchCounters

_DURATIONS = ("gpu__time_duration.sum", "gpu__time_duration.avg", "gpu__time_duration.max")


class Launch(NamedTuple):
    """One launch. The library's object must be let go before the next: it holds all its data."""

    position: int
    action: Any
    counters: LaunchCounters
    full_name: str
    function_name: str | None
    mangled_name: str
    ghost: bool
    """Nothing of it is in the file."""

    @property
    def interrupted(self) -> bool:
        """The profiler was stopped inside: a name, but neither a duration nor a grid."""
        timed = any(self.counters.read(name).value is not None for name in _DURATIONS)
        return not timed and self.counters.read("launch__grid_size").value is None

    def dimensions(self, what: str) -> tuple[int, ...]:
        """`grid` or `block` as (x, y, z); () where it is not there."""
        sizes = [self.counters.read(f"launch__{what}_dim_{axis}").value for axis in "xyz"]
        return () if None in sizes else tuple(int(size or 0) for size in sizes)

    def text(self, name: str) -> str:
        """A counter that holds a text, "" where there is none."""
        metric = self.action.metric_by_name(name)
        value = metric.value() if metric is not None and metric.has_value() else None
        return value if isinstance(value, str) else ""

    def nvtx(self) -> tuple[str, ...]:
        """Names of the open NVTX ranges, outermost first."""
        state = self.action.nvtx_state()
        if state is None:
            return ()
        domains = [state.domain_by_id(identifier) for identifier in state.domains()]
        ranges = [
            *(name for domain in domains for name in domain.push_pop_ranges()),
            *(name for domain in domains for name in domain.start_end_ranges()),
        ]
        return tuple(str(name) for name in ranges if name)


def launches(module: Any, report: Any, first: int = 0, end: int | None = None) -> Iterator[Launch]:
    """Launches of all ranges in order, ghosts included, from position `first` up to `end`."""
    return launches_at(module, report, range(first, sys.maxsize if end is None else end))


def launches_at(module: Any, report: Any, positions: Container[int]) -> Iterator[Launch]:
    """Launches at these positions in order; the others are not opened, for that costs memory."""
    position = 0
    for range_index in range(report.num_ranges()):
        launch_range = report.range_by_idx(range_index)
        for index in range(launch_range.num_actions()):
            if position in positions:
                yield _launch(module, launch_range.action_by_idx(index), position)
            position += 1


def _launch(module: Any, action: Any, position: int) -> Launch:
    names = getattr(module, "IAction", None)
    function = _name(action, getattr(names, "NameBase_FUNCTION", None))
    demangled = _name(action, getattr(names, "NameBase_DEMANGLED", None))
    ghost = function is None and not list(action.metric_names())
    return Launch(
        position=position,
        action=action,
        counters=LaunchCounters(action),
        full_name=demangled or function or "",
        function_name=function,
        mangled_name=_name(action, getattr(names, "NameBase_MANGLED", None)) or "",
        ghost=ghost,
    )


def _name(action: Any, base: Any) -> str | None:
    name = action.name() if base is None else action.name(base)
    return None if name is None else str(name)
