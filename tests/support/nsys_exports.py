"""Copies of the recorded exports of nsys, for editing; and exports of any size."""

import lzma
import sqlite3
from contextlib import closing
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCHEMA = ROOT / "tests" / "data" / "nsys" / "schema_3.20.sql"
"""All tables of a real export with their columns: nsys 2025.3.2, without rows."""
KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
COPIES = "CUPTI_ACTIVITY_KIND_MEMCPY"
MEMSETS = "CUPTI_ACTIVITY_KIND_MEMSET"
CALLS = "CUPTI_ACTIVITY_KIND_RUNTIME"
RANGES = "NVTX_EVENTS"
GRAPHS = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
_QUICKLY = "PRAGMA synchronous = OFF"


def unpack(name: str, folder: Path) -> Path:
    """`examples/<name>.sqlite.xz` as a plain file of one's own."""
    path = folder / f"{name}.sqlite"
    packed = ROOT / "examples" / f"{name}.sqlite.xz"
    path.write_bytes(lzma.decompress(packed.read_bytes()))
    return path


def edit(path: Path, *statements: str) -> Path:
    """The file after some SQL."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(_QUICKLY)
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    return path


def ask(path: Path, query: str) -> list[tuple[int, ...]]:
    """What plain SQL says of a file."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


def with_all_tables(path: Path) -> Path:
    """The file with every table that a real export has; those that it lacked are empty."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(_QUICKLY)
        have = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        for statement in SCHEMA.read_text().splitlines():
            if statement.split()[2] not in have:
                connection.execute(statement)
        connection.commit()
    return path


def many_kernels(path: Path, number: int) -> Path:
    """The file with `number` kernels on three streams in place of its own work.

    Each has a call of its own, every tenth is a copy too, and a range holds a hundred.
    """
    kernels, calls, copies, ranges = [], [], [], []
    owner = 281498078937088
    for i in range(number):
        start = 1_000_000 + 2_000 * i
        kernels.append((start, start + 1_500, 0, 1, 7 + i % 3, i + 1, owner, 97, 96, 78, i % 8 + 1))
        calls.append((start - 900, start - 100, 0, owner + 1377, i + 1, 44, 0))
        if i % 10 == 0:
            copies.append((start, start + 500, 0, 1, 10, i + 1, owner, 4096, 1))
        if i % 100 == 0:
            ranges.append((start - 950, start + 198_000, 59, f"step {i // 100}", owner + 1377))
    columns = "start, end, deviceId, contextId, streamId, correlationId, globalPid"
    with closing(sqlite3.connect(path)) as connection:
        for table in (KERNELS, COPIES, MEMSETS, CALLS, RANGES):
            connection.execute(f"DELETE FROM {table}")
        insert = connection.executemany
        insert(
            f"INSERT INTO {KERNELS} ({columns}, shortName, demangledName, mangledName, "
            "gridX, gridY, gridZ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, 1)",
            kernels,
        )
        insert(
            f"INSERT INTO {COPIES} ({columns}, bytes, copyKind) VALUES (?,?,?,?,?,?,?,?,?)", copies
        )
        insert(
            f"INSERT INTO {CALLS} (start, end, eventClass, globalTid, correlationId, nameId, "
            "returnValue) VALUES (?, ?, ?, ?, ?, ?, ?)",
            calls,
        )
        insert(
            f"INSERT INTO {RANGES} (start, end, eventType, text, globalTid) VALUES (?, ?, ?, ?, ?)",
            ranges,
        )
        connection.commit()
    return path
