"""Files of which nothing, or only a part, can be shown: the right word, and quickly."""

import gzip
import lzma
import os
import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support import report_bytes

from mla_var3.core.errors import NotFound, UnreadableFile
from mla_var3.measure.ncu_reader import blocks, read_report

Recording = Callable[[str], Path]
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 5504728\n"


def fault_of(path: Path) -> str:
    """First word of the error; the error must come within half a second."""
    begin = time.perf_counter()
    with pytest.raises(UnreadableFile) as caught:
        read_report(path)
    assert time.perf_counter() - begin < 0.5
    text = str(caught.value)
    assert text.startswith(caught.value.fault + " ")
    assert "\n" not in text and "Traceback" not in text and str(path.parent) not in text
    assert caught.value.exit_code == 5
    return caught.value.fault


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "EMPTY"),
        (b"just some text, renamed\n" * 40, "NOT_A_REPORT"),
        ("grün, auch Text\n".encode(), "NOT_A_REPORT"),
        (b"\0" * 100_000, "NOT_A_REPORT"),
        (LFS, "NOT_A_REPORT"),
        (random.Random(3).randbytes(50_000), "NOT_A_REPORT"),
        (b"NVR\0" + random.Random(4).randbytes(50_000), "NOT_A_REPORT"),
        (b"NVR\0", "TRUNCATED"),
        (b"==PROF== Connected to process 1\n  k (8, 1, 1)x(32, 1, 1)\n", "NOT_A_REPORT"),
        (
            b'"Process ID","Kernel Name","Invocations","Metric Name"\n"1","k","2","x"\n',
            "NOT_A_REPORT",
        ),
        (b"PK\x03\x04" + b"zip" * 100, "WRONG_TYPE"),
        (b"\x7fELF" + b"\0" * 100, "WRONG_TYPE"),
        (gzip.compress(b"text"), "NOT_A_REPORT"),
        (lzma.compress(b""), "EMPTY"),
        (lzma.compress(b"NVR\0" + b"\0" * 9000)[:-40], "TRUNCATED"),
        (gzip.compress(b"NVR\0" + bytes(9000))[:-12], "TRUNCATED"),
        (b"\xfd7zXZ\x00" + b"damaged" * 50, "NOT_A_REPORT"),
    ],
)
def test_content_that_is_no_report(tmp_path: Path, content: bytes, fault: str) -> None:
    path = tmp_path / "report.ncu-rep"
    path.write_bytes(content)
    assert fault_of(path) == fault


def test_a_git_lfs_pointer_says_how_to_fetch_the_file(tmp_path: Path) -> None:
    path = tmp_path / "report.ncu-rep"
    path.write_bytes(LFS)
    with pytest.raises(UnreadableFile, match=r"git-LFS pointer of 132 bytes.*git lfs pull"):
        read_report(path)


def test_other_kinds_of_file(tmp_path: Path) -> None:
    database = tmp_path / "export.ncu-rep"
    with sqlite3.connect(database) as connection:
        connection.execute("create table kernels (name text)")
    connection.close()
    nsys = tmp_path / "timeline.nsys-rep"
    nsys.write_bytes(b"QuadD" + bytes(1000))
    assert fault_of(database) == fault_of(nsys) == fault_of(tmp_path) == "WRONG_TYPE"
    with pytest.raises(NotFound, match=r"NOT_FOUND absent\.ncu-rep") as missing:
        read_report(tmp_path / "absent.ncu-rep")
    assert missing.value.exit_code == 2


@pytest.mark.parametrize("begin", [b"", b"NVR\0\x02\0\0\0\x08\x07"])
def test_a_sparse_file_of_2_gb_is_too_large(tmp_path: Path, begin: bytes) -> None:
    path = tmp_path / "sparse.ncu-rep"
    path.write_bytes(begin)
    os.truncate(path, 2 << 30)
    assert fault_of(path) == "TOO_LARGE"


