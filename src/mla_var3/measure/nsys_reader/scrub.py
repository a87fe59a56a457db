"""Takes out of an export all that is nobody's business: nsys stores the whole environment.

What the reader needs is written into a new database, which then replaces the file. So nothing can
stay in free pages, and what nobody has thought of is gone too: all other tables, and every text
that conf/nsys_export.json does not name.
"""

import re
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from mla_var3 import conf
from mla_var3.measure.nsys_reader.database import SIDECARS, Database, Row, open_database, quoted
from mla_var3.measure.nsys_reader.quality import names_in
from mla_var3.measure.nsys_reader.texts import plain, without_paths

_PAIRS = ("export", "capture", "system")
_STRINGS = {
    "kernel": ("shortName", "demangledName", "mangledName"),
    "calls": ("nameId",),
    "ranges": ("textId",),
}

Keep = Callable[[dict[str, Any]], dict[str, Any] | None]
"""A row as it is kept, None for one that is not."""


def scrub(sqlite: Path) -> None:
    """Rewrite an export without environment, arguments, paths, user, host and program output.

    Kernel names, API names, range names (without paths), times and sizes stay: `read_timeline`
    gives the same timeline as before. Raises `UnreadableFile` for what is no such file.
    """
    with open_database(sqlite) as database:
        with tempfile.NamedTemporaryFile(
            prefix=".mla-", suffix=".sqlite", dir=sqlite.parent, delete=False
        ) as file:
            new = Path(file.name)
        try:
            with closing(sqlite3.connect(new)) as target:
                target.execute("PRAGMA journal_mode = OFF")
                target.execute("PRAGMA synchronous = OFF")
                for key in conf.table("nsys_export")["kept_texts"]:
                    _copy(database, target, key)
                target.commit()
            new.chmod(0o644)
        except BaseException:
            new.unlink(missing_ok=True)
            raise
    new.replace(sqlite)
    for ending in SIDECARS:
        sqlite.with_name(sqlite.name + ending).unlink(missing_ok=True)


def _copy(database: Database, target: sqlite3.Connection, key: str) -> None:
    """One table, in its own columns; a text that is not kept is NULL."""
    table = database.find(key)
    if table is None:
        return
    layout = database.layout(table)
    columns = [str(row[1]) for row in layout]
    types = ", ".join(f"{quoted(row[1])} {_type(row[2])}" for row in layout)
    target.execute(f"CREATE TABLE {quoted(table)} ({types})")
    marks = ", ".join("?" * len(columns))
    insert = f"INSERT INTO {quoted(table)} VALUES ({marks})"
    target.executemany(insert, _rows(database, key, columns))


def _rows(database: Database, key: str, columns: list[str]) -> Iterator[Row]:
    texts = frozenset(conf.table("nsys_export")["kept_texts"][key])
    keep = _keep(database, key)
    for row in database.rows(key, columns):
        kept = keep(dict(zip(columns, row, strict=True)))
        if kept is not None:
            # SQLite puts a text into a column of numbers too: the value decides.
            yield tuple(
                value if isinstance(value, int | float | (str if name in texts else int)) else None
                for name, value in kept.items()
            )


def _keep(database: Database, key: str) -> Keep:
    """Which rows of a table are kept, and how their texts change."""
    if key in _PAIRS:
        return _pair
    if key == "strings":
        used = _used_strings(database)
        named = {n for (n,) in database.rows("ranges", ("textId",)) if isinstance(n, int)}

        def string(row: dict[str, Any]) -> dict[str, Any] | None:
            if row["id"] not in used:
                return None
            return row | {"value": _named(row["value"])} if row["id"] in named else row

        return string
    if key == "ranges":
        types = conf.table("nsys_export")["range_types"]
        kinds = {*types["nested"], *types["start_end"]}
        return lambda row: (
            (row | ({"text": _named(row["text"])} if "text" in row else {}))
            if row["eventType"] in kinds
            else None
        )
    if key == "diagnostics":
        severities, secrets = conf.table("nsys_export")["severities"], names_in(database)
        return lambda row: (
            row | {"text": plain(str(row["text"]), secrets)}
            if row["severity"] in severities
            else None
        )
    return lambda row: row


def _pair(row: dict[str, Any]) -> dict[str, Any] | None:
    """A name and its value, where both are of those that may be known."""
    name, value = str(row["name"]), str(row["value"])
    for known, form in conf.table("nsys_export")["kept_values"].items():
        if re.fullmatch(known, name) and re.fullmatch(form, value):
            return row
    return None


def _used_strings(database: Database) -> frozenset[int]:
    """Ids of the texts that name a kernel, an API call or a range."""
    kinds = conf.table("nsys_export")["range_types"]
    ranges = {*kinds["nested"], *kinds["start_end"]}
    used: set[int] = set()
    for key, columns in _STRINGS.items():
        wanted = (*columns, "eventType") if key == "ranges" else columns
        for row in database.rows(key, wanted):
            if key != "ranges" or row[-1] in ranges:
                used.update(n for n in row[: len(columns)] if isinstance(n, int))
    return frozenset(used)


def _named(value: Any) -> Any:
    return without_paths(value) if isinstance(value, str) else value


def _type(kind: str) -> str:
    return kind if kind.upper() in ("INTEGER", "TEXT", "REAL", "NUMERIC", "INT") else ""
