"""Read what `ncu --csv` printed: the details page (labels, rules) or the raw page (counters)."""

import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from mla_var3.core.errors import UnreadableFile
from mla_var3.core.record import Environment, Profile, SourceFile, Stage
from mla_var3.measure.ncu_reader.csv_counters import CsvCounters, dimensions, number
from mla_var3.measure.ncu_reader.facts import read_facts
from mla_var3.measure.ncu_reader.file_kind import decode_text, is_heading
from mla_var3.measure.ncu_reader.names import short_name, unique_names
from mla_var3.measure.ncu_reader.rules import read_rules
from mla_var3.measure.ncu_reader.stage import LONGEST_NAME, cut, interrupted
from mla_var3.measure.ncu_reader.stalls import read_stalls
from mla_var3.measure.ncu_reader.table import chip_of

_HEADLINES = ("duration", "tensor", "dram")
_NO_DETAIL = ("from a CSV export: no opcodes and no source lines; the .ncu-rep itself tells more",)
_RULE_TYPES = {"OK": 1, "INF": 1, "OPT": 2, "WRN": 3, "ERR": 4}
_SCOPES = {"local": 1, "global": 2}
_CUT_ROW = "the last row is incomplete"

Row = dict[str, str]


@dataclass
class _Launch:
    """The rows of one launch, gathered."""

    first: Row
    counters: CsvCounters
    rules: list[dict[str, object]] = field(default_factory=list)


def read_csv(path: Path, source: SourceFile) -> Profile:
    """Record of an export. Raises `UnreadableFile` where it has no launch or nothing to show."""
    try:
        rows, problem = _rows(decode_text(path.read_bytes()))
    except csv.Error as error:
        why = "the table below ncu's heading is damaged: export it again"
        raise UnreadableFile("NOT_A_REPORT", why) from error
    launches = _details(rows) if rows and "Metric Name" in rows[0] else _raw(rows)
    if not launches:
        raise UnreadableFile("NO_KERNELS", "a CSV export with a heading and no launch below it")
    stages = _stages(launches)
    if not any(key in stage.metrics for stage in stages for key in _HEADLINES):
        raise UnreadableFile(
            "NO_METRICS",
            "none of duration, tensor % and DRAM % is in it: export a report of ncu --set full",
        )
    failure = f"TRUNCATED {problem}: export it again" if problem else _interruption(stages)
    return Profile(
        mode="ncu",
        status="PARTIAL" if failure else "OK",
        stages=stages,
        environment=_environment(launches[0]),
        source=source,
        failure=failure,
        warnings=_NO_DETAIL,
    )


def _rows(text: str) -> tuple[list[Row], str]:
    """Rows below the heading as dictionaries, without banners; and what is wrong with the last."""
    lines = [line for line in text.splitlines() if line and not line.startswith("==")]
    start = next(index for index, line in enumerate(lines) if is_heading(line))
    # with the line ends, which a quoted description may hold
    header, *table_rows = csv.reader(f"{line}\n" for line in lines[start:])
    least = _least_cells(header)
    rows = [
        # not a row of the table: the heading again, or a line that the program printed
        dict(zip(header, cells, strict=False))
        for cells in table_rows
        if least <= len(cells) <= len(header) and cells != header
    ]
    cut = bool(table_rows) and 1 < len(table_rows[-1]) < least
    return rows, _CUT_ROW if cut else ""


def _least_cells(header: list[str]) -> int:
    """Cells of a whole row: ncu ends a metric's row of the details page behind its value."""
    if "Metric Value" not in header:
        return len(header)
    return header.index("Metric Value") + 1


def _details(rows: Iterable[Row]) -> list[_Launch]:
    """Launches of a details page: one row a metric or rule."""
    found: dict[str, _Launch] = {}
    for row in rows:
        if not row.get("Kernel Name") and not row.get("ID"):
            continue
        identity = f"{row.get('ID')} {row.get('Process ID')} {row.get('Kernel Name')}"
        launch = found.setdefault(identity, _Launch(row, CsvCounters()))
        if row.get("Metric Name"):
            launch.counters.add_labelled(
                row["Metric Name"],
                row.get("Metric Unit", ""),
                row.get("Metric Value", ""),
                row.get("Section Name", ""),
            )
        if row.get("Rule Name"):
            launch.rules.append(_rule(row))
    return list(found.values())


def _raw(rows: list[Row]) -> list[_Launch]:
    """Launches of a raw page: one row a launch below a row of units."""
    if not rows:
        return []
    units: Row = {}
    if not rows[0].get("ID") and not rows[0].get("Kernel Name"):
        units = rows[0]
        rows = rows[1:]
    launches = []
    for row in rows:
        counters = CsvCounters()
        for name, value in row.items():
            if "__" in name or name.startswith("memory_"):
                counters.add(name, units.get(name, ""), value)
        launches.append(_Launch(row, counters))
    return launches


def _rule(row: Row) -> dict[str, object]:
    """The rule of a row in the form of `rule_results_as_dicts()`."""
    speedup = number(row.get("Estimated Speedup", ""))
    return {
        "section_identifier": row.get("Section Name", ""),
        "rule_identifier": row["Rule Name"],
        "rule_message": {
            "type": _RULE_TYPES.get(row.get("Rule Type", "").upper(), 0),
            "title": "",
            "message": row.get("Rule Description", ""),
        },
        "speedup_estimation": {
            "type": _SCOPES.get(row.get("Estimated Speedup Type", "").lower(), 0),
            "speedup": speedup,
        }
        if speedup is not None
        else None,
    }


def _stages(launches: list[_Launch]) -> tuple[Stage, ...]:
    stages = [_stage(launch, position) for position, launch in enumerate(launches)]
    return tuple(
        msgspec.structs.replace(stage, name=name)
        for stage, name in zip(stages, unique_names(stages), strict=True)
    )


def _stage(launch: _Launch, position: int) -> Stage:
    full = launch.first.get("Kernel Name", "")
    name = short_name(None, full)
    grid = dimensions(launch.first.get("Grid Size", ""))
    block = dimensions(launch.first.get("Block Size", ""))
    launch.counters.add_sizes(grid, block)
    bare = Stage(
        name=name,
        kernel=cut(full, LONGEST_NAME) or name,
        launch=position,
        metrics={},
        grid=grid,
        block=block,
    )
    metrics, missing = read_facts(launch.counters, chip_of(launch.first.get("CC")))
    if "duration" not in metrics and not launch.counters.has("launch__grid_size"):
        return interrupted(bare)
    return msgspec.structs.replace(
        bare,
        metrics=metrics,
        missing=missing,
        stalls=read_stalls(launch.counters),
        rules=read_rules(launch.rules),
    )


def _interruption(stages: tuple[Stage, ...]) -> str:
    stopped = [stage.name for stage in stages if stage.interrupted]
    if not stopped:
        return ""
    return f"interrupted: the profiler was stopped inside {', '.join(stopped[:3])}; record it again"


def _environment(launch: _Launch) -> Environment:
    sms = launch.counters.read("device__attribute_multiprocessor_count").value
    sms = sms or launch.counters.read("launch__sm_count").value
    clock = launch.counters.read("device__attribute_clock_rate").value
    capability = launch.first.get("CC", "")
    device = launch.counters.text("device__attribute_display_name")
    return Environment(
        device=device or None,
        compute_capability=capability if re.fullmatch(r"\d+\.\d+", capability) else None,
        sm_count=int(sms) if sms else None,
        clock_max_hz=clock * 1e3 if clock else None,
    )
