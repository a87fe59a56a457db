"""Files that are no export, or no whole one: the right word, and nothing made beside them."""

import gzip
import hashlib
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.nsys_exports import KERNELS, edit, unpack

from mla_var3.core.errors import NotFound, UnreadableFile
from mla_var3.measure.nsys_reader import read_timeline

PAGE = 4096


@pytest.fixture
def export(tmp_path: Path) -> Path:
    return unpack("concurrent", tmp_path)


def fault_of(path: Path) -> str:
    before = {file: file.stat().st_mtime_ns for file in path.parent.iterdir()}
    with pytest.raises(UnreadableFile) as caught:
        read_timeline(path)
    text = str(caught.value)
    assert text.startswith(caught.value.fault + " ") and caught.value.exit_code == 5
    assert "\n" not in text and str(path.parent) not in text
    assert {file: file.stat().st_mtime_ns for file in path.parent.iterdir()} == before
    return caught.value.fault


def keystream(size: int) -> bytes:
    """Bytes as an encrypted database has them, the same each time."""
    return b"".join(hashlib.sha256(bytes([i // 256, i % 256])).digest() for i in range(size // 32))


def test_not_there_and_no_file(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"^NOT_FOUND none\.sqlite"):
        read_timeline(tmp_path / "none.sqlite")
    assert fault_of(tmp_path) == "WRONG_TYPE"


def test_empty(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    path.write_bytes(b"")
    assert fault_of(path) == "EMPTY"
    path.unlink()
    edit(path, "PRAGMA user_version = 1")
    assert path.stat().st_size > 0 and fault_of(path) == "EMPTY"


def test_a_foreign_database(tmp_path: Path) -> None:
    path = edit(tmp_path / "places.sqlite", "CREATE TABLE moz_places (id INTEGER, url TEXT)")
    assert fault_of(path) == "WRONG_TYPE"


@pytest.mark.parametrize(
    "content", [keystream(8192), b"PK\x03\x04" + bytes(500), b"start,end\n1,2\n", bytes(4096)]
)
def test_no_database_or_an_encrypted_one(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    path.write_bytes(content)
    assert fault_of(path) == "NOT_A_REPORT"


@pytest.mark.parametrize("size", [1, 15, 16, 99, 100, PAGE - 1, PAGE, 10 * PAGE + 7, -PAGE, -1])
def test_cut_off_anywhere(size: int, export: Path) -> None:
    export.write_bytes(export.read_bytes()[:size])
    assert fault_of(export) == "TRUNCATED"


def test_cut_off_where_the_header_does_not_tell(export: Path) -> None:
    data = bytearray(export.read_bytes()[: 10 * PAGE])
    data[92:96] = bytes(4)  # written by an SQLite that does not keep the number of pages
    export.write_bytes(data)
    assert fault_of(export) == "NOT_A_REPORT"


@pytest.mark.parametrize("page", range(1, 26, 3))
def test_a_damaged_page(page: int, export: Path) -> None:
    data = bytearray(export.read_bytes())
    data[page * PAGE : (page + 1) * PAGE] = keystream(PAGE)
    export.write_bytes(data)
    assert fault_of(export) == "NOT_A_REPORT"


def test_a_page_that_reads_as_other_rows(export: Path) -> None:
    """Each page is whole in itself: SQLite would give some rows twice, and others never."""
    data = bytearray(export.read_bytes())
    leaves = [i for i in range(1, len(data) // PAGE) if data[i * PAGE] == 0x0D]
    first, second = (i * PAGE for i in leaves[10:12])  # of the longest table, the API calls
    data[second : second + PAGE] = data[first : first + PAGE]
    export.write_bytes(data)
    with closing(sqlite3.connect(export)) as connection:
        ((rows,),) = connection.execute("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME")
    assert 1_000 < rows < 1_500
    assert fault_of(export) == "NOT_A_REPORT"


def test_a_packed_file_that_is_cut_or_damaged(tmp_path: Path) -> None:
    packed = tmp_path / "concurrent.sqlite.xz"
    source = Path(__file__).parents[2] / "examples" / packed.name
    packed.write_bytes(source.read_bytes()[:5000])
    assert fault_of(packed) == "TRUNCATED"
    packed.write_bytes(source.read_bytes()[:2000] + keystream(3200) + source.read_bytes()[5200:])
    assert fault_of(packed) == "NOT_A_REPORT"


def test_gzip_and_odd_names(export: Path) -> None:
    whole = read_timeline(export)
    odd = export.with_name("a b?mode=rw#100%.sqlite")
    shutil.copyfile(export, odd)
    assert read_timeline(odd) == whole
    packed = export.with_name("a.sqlite.gz")
    packed.write_bytes(gzip.compress(export.read_bytes()))
    assert read_timeline(packed) == whole


def test_a_database_of_wal_mode_is_left_alone(export: Path) -> None:
    whole = read_timeline(export)
    with closing(sqlite3.connect(export)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    content, names = export.read_bytes(), sorted(export.parent.iterdir())
    assert content[18:20] == b"\x02\x02" and names == [export]
    assert read_timeline(export) == whole
    assert export.read_bytes() == content and sorted(export.parent.iterdir()) == names


def test_what_stands_in_an_open_wal_is_read(export: Path, tmp_path: Path) -> None:
    whole = read_timeline(export)
    copies = tmp_path / "copied"
    copies.mkdir()
    with closing(sqlite3.connect(export)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"UPDATE {KERNELS} SET end = end + 5")
        connection.commit()
        for ending in ("", "-wal"):
            name = export.name + ending
            shutil.copyfile(export.with_name(name), copies / name)
    before = {path.name: path.read_bytes() for path in copies.iterdir()}
    timeline = read_timeline(copies / export.name)
    kernels = sum(timeline.shape_of(o).kind == "kernel" for o in timeline.operations)
    longer = sum(o.end for o in timeline.operations) - sum(o.end for o in whole.operations)
    assert longer == 5 * kernels == 60
    assert timeline.remarks == ("concurrent.sqlite had an open journal, which was applied",)
    assert {path.name: path.read_bytes() for path in copies.iterdir()} == before


def test_what_was_half_written_is_taken_back(export: Path, tmp_path: Path) -> None:
    whole = read_timeline(export)
    copies = tmp_path / "copied"
    copies.mkdir()
    with closing(sqlite3.connect(export, isolation_level=None)) as connection:
        connection.execute("PRAGMA cache_size = 2")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(f"UPDATE {KERNELS} SET start = 1, end = 2")
        connection.execute("UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET start = 1")
        for ending in ("", "-journal"):
            name = export.name + ending
            shutil.copyfile(export.with_name(name), copies / name)
        connection.execute("ROLLBACK")
    half = (copies / export.name).read_bytes()
    assert half != export.read_bytes()
    timeline = read_timeline(copies / export.name)
    assert timeline.operations == whole.operations and timeline.calls == whole.calls
    assert (copies / export.name).read_bytes() == half
