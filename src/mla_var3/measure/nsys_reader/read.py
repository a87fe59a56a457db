"""Read a SQLite export of Nsight Systems into a `Timeline`, with the standard library alone."""

import hashlib
import mmap
from pathlib import Path
from typing import NamedTuple

from mla_var3 import conf
from mla_var3.core.record import Environment, SourceFile
from mla_var3.core.timeline import Range, Timeline
from mla_var3.measure.ncu_reader.packed import unpacked
from mla_var3.measure.nsys_reader.database import Database, open_database
from mla_var3.measure.nsys_reader.gather import PROCESS, Gathered
from mla_var3.measure.nsys_reader.host import read_calls, read_ranges
from mla_var3.measure.nsys_reader.machine import (
    metadata,
    read_devices,
    read_environment,
    read_tool,
    recorded_at,
    schema_remark,
    traced,
)
from mla_var3.measure.nsys_reader.operations import read_operations
from mla_var3.measure.nsys_reader.quality import read_quality
from mla_var3.measure.nsys_reader.untraced import no_kernels

_PACKED = {b"\xfd7zXZ\x00": "xz", b"\x1f\x8b": "gz"}


class NsysExport(NamedTuple):
    """All that is read of one export."""

    timeline: Timeline
    environment: Environment
    source: SourceFile
    created: str
    """ISO 8601 time of the recording, UTC; empty where the export does not tell."""
    exported_from: str
    """Name of the report it was made of; empty where the export does not tell."""


def read_timeline(sqlite: Path) -> Timeline:
    """What ran on the GPUs and when, ns since the start of the capture.

    `sqlite` may be packed (.xz, .gz). Raises `UnreadableFile` with its word (NO_KERNELS: nothing
    of a GPU was traced), `NoUsableData` for tables of an unknown form, `NotFound`.
    """
    return read_export(sqlite).timeline


def read_export(sqlite: Path) -> NsysExport:
    """The timeline and where it was recorded; raises what `read_timeline` raises."""
    kind = _packing(sqlite)
    if kind is None:
        return _read(sqlite, sqlite)
    with unpacked(sqlite, "xz" if kind == "xz" else "gz") as plain:
        return _read(plain, sqlite)


def _read(plain: Path, given: Path) -> NsysExport:
    with open_database(plain) as database:
        timeline = _timeline(database)
        return NsysExport(
            timeline=timeline,
            environment=read_environment(database, timeline.devices),
            source=source_file(given),
            created=recorded_at(database),
            exported_from=metadata(database, "export").get("EXPORT_PARAM_INPUT_FILE", ""),
        )


def _timeline(database: Database) -> Timeline:
    into = Gathered(database)
    calls, index = read_calls(into)
    ranges = read_ranges(into)
    operations = read_operations(into, index)
    shapes, names = tuple(into.shapes), tuple(into.names)
    if not any(shape.kind in ("kernel", "graph") for shape in shapes):
        raise no_kernels(into, calls, names)
    devices = read_devices(database, operations)
    quality = read_quality(database, _processes(database))
    schema = schema_remark(database)
    return Timeline(
        collector="nsys",
        tool=read_tool(database),
        devices=devices,
        names=names,
        shapes=shapes,
        operations=operations,
        calls=calls,
        ranges=ranges,
        graphs_as_whole=any(shape.kind == "graph" for shape in shapes),
        diagnostics=quality.diagnostics,
        impossible=into.impossible,
        lost=quality.lost,
        missing=_missing(database, ranges),
        remarks=(*([schema] if schema else []), *database.remarks),
    )


def _processes(database: Database) -> frozenset[int]:
    """The upper part of the global id of each process that had a GPU work."""
    found: set[int] = set()
    for key in ("kernel", "memcpy", "graph"):
        found |= {
            owner // PROCESS
            for (owner,) in database.rows(key, ("globalPid",))
            if isinstance(owner, int)
        }
    return frozenset(found)


def _missing(database: Database, ranges: tuple[Range, ...]) -> dict[str, str]:
    """What the export does not tell. A table of copies is absent where nothing was copied."""
    texts = conf.table("nsys_export")["missing"]
    found = {}
    if not ranges:
        found["ranges"] = texts["ranges_traced" if traced(database, "NVTX") else "ranges"]
    if not database.count("calls"):
        found["calls"] = texts["calls"]
    if not database.count("gpus"):
        found["devices"] = texts["devices"]
    return found


def source_file(path: Path) -> SourceFile:
    """Name, size and digest of the file that was given."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        kind = "nsys-rep" if ".nsys-rep" in path.name else "nsys-sqlite"
        digest, size = hashlib.sha256(data).hexdigest(), len(data)
    return SourceFile(
        file=path.name,
        kind="nsys-rep" if kind == "nsys-rep" else "nsys-sqlite",
        bytes=size,
        sha256=digest,
    )


def _packing(path: Path) -> str | None:
    if not path.is_file():
        return None
    with path.open("rb") as file:
        head = file.read(6)
    return next((kind for magic, kind in _PACKED.items() if head.startswith(magic)), None)
