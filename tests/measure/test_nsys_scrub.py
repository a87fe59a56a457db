"""What an export keeps after scrubbing: what the reader needs, and nothing of the machine."""

import lzma
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.nsys_exports import KERNELS, RANGES, SCHEMA, ask, edit, unpack, with_all_tables

from mla_var3.core.errors import UnreadableFile
from mla_var3.measure.nsys_reader import read_timeline
from mla_var3.measure.nsys_reader.scrub import scrub
from mla_var3.measure.nsys_reader.texts import plain, without_paths

NAMES = ("concurrent", "copies", "launchbound")
SECRET = "hunter2-PLANTED-7f3a9c"
KEPT = {("TARGET_INFO_GPU", "name"), ("TARGET_INFO_GPU", "chipName"), (RANGES, "text")}
"""Texts that a report shows: the product's name, and what the program named its ranges."""


def every_text_column() -> list[tuple[str, str]]:
    """(table, column) of a real export, also of columns that only claim to hold numbers."""
    found = []
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(SCHEMA.read_text())
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        for (table,) in tables.fetchall():
            for row in connection.execute(f"PRAGMA table_info({table})").fetchall():
                if row[2] == "TEXT":
                    found.append((table, row[1]))
    return found


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """A real export's tables, with a secret in every column that holds text."""
    path = with_all_tables(unpack("concurrent", tmp_path))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        for table in dict.fromkeys(table for table, _ in every_text_column()):
            info = connection.execute(f"PRAGMA table_info({table})").fetchall()
            values = {row[1]: f"{SECRET}-{row[1]}" if row[2] == "TEXT" else 900_001 for row in info}
            if table == RANGES:
                values |= {"eventType": 59, "start": 5, "end": 6, "text": "planted range"}
                values |= {"globalTid": 281498078938465, "textId": None}
            if (table, "name") in KEPT:
                values |= {"name": "NVIDIA H200", "chipName": "GH100"}
            if table == "DIAGNOSTIC_EVENT":
                values |= {"severity": 3, "text": f"run in /home/{SECRET}/x with KEY={SECRET}"}
            names = ", ".join(values)
            marks = ", ".join("?" * len(values))
            connection.execute(
                f"INSERT OR REPLACE INTO {table} ({names}) VALUES ({marks})", [*values.values()]
            )
        # under names that are kept, too
        for table, name in (
            ("META_DATA_EXPORT", "EXPORT_PRODUCT_VERSION"),
            ("META_DATA_CAPTURE", "CAPTURE_EVENT_TYPE"),
        ):
            connection.execute(f"INSERT INTO {table} VALUES (?, ?)", (name, f"2025.3.2 {SECRET}"))
        # as nsys stores it: the environment is one text among the names
        connection.execute(
            "INSERT INTO StringIds VALUES (900002, ?)", (f"PATH=/x\nHF_TOKEN={SECRET}\nHOME=/root",)
        )
        connection.execute(f"UPDATE {KERNELS} SET launchType = ?", (SECRET,))
        # and what was deleted still stands in the file
        connection.execute("CREATE TABLE gone (a TEXT)")
        connection.execute("INSERT INTO gone VALUES (?)", (SECRET * 300,))
        connection.commit()
        connection.execute("DROP TABLE gone")
        connection.commit()
    return path


def test_a_planted_secret_is_nowhere(planted: Path) -> None:
    columns = every_text_column()
    assert len(columns) > 60 and ("META_DATA_CAPTURE", "value") in columns
    assert planted.read_bytes().count(SECRET.encode()) > len(columns)
    scrub(planted)
    content = planted.read_bytes()
    for part in (SECRET, "hunter2", "PLANTED", "7f3a9c", "HF_TOKEN"):
        assert part.encode() not in content and part.encode("utf-16-le") not in content
    assert list(planted.parent.iterdir()) == [planted]


