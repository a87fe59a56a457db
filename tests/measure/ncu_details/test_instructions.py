"""Instructions of launches whose counters are given otherwise than in our recordings."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.edited_launch import Edited, actions_of, module_of

from mla_var3.core.ncu_details import Instructions
from mla_var3.measure.ncu_details.read import read_details

Recording = Callable[[str], Path]


class Twice:
    """A counter, or its ids, whose instances stand twice, as where two parts are counted each."""

    def __init__(self, library_object: Any, count: int) -> None:
        self._object = library_object
        self._count = count

    def num_instances(self) -> int:
        return 2 * self._count

    def correlation_ids(self) -> "Twice":
        return Twice(self._object.correlation_ids(), self._count)

    def as_uint64(self, index: int) -> int:
        return int(self._object.as_uint64(index % self._count))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._object, name)


class Starts:
    """The addresses of several functions."""

    def __init__(self, *addresses: int) -> None:
        self._addresses = addresses

    def has_correlation_ids(self) -> bool:
        return False

    def num_instances(self) -> int:
        return len(self._addresses)

    def as_uint64(self, index: int) -> int:
        return self._addresses[index]

    def has_value(self) -> bool:
        return False

    def __getattr__(self, name: str) -> Any:
        return lambda *_: None


def _table(launch: Any) -> Instructions:
    (details,) = read_details(module_of(launch), Path(__file__), [0])
    assert details.instructions is not None
    return details.instructions


def _with(action: Any, name: str, metric: Any) -> Edited:
    read = action.metric_by_name
    return Edited(action, metric_by_name=lambda wanted: metric if wanted == name else read(wanted))


def test_several_values_of_one_instruction_are_added(recording: Recording) -> None:
    action = actions_of(recording("zoo_a"))[0]
    metric = action.metric_by_name("inst_executed")
    twice = Twice(metric, metric.num_instances())
    once, both = _table(action), _table(_with(action, "inst_executed", twice))
    assert once.executed is not None and both.executed is not None
    assert any(once.executed.values)
    assert both.executed.values == tuple(v and 2 * v for v in once.executed.values)
    # the samples next to it keep their own instances
    assert both.samples == once.samples


class Backwards:
    """A counter, or its ids, whose instances come in the opposite order."""

    def __init__(self, library_object: Any, count: int) -> None:
        self._object = library_object
        self._count = count

    def correlation_ids(self) -> "Backwards":
        return Backwards(self._object.correlation_ids(), self._count)

    def as_uint64(self, index: int) -> int:
        return int(self._object.as_uint64(self._count - 1 - index))

    def as_double(self, index: int) -> float:
        return float(self._object.as_double(self._count - 1 - index))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._object, name)


def test_points_of_a_curve_ascend_whatever_their_order_in_the_report(recording: Recording) -> None:
    action = actions_of(recording("zoo_a"))[0]
    name = "launch__occupancy_per_block_size"
    metric = action.metric_by_name(name)
    turned = _with(action, name, Backwards(metric, metric.num_instances()))
    first, second = (
        next(c for c in details.curves if c.name == name)
        for launch in (action, turned)
        for details in read_details(module_of(launch), Path(__file__), [0])
    )
    assert len(first.points) > 10 and first.points == tuple(sorted(first.points))
    assert second.points == first.points


def test_offsets_count_from_the_nearest_function_of_several(recording: Recording) -> None:
    action = actions_of(recording("zoo_a"))[0]
    plain = _table(action)
    start = int(action.metric_by_name("launch__function_pcs").as_uint64(0))
    starts = Starts(start - 0x4000, start, start + 0x10)
    several = _table(_with(action, "launch__function_pcs", starts))
    assert several.offsets == plain.offsets and plain.offsets[0] == 0
    assert several.from_start and several.sass == plain.sass
