"""Opens a SQLite export of nsys without changing anything beside it, and finds its tables."""

import re
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from mla_var3 import conf
from mla_var3.core.errors import NotFound, NoUsableData, UnreadableFile

MAGIC = b"SQLite format 3\x00"
LARGEST_BYTES = 8 << 30
_HEADER = 100
_VERSIONED = re.compile(r"_?v\d+", re.IGNORECASE)
_CONSTRAINT = re.compile(r"^(?:NULL value in|non-\w+ value in|CHECK constraint)")
_EXPORT_AGAIN = "export it again from its .nsys-rep"
SIDECARS = ("-wal", "-journal", "-shm")
"""What SQLite leaves beside a database that was not closed."""
_JOURNALS = SIDECARS[:2]
Row = tuple[Any, ...]


class Database:
    """The tables of one export. `key` is a name of `tables` in conf/nsys_export.json."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        self.tables: frozenset[str] = frozenset(name for (name,) in names)
        self.remarks: list[str] = []
        self._found: dict[str, str | None] = {}

    def find(self, key: str) -> str | None:
        """The table's name in this file, None where it has none.

        A versioned name (`NVTX_EVENTS_V2`) is taken and remarked; raises `NoUsableData` where a
        table of an unknown name, or without a column that is needed, stands in its place.
        """
        if key not in self._found:
            self._found[key] = self._find(conf.table("nsys_export")["tables"][key])
        return self._found[key]

    def layout(self, table: str) -> tuple[Row, ...]:
        """Number, name, type and whether it must not be NULL, of each column of a table."""
        return tuple(self._connection.execute(f"PRAGMA table_info({quoted(table)})"))

    def columns(self, table: str) -> tuple[str, ...]:
        """Names of a table's columns, in its order."""
        return tuple(row[1] for row in self.layout(table))

    def count(self, key: str) -> int:
        """Rows of a table; 0 without the table."""
        table = self.find(key)
        if table is None:
            return 0
        (number,) = self._connection.execute(f"SELECT count(*) FROM {quoted(table)}").fetchone()
        return int(number)

    def rows(self, key: str, columns: Sequence[str], order: str = "") -> Iterator[Row]:
        """The rows of a table; a column that it does not have is None in each."""
        table = self.find(key)
        if table is None:
            return iter(())
        have = set(self.columns(table))
        chosen = ", ".join(quoted(name) if name in have else "NULL" for name in columns)
        # Nothing else gives an order: nsys exports rows as they come.
        by = f" ORDER BY {quoted(order)}" if order in have else ""
        return iter(self._connection.execute(f"SELECT {chosen} FROM {quoted(table)}{by}"))

    def _find(self, entry: dict[str, Any]) -> str | None:
        table = self._named(entry["name"], entry.get("optional", False))
        if table is None:
            return None
        lacking = set(entry["required"]) - set(self.columns(table))
        if not lacking:
            return table
        why = f"table {table} has no column {', '.join(sorted(lacking))}"
        if entry.get("optional"):
            self.remarks.append(f"{why}: not read")
            return None
        raise NoUsableData(
            f"{why}: a form of export that this mla_var3 does not read; export it with another nsys"
        )

    def _named(self, name: str, optional: bool) -> str | None:
        versions = [t for t in self.tables if _is_version(t, name)]
        if name in self.tables:
            if versions:
                self.remarks.append(f"{', '.join(sorted(versions))}, beside {name}, is not read")
            return name
        if versions:
            newest = max(versions, key=lambda t: int(re.sub(r"\D", "", t[len(name) :])))
            self.remarks.append(f"{name} is called {newest} in this export")
            return newest
        unknown = sorted(t for t in self.tables if t.lower().startswith(f"{name.lower()}_"))
        if unknown and not optional:
            raise NoUsableData(
                f"the export has {unknown[0]} in place of {name}: a table that this mla_var3 does "
                "not know; export it with another nsys"
            )
        return None


def _is_version(table: str, name: str) -> bool:
    return table.startswith(name) and bool(_VERSIONED.fullmatch(table[len(name) :]))


