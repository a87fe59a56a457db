"""Launches of a recording with single answers of the library replaced: all else is the recording's.

`module_of(Edited(action, source_info=lambda pc: None))` is a module whose report has that launch.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ncu_report
from tests.support.fake_report import FakeModule

LOW = 1 << 40
"""Addresses of a recording lie above."""


def actions_of(path: Path) -> list[Any]:
    """The launches of a recording's first range."""
    launch_range = ncu_report.load_report(str(path)).range_by_idx(0)
    return [launch_range.action_by_idx(index) for index in range(launch_range.num_actions())]


class Edited:
    """A launch whose methods named in `answers` are these functions."""

    def __init__(self, action: Any, **answers: Callable[..., Any]) -> None:
        self._action = action
        for name, answer in answers.items():
            setattr(self, name, answer)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._action, name)


def module_of(*launches: Any) -> FakeModule:
    """What stands in for `ncu_report`: its report has one range with these launches."""
    return FakeModule([launches])


def moved(action: Any, distance: int) -> Edited:
    """The launch as it would be with its code elsewhere in memory, `distance` bytes further."""

    def text(counter: int) -> str:
        return re.sub(
            r"0x[0-9a-f]{11,}",
            lambda found: f"{int(found.group(), 16) + distance:#x}",
            str(action.sass_by_pc(counter - distance)),
        )

    def metric(name: str) -> Any:
        found = action.metric_by_name(name)
        return None if found is None else _Moved(found, distance)

    return Edited(
        action,
        metric_by_name=metric,
        sass_by_pc=text,
        ptx_by_pc=lambda counter: action.ptx_by_pc(counter - distance),
        source_info=lambda counter: action.source_info(counter - distance),
        source_markers=lambda: [
            marker | {"source_address": marker["source_address"] + distance}
            if "source_address" in marker
            else marker
            for marker in action.source_markers()
        ],
    )


class _Moved:
    """A metric whose addresses, among its instances' ids and its values, are moved."""

    def __init__(self, metric: Any, distance: int) -> None:
        self._metric = metric
        self._distance = distance

    def __getattr__(self, name: str) -> Any:
        return getattr(self._metric, name)

    def correlation_ids(self) -> Any:
        return _Moved(self._metric.correlation_ids(), self._distance)

    def as_uint64(self, *index: int) -> int:
        value = int(self._metric.as_uint64(*index))
        return value + self._distance if LOW < value < 1 << 50 else value


class Older:
    """A launch or counter as a module of Nsight Compute 2025.3 shows it: no sections, no labels."""

    def __init__(self, library_object: Any) -> None:
        self._object = library_object

    def metric_by_name(self, name: str) -> Any:
        found = self._object.metric_by_name(name)
        return None if found is None else Older(found)

    def __getattr__(self, name: str) -> Any:
        if name in ("sections", "label", "timelines", "timed_warp_samples"):
            raise AttributeError(name)
        return getattr(self._object, name)
