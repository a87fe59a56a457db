"""SQL over the history: DuckDB in this process, in memory, without files, for reading only."""

import importlib.util
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

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
        _fill(connection, "profiles", map(profile_cells, runs))
        _fill(connection, "stages", (row for run in runs for row in stage_cells(run)))
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


def _fill(connection: Any, name: str, rows: Iterable[tuple[Any, ...]]) -> None:
    """Make a table with its explicit columns and insert whole columns at once."""
    columns = TABLES[name]
    typed = ", ".join(f'"{column.name}" {column.type}' for column in columns)
    connection.execute(f"CREATE TABLE {name} ({typed})")
    values = [list(column) for column in zip(*rows, strict=True)]
    if not values:
        return
    parts = (_unnested(column, n) for n, column in enumerate(columns, start=1))
    connection.execute(f"INSERT INTO {name} SELECT {', '.join(parts)}", values)


def _unnested(column: Column, number: int) -> str:
    if column.type == "TIMESTAMP":  # a text that is no time becomes NULL
        return f"TRY_CAST(unnest(${number}::VARCHAR[]) AS TIMESTAMP)"
    return f"unnest(${number}::{column.type}[])"


def _refused(error: Exception) -> BadArgument:
    text = str(error)
    if _NO_FILES.search(text):
        return BadArgument("--sql reads the stored profiles alone: no files, no extensions")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = " ".join(line for line in lines[:2] if not line.startswith("LINE"))
    return BadArgument(f"--sql: {told[:200]} (tables: {', '.join(TABLES)}; DESCRIBE profiles)")
