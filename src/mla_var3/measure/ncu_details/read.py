"""The details of a report's launches, one at a time: the library keeps all that was looked at."""

import mmap
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mla_var3.core.ncu_details import LaunchDetails
from mla_var3.measure.ncu_details.instructions import Texts, read_instructions
from mla_var3.measure.ncu_details.rules import read_rule_results
from mla_var3.measure.ncu_details.sections import read_sections
from mla_var3.measure.ncu_details.sources import read_markers, read_sources
from mla_var3.measure.ncu_details.tables import (
    read_curves,
    read_memory,
    read_opcodes,
    read_series,
    read_stalls,
)
from mla_var3.measure.ncu_reader import blocks
from mla_var3.measure.ncu_reader.launches import Launch, launches_at
from mla_var3.measure.ncu_reader.machine_code import EmbeddedCode
from mla_var3.measure.ncu_reader.module import open_report
from mla_var3.measure.ncu_reader.part import quiet


def read_details(
    module: Any, report: Path, positions: Iterable[int], *, look: bool = False
) -> Iterator[LaunchDetails]:
    """Details of the launches at `positions`, in the report's order.

    `module` is `ncu_report`; `look`: compare the sources with the files on this disk. A launch
    that the library cannot show, or inside which the profiler was stopped, has its name only.
    """
    wanted = set(positions)
    texts: dict[str, Texts] = {}
    with _code_of(report) as code, quiet():
        for launch in launches_at(module, open_report(module, report), wanted):
            # launches of one name may have been compiled apart
            one = code.has_one(launch.mangled_name)
            own = texts.setdefault(launch.mangled_name, {}) if one else {}
            yield _details(launch, own, look)


@contextmanager
def _code_of(report: Path) -> Iterator[EmbeddedCode]:
    if report.stat().st_size == 0:
        # nothing to map; the library then shows no launch either
        yield EmbeddedCode(b"", ())
        return
    with report.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        with memoryview(data) as view:
            yield EmbeddedCode(view, blocks.walk(view).code)


def _details(launch: Launch, texts: Texts, look: bool) -> LaunchDetails:
    bare = LaunchDetails(position=launch.position, kernel=launch.full_name)
    if launch.ghost or launch.interrupted:
        return bare
    try:
        return _read_launch(launch, texts, look)
    except (RuntimeError, IndexError):
        # the library's own errors about a damaged launch
        return bare


def _read_launch(launch: Launch, texts: Texts, look: bool) -> LaunchDetails:
    """All details of one whole launch."""
    action = launch.action
    names = [str(name) for name in action.metric_names()]
    located = read_instructions(action, names, texts)
    files = located.files if located else ()
    return LaunchDetails(
        position=launch.position,
        kernel=launch.full_name,
        sections=read_sections(action, names),
        rules=read_rule_results(action),
        stalls=read_stalls(launch.counters, action),
        curves=read_curves(action),
        memory=read_memory(action),
        opcodes=read_opcodes(action),
        categories=read_opcodes(action, "category_"),
        series=read_series(action, names),
        sources=read_sources(action, files, look=look),
        markers=read_markers(action, files, located.start if located else 0),
        instructions=located.table if located else None,
        counters=len(names),
    )
