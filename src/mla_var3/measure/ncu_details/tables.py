"""Memory tables, opcode counts, stall reasons, occupancy curves and sampled series of a launch."""

import math
import re
from collections.abc import Sequence
from typing import Any

from mla_var3.core.ncu_details import Counter, Curve, MemoryTable, Opcode, Series, Stall
from mla_var3.measure.ncu_details.counters import LIBRARY_ERRORS, find, whole_number
from mla_var3.measure.ncu_details.spec import MemorySpec, spec
from mla_var3.measure.ncu_reader.readings import Counters
from mla_var3.measure.ncu_reader.stalls import SAMPLED, reason_of

NO_TRAFFIC = "no traffic"
_CYCLES = ("smsp__average_warps_issue_stalled_", "_per_issue_active.ratio")
_NOT_ISSUED = "_not_issued"
_SERIES = re.compile(r"^(?:pmsampling:|[A-Z][A-Z_0-9]*\.\w+\.)")
"""Begins the names of counters that were sampled over time."""
_LATEST = 1 << 64
_OPERATORS = re.compile(r" ([+/%]) ")


def read_memory(action: Any) -> tuple[MemoryTable, ...]:
    """The memory tables of which the report has any counter."""
    tables = (_memory_table(action, part) for part in spec().memory)
    return tuple(made for made in tables if any(any(cells) for _, cells in made.rows))


def read_opcodes(action: Any, what: str = "") -> tuple[Opcode, ...]:
    """Counts by opcode, or with `what="category_"` by category, most executed first."""
    warp = counts_of(action, spec().opcodes[f"{what}warp"])
    thread = counts_of(action, spec().opcodes[f"{what}thread"])
    found = [Opcode(name, warp.get(name), thread.get(name)) for name in {**warp, **thread}]
    return tuple(sorted(found, key=lambda code: (-(code.warp or 0), -(code.thread or 0))))


def counts_of(action: Any, name: str) -> dict[str, int]:
    """Values of a counter whose instances are named by texts; {} where it is none."""
    found: dict[str, int] = {}
    metric = action.metric_by_name(name)
    if metric is None or not metric.has_correlation_ids():
        return found
    try:
        names = metric.correlation_ids()
        for index in range(metric.num_instances()):
            opcode = str(names.as_string(index) or "")
            if opcode:
                found[opcode] = found.get(opcode, 0) + int(metric.as_uint64(index))
    except LIBRARY_ERRORS:
        return {}
    return found


def read_stalls(counters: Counters, action: Any) -> tuple[Stall, ...]:
    """Every warp state that was counted or sampled, the longest first."""
    cycles: dict[str, float] = {}
    samples: dict[str, int] = {}
    not_issued: dict[str, int] = {}
    for name in counters.names():
        if "issue_stalled_" not in name:
            continue
        if reason := reason_of(name, *_CYCLES):
            value = counters.read(name).value
            if value is not None:
                cycles[reason] = value
        elif name.startswith(SAMPLED):
            bare = name.removesuffix(_NOT_ISSUED)
            reason, value = reason_of(bare, SAMPLED), whole_number(action, name)
            if reason and value is not None:
                (samples if bare == name else not_issued)[reason] = value
    reasons = {**cycles, **samples}
    found = [Stall(r, cycles.get(r), samples.get(r), not_issued.get(r)) for r in reasons]
    return tuple(sorted(found, key=lambda s: (-(s.samples or 0), -(s.cycles or 0.0), s.reason)))


def read_curves(action: Any) -> tuple[Curve, ...]:
    """The occupancy curves that the report has, each with the launch's own place on it."""
    curves = []
    for part in spec().curves:
        points = _points(action, part.name)
        if points:
            amounts = (whole_number(action, name) for name in part.current)
            current = next((amount for amount in amounts if amount is not None), None)
            curves.append(
                Curve(
                    title=part.title,
                    resource=part.resource,
                    name=part.name,
                    points=points,
                    current=current,
                )
            )
    return tuple(curves)


def read_series(action: Any, names: Sequence[str]) -> tuple[Series, ...]:
    """Counters that were sampled over the launch's time; samples before and after are left out."""
    span = (_time(action, spec().span[0], 0), _time(action, spec().span[1], _LATEST))
    found = []
    for name in names:
        if _SERIES.match(name):
            metric = action.metric_by_name(name)
            values = _sampled(metric, span)
            if len(values) > 1:
                found.append(Series(_SERIES.sub("", name), str(metric.unit() or ""), values))
    return tuple(found)


def _time(action: Any, name: str, otherwise: int) -> int:
    """The time in ns at which a mark of the tool stands."""
    metric = action.metric_by_name(name)
    if metric is None or not metric.has_correlation_ids() or metric.num_instances() == 0:
        return otherwise
    return int(metric.correlation_ids().as_uint64(0)) or otherwise


def _sampled(metric: Any, span: tuple[int, int]) -> tuple[float, ...]:
    """Values in the order of their times, which are the ids; id 0 stands for no time at all."""
    if metric is None or not metric.has_correlation_ids():
        return ()
    first, last = span
    try:
        times = metric.correlation_ids()
        at = [int(times.as_uint64(i)) for i in range(metric.num_instances())]
        inside = (i for i, time in enumerate(at) if time and first <= time <= last)
        values = [float(metric.as_double(i)) for i in inside]
    except LIBRARY_ERRORS:
        return ()
    return tuple(values) if all(map(math.isfinite, values)) else ()


def _points(action: Any, name: str) -> tuple[tuple[int, float], ...]:
    metric = action.metric_by_name(name)
    if metric is None or not metric.has_correlation_ids() or metric.num_instances() < 2:
        return ()
    try:
        amounts = metric.correlation_ids()
        count = range(metric.num_instances())
        points = [(int(amounts.as_uint64(i)), float(metric.as_double(i))) for i in count]
    except LIBRARY_ERRORS:
        return ()
    return tuple(sorted(points)) if all(math.isfinite(y) for _, y in points) else ()


def _memory_table(action: Any, part: MemorySpec) -> MemoryTable:
    rows = tuple(
        (label, tuple(_cell(action, template, fills) for template in part.columns.values()))
        for label, fills in part.rows.items()
    )
    return MemoryTable(part.title, tuple(part.columns), rows)


def _cell(action: Any, template: str, fills: dict[str, str]) -> Counter | None:
    """The counter of a cell, or what is computed of two: `a + b`, `a / b`, `a % b`."""
    try:
        expression = template.format(**fills)
    except KeyError:
        return None
    name, *rest = _OPERATORS.split(expression)
    if not rest:
        return find(action, name)
    operator, other = rest
    first, second = find(action, name), find(action, other)
    if first is None or second is None:
        return None
    a, b = first.value, second.value
    if not isinstance(a, int | float) or not isinstance(b, int | float):
        return Counter(expression, None, reason=first.reason or second.reason)
    if operator == "+":
        return Counter(expression, a + b, first.unit)
    if operator == "%":
        expression = f"100 {name} / ({name} + {other})"
        a, b = 100 * a, a + b
    if b == 0:
        return Counter(expression, None, reason=NO_TRAFFIC)
    return Counter(expression, a / b, "%" if operator == "%" else "")
