"""One counter as a report gives it: a finite value with its unit, or the reason there is none."""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

from mla_var3.measure.ncu_reader.table import table
from mla_var3.measure.ncu_reader.units import factor

_TEXT_SHOWN = 24


class Reading(NamedTuple):
    """A counter. `value` is None where nothing usable is there; `reason` then says why."""

    value: float | int | None
    unit: str = ""
    reason: str = ""
    name: str = ""
    """What it is called in the file, where that is not the counter's name."""

    def within(self, wanted: str, implied: str = "") -> "Reading":
        """The same in the unit `wanted`; `implied` is the unit where the file writes none."""
        if self.value is None:
            return self
        scale = factor(self.unit or implied, wanted)
        if scale is None:
            words = table().absence["unit"].format(unit=self.unit, wanted=wanted)
            return Reading(None, self.unit, words, self.name)
        value = self.value if scale == 1.0 else self.value * scale
        return self._replace(value=value, unit=wanted)


class Counters(Protocol):
    """Where counters are looked up: a launch of a report, or a row of an export."""

    def read(self, name: str) -> Reading:
        """Reading of a counter; never raises."""

    def names(self) -> Iterable[str]:
        """Names of all counters that are there."""


def reading_of(value: object, unit: str = "", name: str = "") -> Reading:
    """Judge a raw value: numbers that are finite are kept, all else gets its reason."""
    absence = table().absence
    if value is None or value == "":
        return Reading(None, unit, absence["empty"], name)
    if isinstance(value, bool | int | float):
        if not math.isfinite(value):
            return Reading(None, unit, absence["not_a_number"], name)
        return Reading(value, unit, "", name)
    shown = "".join(c for c in str(value) if c.isprintable())[:_TEXT_SHOWN]
    return Reading(None, unit, absence["text"].format(text=shown), name)


class LaunchCounters:
    """Counters of one launch of a .ncu-rep, each read once."""

    def __init__(self, action: Any) -> None:
        self._action = action
        self._read: dict[str, Reading] = {}

    def read(self, name: str) -> Reading:
        """Reading of a counter; never raises."""
        if name not in self._read:
            self._read[name] = self._look_up(name)
        return self._read[name]

    def names(self) -> Iterable[str]:
        """Names of all counters that are there."""
        return list(self._action.metric_names())

    def _look_up(self, name: str) -> Reading:
        try:
            metric = self._action.metric_by_name(name)
            if metric is None:
                return Reading(None, "", table().absence["not_collected"])
            if not metric.has_value():
                return Reading(None, "", table().absence["empty"])
            return reading_of(metric.value(), metric.unit() or "")
        except (RuntimeError, TypeError, ValueError, KeyError):
            # a metric of a kind that this version of the library does not know
            return Reading(None, "", table().absence["empty"])
