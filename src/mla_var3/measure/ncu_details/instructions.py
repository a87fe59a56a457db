"""Every instruction of a launch: offset, machine code, PTX, source line, and its counters."""

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from mla_var3.core.ncu_details import Column, Instructions, Line, Value
from mla_var3.measure.ncu_details.counters import LIBRARY_ERRORS, counter_of
from mla_var3.measure.ncu_details.spec import spec
from mla_var3.measure.ncu_reader.stalls import SAMPLED, reason_of

_WHOLE_KINDS = (5, 6)
"""Of a metric's values: IMetric.ValueKind_UINT32 and _UINT64."""
_FUNCTION_ALIGNMENT = 128
_INSTRUCTION_BYTES = 16
_ADDRESS = re.compile(r"0x[0-9a-f]{7,}")
_PROBES = 9
_FARTHEST = 1 << 26
"""A function's start lies no farther before its first counted instruction."""

Texts = dict[tuple[int, ...], tuple[str, ...]]
"""Machine code of one kernel by the offsets of its instructions."""


class _Frame(NamedTuple):
    """The counted addresses, ascending, and where each stands among them."""

    addresses: tuple[int, ...]
    rows: dict[int, int]
    start: int
    from_start: bool


class Located(NamedTuple):
    """The instructions, and what else is needed to tell where something is."""

    table: Instructions
    start: int
    files: tuple[str, ...]
    """Paths of the source files that lines point into, in order of the addresses."""


class _Ids(NamedTuple):
    """Addresses of a counter's instances, and their rows; None where one is unknown."""

    addresses: tuple[int, ...]
    rows: tuple[int, ...] | None


def read_instructions(action: Any, names: Sequence[str], texts: Texts) -> Located | None:
    """The table, from counters that have a value by instruction; None where there are none.

    `texts` are of launches with the very same code, which need not be disassembled anew.
    """
    wanted = spec().instructions
    found = [name for name in names if _by_number(action, name)]
    frame = _frame(action, _framing(found))
    if frame is None:
        return None
    seen: dict[int, _Ids] = {}
    columns = [made for name in found if (made := _column(action, name, frame, seen)) is not None]
    named = {column.name: column for column in columns}
    stalls = {r: column for column in columns if (r := reason_of(column.name, SAMPLED))}
    places = [_place(action, address) for address in frame.addresses]
    files = tuple(dict.fromkeys(place[0] for place in places if place))
    indices = {file: index for index, file in enumerate(files)}
    offsets = tuple(address - frame.start for address in frame.addresses)
    table = Instructions(
        offsets=offsets,
        from_start=frame.from_start,
        sass=_machine_code(action, frame, offsets, texts),
        ptx=tuple(" ".join(str(action.ptx_by_pc(a) or "").split()) for a in frame.addresses),
        lines=tuple(Line(indices[place[0]], place[1]) if place else None for place in places),
        samples=_samples(named, stalls),
        columns=tuple(columns),
        stalls=stalls,
        executed=named.get(wanted.executed),
        excess_sectors=_excess(named, wanted.excess_sectors),
        excess_wavefronts=_excess(named, wanted.excess_wavefronts),
    )
    return Located(table, frame.start, files)


def _framing(names: Sequence[str]) -> list[str]:
    """Counters that tell which instructions there are: executed and sampled ones."""
    wanted = spec().instructions
    counted = [name for name in names if name == wanted.executed]
    sampled = [name for name in names if name in wanted.samples]
    return counted + (sampled or [name for name in names if name.startswith(SAMPLED)])


def _by_number(action: Any, name: str) -> bool:
    """Whether its instances are told apart by numbers, as addresses are."""
    metric = action.metric_by_name(name)
    if metric is None or not metric.has_correlation_ids() or metric.num_instances() == 0:
        return False
    return int(metric.correlation_ids().kind(0)) in _WHOLE_KINDS


def _frame(action: Any, names: Iterable[str]) -> _Frame | None:
    addresses: set[int] = set()
    for name in names:
        metric = action.metric_by_name(name)
        if metric is not None and metric.has_correlation_ids():
            addresses.update(_identifiers(metric))
    ordered = tuple(sorted(addresses))
    if not ordered:
        return None
    start = _start(action, ordered[0])
    from_start = start is not None or ordered[0] % _FUNCTION_ALIGNMENT == 0
    rows = {address: row for row, address in enumerate(ordered)}
    return _Frame(ordered, rows, ordered[0] if start is None else start, from_start)


def _start(action: Any, lowest: int) -> int | None:
    """Address of the function that holds the lowest counted address."""
    metric = action.metric_by_name(spec().instructions.start)
    if metric is None:
        return None
    try:
        starts = [int(metric.as_uint64(index)) for index in range(metric.num_instances())]
    except LIBRARY_ERRORS:
        return None
    return max((s for s in starts if 0 <= lowest - s < _FARTHEST), default=None)