@contextmanager
def open_database(path: Path) -> Iterator[Database]:
    """The export, read-only. Raises `UnreadableFile` with its word, `NotFound` without the file.

    No file is made or changed beside it, also where a journal lies there: then a copy is read.
    """
    _check_file(path)
    with _settled(path) as (uri, copied):
        try:
            with closing(sqlite3.connect(uri, uri=True)) as connection:
                connection.text_factory = _decoded
                _check_content(connection)
                database = Database(connection)
                _check_kind(database)
                if copied:
                    database.remarks.append(f"{path.name} had an open journal, which was applied")
                yield database
        except sqlite3.Error as error:
            raise UnreadableFile(
                "NOT_A_REPORT", f"a damaged database ({error}): {_EXPORT_AGAIN}"
            ) from error


def _check_file(path: Path) -> None:
    if path.is_dir():
        raise UnreadableFile("WRONG_TYPE", "it is a directory: give the .sqlite file in it")
    if not path.exists():
        raise NotFound(f"NOT_FOUND {path.name}: no such file; check the path")
    if not path.is_file():
        raise UnreadableFile("WRONG_TYPE", "a pipe or a device: save it to a file and give that")
    size = path.stat().st_size
    if size == 0:
        raise UnreadableFile("EMPTY", f"0 bytes: the export wrote nothing; {_EXPORT_AGAIN}")
    if size > LARGEST_BYTES:
        raise UnreadableFile(
            "TOO_LARGE", f"{size / 1e9:.1f} GB: at most {LARGEST_BYTES / 1e9:.1f} GB are read"
        )
    with path.open("rb") as file:
        head = file.read(_HEADER)
    if not head.startswith(MAGIC):
        cut = MAGIC.startswith(head)
        raise UnreadableFile(
            "TRUNCATED" if cut else "NOT_A_REPORT",
            f"{size} bytes: {_EXPORT_AGAIN}"
            if cut
            else "no SQLite database, or an encrypted one: export it with nsys export -t sqlite",
        )
    expected = _size_by_header(head)
    if size < max(expected, _HEADER):
        raise UnreadableFile(
            "TRUNCATED",
            f"the file ends after {size:,} of {expected or 'more':,} bytes: copy it again"
            if expected
            else f"the file ends after {size} bytes: copy it again",
        )


def _size_by_header(head: bytes) -> int:
    """Bytes the database says it has; 0 where it does not say."""
    if len(head) < _HEADER or head[24:28] != head[92:96]:
        return 0  # written by a library that does not keep the number of pages
    page = int.from_bytes(head[16:18], "big")
    return (65536 if page == 1 else page) * int.from_bytes(head[28:32], "big")


@contextmanager
def _settled(path: Path) -> Iterator[tuple[str, bool]]:
    """The address to open, and whether it is a copy: beside an open journal a file is not whole."""
    beside = [path.with_name(path.name + ending) for ending in _JOURNALS]
    journals = [file for file in beside if file.is_file() and file.stat().st_size]
    if not journals:
        yield f"{path.resolve().as_uri()}?mode=ro&immutable=1", False
        return
    with tempfile.TemporaryDirectory(prefix="mla-") as folder:
        copy = Path(folder) / "export.sqlite"
        shutil.copyfile(path, copy)
        for file in journals:
            shutil.copyfile(file, copy.with_name(copy.name + file.name[len(path.name) :]))
        yield copy.as_uri(), True


def _check_content(connection: sqlite3.Connection) -> None:
    """A page that is damaged would otherwise read as other numbers, or as fewer rows."""
    for (told,) in connection.execute("PRAGMA quick_check(50)"):
        if told != "ok" and not _CONSTRAINT.match(told):
            raise UnreadableFile("NOT_A_REPORT", f"a damaged database: {_EXPORT_AGAIN}")


def _check_kind(database: Database) -> None:
    if not database.tables:
        raise UnreadableFile("EMPTY", f"a database without tables; {_EXPORT_AGAIN}")
    signs = conf.table("nsys_export")["signs"]
    if not any(table.startswith(sign) for table in database.tables for sign in signs):
        raise UnreadableFile(
            "WRONG_TYPE", "a SQLite database that is no export of nsys: nsys export -t sqlite"
        )


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def quoted(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'
