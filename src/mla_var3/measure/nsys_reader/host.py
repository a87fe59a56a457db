"""API calls and NVTX ranges of an export: what the host did."""

from typing import Any

from mla_var3 import conf
from mla_var3.core.timeline import Call, Range
from mla_var3.measure.nsys_reader.gather import PROCESS, Gathered
from mla_var3.measure.nsys_reader.texts import without_paths

_CALLS = ("start", "end", "globalTid", "correlationId", "nameId", "returnValue")
_RANGES = ("start", "end", "eventType", "globalTid", "text", "textId")
UNNAMED = "unnamed"

CallIndex = dict[tuple[int, int], int]
"""(process, correlation id) to the position of the call."""


def read_calls(into: Gathered) -> tuple[tuple[Call, ...], CallIndex]:
    """All API calls by start, and where each process' correlation ids stand.

    Two processes may use the same correlation ids: an id alone joins nothing.
    """
    calls: list[Call] = []
    index: CallIndex = {}
    names: dict[Any, int] = {}
    threads: dict[Any, tuple[int, int]] = {}
    for start, end, thread, correlation, name, result in into.database.rows(
        "calls", _CALLS, "start"
    ):
        if not into.timed(start, end):
            continue
        if thread not in threads:
            threads[thread] = _thread(thread), into.process(thread)
        if name not in names:
            names[name] = into.name(into.string(name) or UNNAMED)
        number, process = threads[thread]
        if isinstance(correlation, int):
            index.setdefault((process, correlation), len(calls))
        code = result if isinstance(result, int) else 0
        calls.append(Call(names[name], start, end, number, process, code))
    return tuple(calls), index


def read_ranges(into: Gathered) -> tuple[Range, ...]:
    """The push/pop and start/end ranges by start; marks, domains and names are no ranges."""
    types = conf.table("nsys_export")["range_types"]
    nested, free = frozenset(types["nested"]), frozenset(types["start_end"])
    ranges: list[Range] = []
    for start, end, kind, thread, text, text_id in into.database.rows("ranges", _RANGES, "start"):
        if kind not in nested and kind not in free:
            continue
        if not into.timed(start, start if end is None else end):
            continue
        name = text if isinstance(text, str) and text else into.string(text_id)
        ranges.append(
            Range(
                name=into.name(without_paths(name) if name else UNNAMED),
                start=start,
                end=end,
                thread=_thread(thread),
                process=into.process(thread),
                nested=kind in nested,
            )
        )
    return tuple(ranges)


def _thread(global_id: Any) -> int:
    """The thread of a global id; 0 where it is none."""
    return global_id % PROCESS if isinstance(global_id, int) else 0