def _column(action: Any, name: str, frame: _Frame, seen: dict[int, _Ids]) -> Column | None:
    """A counter by instruction; None where its instances are no addresses of this kernel."""
    metric = action.metric_by_name(name)
    try:
        rows = _rows(metric, frame, seen)
        if rows is None:
            return None
        whole = int(metric.kind(0)) in _WHOLE_KINDS
        read = metric.as_uint64 if whole else metric.as_double
        values: list[float | int | None] = [None] * len(frame.addresses)
        for index, row in enumerate(rows):
            value = read(index)
            before = values[row]
            if math.isfinite(value):
                values[row] = value if before is None else before + value
    except LIBRARY_ERRORS:
        return None
    counter = counter_of(metric)
    return Column(name, counter.unit, counter.value, tuple(values))


def _rows(metric: Any, frame: _Frame, seen: dict[int, _Ids]) -> tuple[int, ...] | None:
    """Rows of the instances; `seen` keeps the last ones by their number, which many share.

    A look at a few tells whether they are the same: to ask for each costs as much as the values.
    """
    count = int(metric.num_instances())
    known = seen.get(count)
    if known is not None:
        identifiers = metric.correlation_ids()
        probes = {round(k * (count - 1) / (_PROBES - 1)) for k in range(_PROBES)}
        if all(identifiers.as_uint64(k) == known.addresses[k] for k in probes):
            return known.rows
    addresses = tuple(_identifiers(metric))
    rows = [frame.rows.get(address) for address in addresses]
    inside = [row for row in rows if row is not None]
    seen[count] = _Ids(addresses, tuple(inside) if len(inside) == count else None)
    return seen[count].rows


def _identifiers(metric: Any) -> list[int]:
    identifiers = metric.correlation_ids()
    return [int(identifiers.as_uint64(index)) for index in range(metric.num_instances())]


def _machine_code(
    action: Any, frame: _Frame, offsets: tuple[int, ...], texts: Texts
) -> tuple[str, ...]:
    """Text of every instruction, disassembled once for each kernel."""
    if offsets not in texts:
        texts[offsets] = tuple(_sass(action, address, frame) for address in frame.addresses)
    return texts[offsets]


def _sass(action: Any, address: int, frame: _Frame) -> str:
    """Machine code in one line; addresses in it, which change with every run, as offsets."""
    text = " ".join(str(action.sass_by_pc(address) or "").split())
    return _ADDRESS.sub(lambda found: _as_offset(found.group(), frame), text)


def _as_offset(text: str, frame: _Frame) -> str:
    address = int(text, 16)
    inside = frame.start <= address <= frame.addresses[-1] + _INSTRUCTION_BYTES
    return f"{address - frame.start:#x}" if inside else text


def _place(action: Any, address: int) -> tuple[str, int] | None:
    """Path and line of an instruction; None where the report does not tell."""
    info = action.source_info(address)
    if info is None or not info.file_name() or int(info.line()) <= 0:
        return None
    return str(info.file_name()), int(info.line())


def _samples(named: dict[str, Column], stalls: dict[str, Column]) -> tuple[int | None, ...] | None:
    """Warp samples by instruction: counted as such, else the sum over the reasons."""
    for name in spec().instructions.samples:
        if name in named and _sum(named[name].values) > 0:
            return _whole(named[name].values)
    if not stalls:
        return None
    sums = [_whole(column.values) for column in stalls.values()]
    return tuple(
        None if all(v is None for v in row) else sum(v or 0 for v in row)
        for row in zip(*sums, strict=True)
    )


def _excess(named: dict[str, Column], names: tuple[str, str, str]) -> Column | None:
    """The counter of the excess, else the difference of the actual and the ideal one."""
    derived, actual, ideal = names
    if derived in named:
        return named[derived]
    if actual not in named or ideal not in named:
        return None
    a, b = named[actual], named[ideal]
    values = tuple(
        None if x is None or y is None else x - y for x, y in zip(a.values, b.values, strict=True)
    )
    return Column(f"{actual} - {ideal}", a.unit, _difference(a.total, b.total), values)


def _difference(a: Value | None, b: Value | None) -> Value | None:
    return a - b if isinstance(a, int | float) and isinstance(b, int | float) else None


def _whole(values: Iterable[float | int | None]) -> tuple[int | None, ...]:
    return tuple(None if value is None else int(value) for value in values)


def _sum(values: Iterable[float | int | None]) -> float:
    return sum(value for value in values if value is not None)