def test_what_shows_nothing_does_not_load_the_library(tmp_path: Path, recording: Recording) -> None:
    data = recording("zoo_a").read_bytes()
    (tmp_path / "cut.ncu-rep").write_bytes(data[:20_000])
    (tmp_path / "zero.ncu-rep").write_bytes(report_bytes.without_launches(data))
    program = (
        "import sys; from pathlib import Path\n"
        "from mla_var3.measure.ncu_reader import read_report\n"
        "from mla_var3.core.errors import UnreadableFile\n"
        "for name in ('cut', 'zero'):\n"
        "    try: read_report(Path(name + '.ncu-rep'))\n"
        "    except UnreadableFile as error: print(error.fault)\n"
        "print('ncu_report' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["TRUNCATED", "NO_KERNELS", "False"]


def test_the_last_500_bytes_are_missing(tmp_path: Path, recording: Recording) -> None:
    path = tmp_path / "cut.ncu-rep"
    path.write_bytes(recording("attention_full").read_bytes()[:-500])
    read = read_report(path)
    assert [stage.name for stage in read.stages] == ["fa_fwd", "copy_k"]
    assert (read.status, read.fault) == ("PARTIAL", "TRUNCATED")
    assert read.failure == (
        "TRUNCATED at least 500 bytes are missing at the end; shown: 2 launches; "
        "copy it again, or record it again"
    )


def test_cut_in_half(tmp_path: Path, recording: Recording) -> None:
    path = tmp_path / "cut.ncu-rep"
    data = recording("zoo_a").read_bytes()
    path.write_bytes(data[: len(data) // 2])
    read = read_report(path)
    assert [stage.name for stage in read.stages] == ["copy_stream", "bank_conflict"]
    assert read.fault == "TRUNCATED" and "shown: 2 launches" in read.failure
    assert read.stages[0].value("duration") == 536064


def test_cut_behind_the_only_launch(tmp_path: Path, recording: Recording) -> None:
    # the launch is whole and no ghost tells: only the length of the file does
    path = tmp_path / "cut.ncu-rep"
    path.write_bytes(recording("cutile_mla").read_bytes()[:-100])
    read = read_report(path)
    assert len(read.stages) == 1 and read.fault == "TRUNCATED"
    assert "bytes are missing at the end" in read.failure


def test_cut_between_two_kernels(tmp_path: Path, recording: Recording) -> None:
    data = recording("zoo_a").read_bytes()
    ends = [block.end for block in report_bytes.blocks_of(data) if block.launches]
    path = tmp_path / "cut.ncu-rep"
    # exactly behind the first launch: the blocks that name the tool are missing
    path.write_bytes(data[: ends[0]])
    read = read_report(path)
    assert [s.name for s in read.stages] == ["copy_stream"]
    assert len(read.warnings) == 1 and "may have been cut off" in read.warnings[0]
    # one byte into the next block
    path.write_bytes(data[: ends[2] + 1])
    read = read_report(path)
    assert read.fault == "TRUNCATED" and len(read.stages) == 3


def test_every_cut_is_told_except_at_the_end_of_a_launch(recording: Recording) -> None:
    data = recording("zoo_a").read_bytes()
    ends = {block.end for block in report_bytes.blocks_of(data)}
    whole = blocks.walk(data)
    assert (whole.end, whole.launches, whole.tool_version[:10]) == ("whole", 8, "2025.3.1.0")
    for length in random.Random(5).sample(range(200, len(data)), 60):
        layout = blocks.walk(memoryview(data)[:length])
        assert layout.end == ("whole" if length in ends else "cut")
        assert layout.launches < 8


def test_zeros_behind_a_whole_report_are_only_a_warning(
    tmp_path: Path, recording: Recording
) -> None:
    path = tmp_path / "padded.ncu-rep"
    path.write_bytes(recording("cutile_mla").read_bytes() + bytes(4096))
    read = read_report(path)
    assert read.status == "OK"
    assert read.warnings == ("4,096 zero bytes behind the report are ignored",)


def test_damaged_bytes_never_raise_anything_else(tmp_path: Path, recording: Recording) -> None:
    data = bytearray(recording("cutile_mla").read_bytes())
    chance = random.Random(6)
    for position in chance.sample(range(400_000, 2_500_000), 30):
        data[position] ^= 0xFF
    path = tmp_path / "damaged.ncu-rep"
    path.write_bytes(bytes(data))
    try:
        read = read_report(path)
    except UnreadableFile as error:
        assert error.fault in ("TRUNCATED", "NOT_A_REPORT", "NO_METRICS")
    else:
        assert len(read.stages) == 1


def test_the_library_stays_silent_about_damage(tmp_path: Path, recording: Recording) -> None:
    path = tmp_path / "cut.ncu-rep"
    path.write_bytes(recording("zoo_a").read_bytes()[:-1])
    program = (
        "from pathlib import Path; from mla_var3.measure.ncu_reader import read_report; "
        f"print(len(read_report(Path({str(path)!r})).stages))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert (done.stdout.strip(), done.stderr) == ("7", "")
