"""Any value in any column: a timeline that can be stored, or one error; never a wrong type."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.nsys_exports import unpack

from mla_var3.core.errors import MlaError
from mla_var3.core.timeline import load_timeline, save_timeline
from mla_var3.measure.nsys_reader import read_export, read_timeline
from mla_var3.measure.nsys_reader.scrub import scrub
from mla_var3.measure.nsys_record import nsys_profile

VALUES = (None, "text", -1, 0, 2**62, 1.5, b"\xff\x00blob", "")


def spoil(path: Path, value: object, each: bool) -> None:
    """Put the value into every column: `each` of another row, or of all rows of the last ones."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        for (table,) in tables.fetchall():
            columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
            rows = [r for (r,) in connection.execute(f"SELECT rowid FROM {table}").fetchall()]
            for position, (_, column, *_) in enumerate(columns):
                if not rows or (table, column) == ("StringIds", "id"):
                    continue
                row = rows[position % len(rows)]
                where = f"WHERE rowid = {row}" if each else f"WHERE rowid % 3 = {position % 3}"
                connection.execute(f'UPDATE {table} SET "{column}" = ? {where}', (value,))
        connection.commit()


@pytest.mark.parametrize("name", ["concurrent", "launchbound"])
@pytest.mark.parametrize("each", [True, False])
@pytest.mark.parametrize("value", VALUES)
def test_any_value_anywhere(
    value: object, each: bool, name: str, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    if name != "concurrent" and not pytestconfig.getoption("--full"):
        pytest.skip("with --full")
    path = unpack(name, tmp_path)
    spoil(path, value, each)
    try:
        export = read_export(path)
    except MlaError as error:
        assert "\n" not in str(error)
        return
    # the file's types are checked when it is read again
    save_timeline(export.timeline, tmp_path / "spans.json")
    assert load_timeline(tmp_path / "spans.json") == export.timeline
    assert all(o.start <= o.end for o in export.timeline.operations)
    assert nsys_profile(export).stages
    scrub(path)
    assert read_timeline(path).operations == export.timeline.operations
