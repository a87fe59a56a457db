"""Files that cannot be shown: their own word first, one line, the right code, at once."""

import lzma
import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.command import mla
from tests.support.report_bytes import without_launches

from mla_var3.cli import main as cli


def _empty(folder: Path, report: bytes) -> Path:
    path = folder / "empty.ncu-rep"
    path.touch()
    return path


def _text(folder: Path, report: bytes) -> Path:
    path = folder / "text.ncu-rep"
    path.write_text("dear diary, no kernel today\n" * 50)
    return path


def _pointer(folder: Path, report: bytes) -> Path:
    path = folder / "pointer.ncu-rep"
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5500000\n")
    return path


def _random(folder: Path, report: bytes) -> Path:
    path = folder / "random.ncu-rep"
    path.write_bytes(bytes((i * 7919) % 251 for i in range(50_000)))
    return path


def _sqlite(folder: Path, report: bytes) -> Path:
    path = folder / "sqlite.ncu-rep"
    with sqlite3.connect(path) as database:
        database.execute("create table kernel (start integer)")
    database.close()
    return path


def _nsys(folder: Path, report: bytes) -> Path:
    path = folder / "timeline.qdstrm"
    path.write_bytes(b"\x00\x01binary" * 1000)
    return path


def _directory(folder: Path, report: bytes) -> Path:
    path = folder / "folder.ncu-rep"
    path.mkdir()
    return path


def _sparse(folder: Path, report: bytes) -> Path:
    path = folder / "sparse.ncu-rep"
    with path.open("wb") as file:
        file.truncate(2 << 30)
    return path


def _header_only(folder: Path, report: bytes) -> Path:
    path = folder / "header.ncu-rep"
    path.write_bytes(report[:200])
    return path


def _pipe(folder: Path, report: bytes) -> Path:
    path = folder / "pipe.ncu-rep"
    os.mkfifo(path)
    return path


def _foreign_json(folder: Path, report: bytes) -> Path:
    path = folder / "foreign.json"
    path.write_text('{"kernel": "of another tool"}')
    return path


def _cut_xz(folder: Path, report: bytes) -> Path:
    path = folder / "packed.ncu-rep.xz"
    packed = lzma.compress(report[:300_000], preset=0)
    path.write_bytes(packed[: len(packed) // 2])
    return path


def _no_kernel(folder: Path, report: bytes) -> Path:
    path = folder / "none.ncu-rep"
    path.write_bytes(without_launches(report))
    return path


def _no_metric(folder: Path, report: bytes) -> Path:
    path = folder / "odd.csv"
    path.write_text(CSV.replace("gpu__time_duration.sum", "sm__odd.sum"))
    return path


NOTHING_TO_SHOW: list[tuple[Callable[[Path, bytes], Path], str]] = [
    (_empty, "EMPTY empty.ncu-rep: "),
    (_text, "NOT_A_REPORT text.ncu-rep: "),
    (_pointer, "NOT_A_REPORT pointer.ncu-rep: "),
    (_random, "NOT_A_REPORT random.ncu-rep: "),
    (_sqlite, "WRONG_TYPE sqlite.ncu-rep: "),
    (_nsys, "WRONG_TYPE timeline.qdstrm: "),
    (_directory, "WRONG_TYPE folder.ncu-rep: "),
    (_sparse, "TOO_LARGE sparse.ncu-rep: "),
    (_header_only, "TRUNCATED header.ncu-rep: "),
    (_no_kernel, "NO_KERNELS none.ncu-rep: "),
    (_no_metric, "NO_METRICS odd.csv: "),
    (_pipe, "WRONG_TYPE pipe.ncu-rep: "),
    (_foreign_json, "INVALID "),
    (_cut_xz, "TRUNCATED packed.ncu-rep.xz: "),
]


@pytest.fixture(scope="module")
def report(recording: Callable[[str], Path]) -> bytes:
    return recording("zoo_a").read_bytes()


@pytest.mark.parametrize(("make", "beginning"), NOTHING_TO_SHOW)
def test_a_file_without_anything_to_show(
    make: Callable[[Path, bytes], Path],
    beginning: str,
    tmp_path: Path,
    report: bytes,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    path = make(tmp_path, report)
    for command in ("diagnose", "import"):
        seconds = []
        for _ in range(2):  # the first run loads the modules
            start = time.process_time()
            code = cli.main([command, str(path)])
            seconds.append(time.process_time() - start)
            out, err = capfd.readouterr()
            assert (code, out) == (5, "")
            assert err.startswith(beginning), err
            assert err.count("\n") == 1
            assert str(tmp_path) not in err
        assert min(seconds) <= 0.5
    assert not (tmp_path / "out").exists()


def test_the_same_from_a_shell(tmp_path: Path) -> None:
    ran = mla("diagnose", _empty(tmp_path, b""), "--json")
    assert (ran.code, ran.out) == (5, "")
    assert ran.err.startswith("EMPTY empty.ncu-rep: ")


@pytest.mark.parametrize("keep", [0.5, -500])
def test_a_cut_report_shows_its_whole_kernels_and_exits_5(
    keep: float, tmp_path: Path, report: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "cut.ncu-rep"
    path.write_bytes(report[: int(keep * len(report)) if keep > 0 else int(keep)])
    assert cli.main(["diagnose", str(path)]) == 5
    out, err = capfd.readouterr()
    assert "copy_stream" in out
    assert "TRUNCATED" in out
    assert err.startswith("TRUNCATED cut.ncu-rep: ")
    assert err.count("\n") == 1


def test_of_several_files_the_first_failure_decides(
    tmp_path: Path, report: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    good = tmp_path / "good.ncu-rep"
    good.write_bytes(report)
    empty = _empty(tmp_path, report)
    assert cli.main(["diagnose", str(good), "missing.ncu-rep", str(empty), "--top", "1"]) == 2
    out, err = capfd.readouterr()
    assert "good.ncu-rep · NVIDIA H200" in out
    assert [line.split()[0] for line in err.splitlines()] == ["NOT_FOUND", "EMPTY"]


CSV = """\
==PROF== Connected to process 4711 (/home/someone/app)
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size",\
"Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value"
"0","4711","app","127.0.0.1","my_kernel(float *)","1","7","(256, 1, 1)","(1024, 1, 1)","0","9.0",\
"Command line profiler metrics","gpu__time_duration.sum","nsecond","1,234,567"
"""


def test_a_report_of_few_metrics_is_shown_and_says_what_is_missing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "few.csv"
    path.write_text(CSV)
    assert cli.main(["diagnose", str(path)]) == 0
    out, err = capfd.readouterr()
    assert err == ""
    assert "1234.6 µs" in out
    assert "Unknown" in out
    assert "not decidable: missing" in " ".join(out.split())
    assert "nan" not in out.lower().split()
    assert "someone" not in out
    assert cli.main(["diagnose", str(path), "--contract"]) == 5
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("mla: few.csv: no contract: no kernel can be classified")
