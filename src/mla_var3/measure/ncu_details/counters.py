"""Counters as the report gives them: label, unit, value, or the reason why there is none."""

import math
from typing import Any

from mla_var3.core.ncu_details import Counter
from mla_var3.measure.ncu_reader.rules import clean_text
from mla_var3.measure.ncu_reader.table import table

LIBRARY_ERRORS = (RuntimeError, TypeError, ValueError, KeyError, OverflowError, IndexError)
"""What the library raises for a counter of a kind that it does not know."""

_LONGEST_TEXT = 400
_GENERATED = "{"
"""Begins a label that the details page fills in, `{UNIT}: {COMPOUND_NAME}`: no label for us."""


def counter_of(metric: Any) -> Counter:
    """One metric of the library; never raises."""
    name = str(metric.name())
    unit = str(metric.unit() or "")
    # the modules of Nsight Compute before 2026 tell no labels
    label = str(metric.label() or "") if hasattr(metric, "label") else ""
    value, reason = _value(metric)
    return Counter(name, value, unit, "" if label.startswith(_GENERATED) else label, reason)


def find(action: Any, name: str) -> Counter | None:
    """A counter of a launch by name, None where it was not collected."""
    metric = action.metric_by_name(name)
    return None if metric is None else counter_of(metric)


def whole_number(action: Any, name: str) -> int | None:
    """A counter that counts, None where it was not collected or has no finite value."""
    counter = find(action, name)
    if counter is None or not isinstance(counter.value, int | float):
        return None
    return int(counter.value)


def _value(metric: Any) -> tuple[float | int | str | None, str]:
    absence = table().absence
    try:
        value = metric.value() if metric.has_value() else None
    except LIBRARY_ERRORS:
        value = None
    if value is None or value == "":
        return None, absence["empty"]
    if isinstance(value, str):
        return clean_text(value, _LONGEST_TEXT), ""
    if not math.isfinite(value):
        return None, absence["not_a_number"]
    return value, ""