def test_only_what_is_shown_may_hold_text(planted: Path) -> None:
    """Planted in the columns that are kept, it stays there: no other one holds free text."""
    for table, column in KEPT:
        edit(planted, f"UPDATE {table} SET {column} = '{SECRET}'")
    scrub(planted)
    held = set()
    for (table,) in ask(planted, "SELECT name FROM sqlite_master WHERE type = 'table'"):
        for row in ask(planted, f"PRAGMA table_info({table})"):
            query = f"SELECT count(*) FROM {table} WHERE instr({row[1]}, '{SECRET}')"
            if ask(planted, query) != [(0,)]:
                held.add((table, row[1]))
    assert held == KEPT


def test_nothing_of_a_read_is_lost(planted: Path) -> None:
    before = read_timeline(planted)
    assert before.diagnostics == ("run in <path> with KEY=<value>",)
    scrub(planted)
    assert read_timeline(planted) == before
    ((free,),) = ask(planted, "PRAGMA freelist_count")
    assert free == 0 and ask(planted, "PRAGMA integrity_check") == [("ok",)]


@pytest.mark.parametrize("name", NAMES)
def test_the_examples_are_scrubbed(name: str, tmp_path: Path) -> None:
    path = unpack(name, tmp_path)
    before = path.read_bytes()
    for word in (b"/tmp", b"/opt", b"/home", b"python", b"ARGUMENT", b"Hostname", b"0000:00"):
        assert word not in before
    tables = ask(path, "SELECT name FROM sqlite_master WHERE type = 'table'")
    rows = {table: ask(path, f"SELECT * FROM {table}") for (table,) in tables}
    assert len(lzma.compress(before)) < 100_000
    scrub(path)
    assert {table: ask(path, f"SELECT * FROM {table}") for (table,) in tables} == rows


def test_a_renamed_table_and_a_journal(planted: Path) -> None:
    edit(planted, f"ALTER TABLE {RANGES} RENAME TO {RANGES}_V2")
    before = read_timeline(planted)
    planted.with_name(planted.name + "-shm").write_bytes(SECRET.encode())
    scrub(planted)
    assert read_timeline(planted) == before and before.remarks
    assert list(planted.parent.iterdir()) == [planted]


def test_what_is_no_export_stays_as_it_is(tmp_path: Path) -> None:
    path = edit(tmp_path / "a.sqlite", "CREATE TABLE moz_places (id INTEGER)")
    content = path.read_bytes()
    with pytest.raises(UnreadableFile, match="WRONG_TYPE"):
        scrub(path)
    assert path.read_bytes() == content and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("see /a/b.log.", "see <path>"),
        ("a \\\\server\\share\\x b", "a <path> b"),
        ("~/x and 3/4 of a/b", "<path> and 3/4 of a/b"),
        ("A='x y' B=\"z\" C=1", "A=<value> B=<value> C=<value>"),
        ("mail me@host.org", "mail <address>"),
        ("Number of CUDA events collected: \t1248.", "Number of CUDA events collected: 1248."),
        (
            "Subscribe returned 999: CUPTI_ERROR_UNKNOWN",
            "Subscribe returned 999: CUPTI_ERROR_UNKNOWN",
        ),
        ("a\nb\x1b[31m", "a b [31m"),
    ],
)
def test_plain(text: str, said: str) -> None:
    assert plain(text) == said
    assert plain("x" * 500, limit=160).endswith("…") and len(plain("x" * 500, limit=160)) == 160


def test_names_of_ranges_keep_their_slashes() -> None:
    for name in ("/model/attention/qk", "fwd/bwd", "a: b=1", "layer_12_0123456789abcdef"):
        assert without_paths(name) == name
    assert without_paths("load C:\\Users\\bob\\w") == "load <path>"


def test_the_registered_text_of_a_mark_is_not_kept(tmp_path: Path) -> None:
    path = edit(
        unpack("concurrent", tmp_path),
        "INSERT INTO StringIds VALUES (80001, 'mark-PLANTED-41b'), (80002, 'range-kept-41b')",
        f"INSERT INTO {RANGES} (start, end, eventType, textId, globalTid) "
        "VALUES (1, NULL, 34, 80001, 1), (2, 3, 59, 80002, 1)",
    )
    scrub(path)
    assert b"mark-PLANTED-41b" not in path.read_bytes()
    assert b"range-kept-41b" in path.read_bytes()
