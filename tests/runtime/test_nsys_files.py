"""Which file is one of nsys, and how a report becomes an export without an old one being read."""

import lzma
import os
import shutil
from pathlib import Path

import pytest
from tests.support.fake_nsys import FakeNsys, handing_out
from tests.support.nsys_exports import KERNELS, edit, unpack

from mla_var3.core.errors import MachineCannot, NoUsableData, UnreadableFile
from mla_var3.measure import nsys_command
from mla_var3.measure.nsys_reader import read_timeline
from mla_var3.runtime.nsys_files import is_nsys, read_nsys

EARLIER, LATER = 1_000_000_000, 1_000_000_060


@pytest.fixture
def export(tmp_path: Path) -> Path:
    return unpack("concurrent", tmp_path)


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine without nsys."""
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.setattr(nsys_command.find_nsys, "__defaults__", (tmp_path / "empty",))


def report_beside(export: Path, seconds: int) -> Path:
    """A report of the same name; the export is of `EARLIER`."""
    report = export.with_suffix(".nsys-rep")
    report.write_bytes(b"a report")
    os.utime(export, (EARLIER, EARLIER))
    os.utime(report, (seconds, seconds))
    return report


def test_what_is_a_file_of_nsys(export: Path, tmp_path: Path) -> None:
    for name in ("a.sqlite", "A.SQLITE.XZ", "b.nsys-rep", "c.qdrep", "d.qdstrm", "e.db.gz"):
        (tmp_path / name).write_bytes(b"x")
        assert is_nsys(tmp_path / name), name
    renamed = export.rename(tmp_path / "odd.ncu-rep")
    assert is_nsys(renamed)
    (tmp_path / "a.ncu-rep").write_bytes(b"NVR\x00")
    assert not is_nsys(tmp_path / "a.ncu-rep")
    assert not is_nsys(tmp_path) and not is_nsys(tmp_path / "none.sqlite")


def test_an_export_older_than_the_report_beside_it_is_refused(export: Path) -> None:
    report_beside(export, LATER)
    with pytest.raises(NoUsableData, match=r"^concurrent\.sqlite is older than concurrent\.nsys-r"):
        read_nsys(export)
    os.utime(export, ns=(LATER * 10**9 - 1, LATER * 10**9 - 1))
    with pytest.raises(NoUsableData, match="of an earlier run"):
        read_nsys(export)
    os.utime(export, (LATER + 1, LATER + 1))
    assert len(read_nsys(export).timeline.operations) == 23


def test_an_export_of_another_report_is_read_but_said(export: Path) -> None:
    named = "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PARAM_INPUT_FILE', '{}')"
    edit(export, named.format("first.nsys-rep"))
    assert read_nsys(export).timeline.remarks == ()
    report_beside(export, EARLIER - 60)
    assert read_nsys(export).timeline.remarks == (
        "concurrent.sqlite was exported from first.nsys-rep, not from concurrent.nsys-rep that "
        "lies beside it",
    )
    edit(export, named.format("concurrent.nsys-rep"))
    assert read_nsys(export).timeline.remarks == ()


def test_a_report_is_exported_anew(
    export: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H9: the export beside the report is of another run; it is neither read nor written."""
    report = report_beside(export, EARLIER - 60)  # the old export even looks the newer one
    other = unpack("launchbound", tmp_path)
    fake = handing_out(tmp_path / "tool", other)
    monkeypatch.setenv("PATH", fake.environment["PATH"])
    before = {path: path.read_bytes() for path in (export, report)}
    found = read_nsys(report)
    assert found.timeline == read_timeline(other) != read_timeline(export)
    assert (found.source.file, found.source.kind) == ("concurrent.nsys-rep", "nsys-rep")
    assert found.source.bytes == len(b"a report")
    assert {path: path.read_bytes() for path in before} == before
    ((verb, *words),) = fake.calls("export")
    assert verb == "export" and Path(words[words.index("-o") + 1]).parent != export.parent
    assert not Path(words[words.index("-o") + 1]).exists()


def test_without_nsys_it_says_how_to_export(export: Path, nowhere: None) -> None:
    report = report_beside(export, EARLIER)
    with pytest.raises(MachineCannot) as caught:
        read_nsys(report)
    assert "nsys export -t sqlite concurrent.nsys-rep" in str(caught.value)
    assert caught.value.exit_code == 3 and "kineto" not in str(caught.value)


def test_an_export_that_fails_is_told(
    export: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = report_beside(export, EARLIER)
    fails = 'print("cannot open /home/x/report.bin: bad magic")\nsys.exit(4)'
    fake = FakeNsys(tmp_path / "tool", export=fails)
    monkeypatch.setenv("PATH", fake.environment["PATH"])
    with pytest.raises(NoUsableData) as caught:
        read_nsys(report)
    assert "export" in str(caught.value) and "/home" not in str(caught.value)


def test_an_export_without_kernels_is_told(
    export: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = report_beside(export, EARLIER)
    empty = edit(shutil.copyfile(export, tmp_path / "empty.sqlite"), f"DROP TABLE {KERNELS}")
    fake = handing_out(tmp_path / "tool", empty)
    monkeypatch.setenv("PATH", fake.environment["PATH"])
    with pytest.raises(UnreadableFile, match=r"^NO_KERNELS "):
        read_nsys(report)


def test_reports_that_are_none(tmp_path: Path) -> None:
    empty, raw = tmp_path / "a.nsys-rep", tmp_path / "b.qdstrm"
    empty.write_bytes(b"")
    raw.write_bytes(b"QDSS" * 99)
    with pytest.raises(UnreadableFile, match=r"^EMPTY "):
        read_nsys(empty)
    with pytest.raises(UnreadableFile, match=r"^WRONG_TYPE .*QdstrmImporter -i FILE"):
        read_nsys(raw)


def test_a_packed_export_needs_no_nsys(export: Path, nowhere: None, tmp_path: Path) -> None:
    packed = tmp_path / "x.sqlite.xz"
    packed.write_bytes(lzma.compress(export.read_bytes(), preset=0))
    assert read_nsys(packed).timeline == read_timeline(export)
