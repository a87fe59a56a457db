"""SQL over the history: DuckDB in this process, in memory, without files, for reading only."""

import importlib.util
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from mla_var3.core.errors import BadArgument, MachineCannot
from mla_var3.core.history import Run
from mla_var3.render.history_columns import PROFILES, STAGES, Column, profile_cells, stage_cells

TABLES: dict[str, tuple[Column, ...]] = {
    "profiles": PROFILES,
    "stages": (PROFILES[0], *STAGES),
}
_CLOSED: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}
"""No files, no network, no extensions: the tables are all there is."""
_NO_FILES = re.compile(r"file system operations are disabled|external access", re.IGNORECASE)


class Answer(NamedTuple):
    """What a query gave."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]


def query(runs: Sequence[Run], sql: str) -> Answer:
    """Answer one SELECT over the tables `profiles` and `stages`.

    Raises `MachineCannot` without DuckDB, `BadArgument` for anything but one query that works.
    """
    if importlib.util.find_spec("duckdb") is None:
        raise MachineCannot(
            "--sql needs DuckDB, which is not installed here: "
            "python -m pip install 'mla_var3[history]' (the table, --csv and --json work without)"
        )
    import duckdb

    with duckdb.connect(":memory:", config=_CLOSED) as connection:
        _only_select(connection, sql)
        rows = {
            "profiles": map(profile_cells, runs),
            "stages": (row for run in runs for row in stage_cells(run)),
        }
        for name in TABLES:
            _fill(connection, name, rows[name] if _is_read(connection, sql, name) else ())
        connection.execute("SET lock_configuration = true")
        try:
            found = connection.execute(sql)
            columns = tuple(column[0] for column in found.description or ())
            return Answer(columns, found.fetchall())
        except duckdb.Error as error:
            raise _refused(error) from None


def _only_select(connection: Any, sql: str) -> None:
    import duckdb

    try:
        statements = connection.extract_statements(sql)
    except duckdb.Error as error:
        raise _refused(error) from None
    kinds = [statement.type.name for statement in statements]
    if kinds != ["SELECT"]:
        found = " and ".join(kinds) or "nothing"
        raise BadArgument(f"--sql takes one SELECT, not {found}: the history is only read")


def _is_read(connection: Any, sql: str, name: str) -> bool:
    """Whether a query needs a table: a large one that it does not name is left empty."""
    import duckdb

    try:
        named = {table.lower() for table in connection.get_table_names(sql)}
    except duckdb.Error:
        return True
    return name in named or "query" in sql.lower()  # query() and query_table() name them in texts


def _fill(connection: Any, name: str, rows: Iterable[tuple[Any, ...]]) -> None:
    """Make a table with its explicit columns; whole columns go in as one JSON text, by their type.

    A text that is no time becomes NULL.
    """
    columns = TABLES[name]
    typed = ", ".join(f'"{column.name}" {column.type}' for column in columns)
    connection.execute(f"CREATE TABLE {name} ({typed})")
    values = {f"c{n}": column for n, column in enumerate(zip(*rows, strict=True))}
    if not values:
        return
    types = {f"c{n}": [column.type] for n, column in enumerate(columns)}
    parts = ", ".join(f"unnest(j.{key})" for key in types)
    texts = [msgspec.json.encode(part).decode() for part in (values, types)]
    connection.execute(
        f"INSERT INTO {name} SELECT {parts} FROM (SELECT from_json($1::JSON, $2) AS j)", texts
    )


def _refused(error: Exception) -> BadArgument:
    text = str(error)
    if _NO_FILES.search(text):
        return BadArgument("--sql reads the stored profiles alone: no files, no extensions")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = " ".join(line for line in lines[:2] if not line.startswith("LINE"))
    return BadArgument(f"--sql: {told[:200]} (tables: {', '.join(TABLES)}; DESCRIBE profiles)")
