"""What kind of file it is, told by its first bytes and never by its name alone."""

import csv
from pathlib import Path
from typing import Literal

from mla_var3.core.errors import NotFound, UnreadableFile
from mla_var3.measure.ncu_reader import blocks

FileKind = Literal["ncu-rep", "ncu-repz", "ncu-csv", "xz", "gz"]

LARGEST_BYTES = 1 << 30
_LARGEST_TEXT = 256 << 20
_SEARCHED_TEXT = 16 << 20
_HEAD = 64 << 10
_XZ, _GZ, _ZSTD = b"\xfd7zXZ\x00", b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_NOT_OURS = {
    b"SQLite format 3\x00": "a SQLite database, such as nsys exports; give the .ncu-rep of ncu",
    b"PK\x03\x04": "a zip archive; unpack it and give the .ncu-rep inside",
    b"\x7fELF": "a program or a cubin; give the .ncu-rep of ncu",
}
_NSYS_SUFFIXES = (".nsys-rep", ".qdrep", ".qdstrm")
_NSYS = "a report of Nsight Systems; it holds no counters: record one with ncu"
_LFS = b"version https://git-lfs"
_BOMS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}


def sniff(path: Path, unpacked_from: Path | None = None) -> FileKind:
    """Kind of a readable file. Raises `UnreadableFile` with its word, `NotFound` without a file."""
    head, size = _head(path)
    name = (unpacked_from or path).name.lower()
    _refuse(name, head)
    if head.startswith(blocks.MAGIC):
        return "ncu-rep"
    if name.endswith(".ncu-repz") and head.startswith(_ZSTD):
        return "ncu-repz"
    if unpacked_from is None and head.startswith(_XZ):
        return "xz"
    if unpacked_from is None and head.startswith(_GZ):
        return "gz"
    return _text_kind(path, head, size)


def decode_text(data: bytes) -> str:
    """Text of an export; PowerShell redirects write UTF-16."""
    encoding = next((name for bom, name in _BOMS.items() if data.startswith(bom)), "utf-8")
    return data.decode(encoding, "replace")


def is_heading(line: str) -> bool:
    """Whether a line is the heading of ncu's table."""
    if "Kernel Name" not in line:
        return False
    try:
        return {"ID", "Kernel Name"} <= set(next(csv.reader([line]), []))
    except csv.Error:
        return False


def _head(path: Path) -> tuple[bytes, int]:
    if path.is_dir():
        raise UnreadableFile("WRONG_TYPE", "it is a directory: give the .ncu-rep file in it")
    if not path.exists():
        raise NotFound(f"NOT_FOUND {path.name}: no such file; check the path")
    if not path.is_file():
        # it can be read once only, and what comes through it may never end
        raise UnreadableFile("WRONG_TYPE", "a pipe or a device: save it to a file and give that")
    size = path.stat().st_size
    if size == 0:
        raise UnreadableFile("EMPTY", "0 bytes: the recording wrote nothing; record it again")
    with path.open("rb") as file:
        head = file.read(_HEAD)
    _check_size(size, head)
    return head, size


def _refuse(name: str, head: bytes) -> None:
    if name.endswith(_NSYS_SUFFIXES):
        raise UnreadableFile("WRONG_TYPE", _NSYS)
    for magic, what in _NOT_OURS.items():
        if head.startswith(magic):
            raise UnreadableFile("WRONG_TYPE", f"it is {what}")


def _check_size(size: int, head: bytes) -> None:
    if size <= LARGEST_BYTES:
        return
    zeros = "" if any(head) else " and begins with zeros, not with a report"
    raise UnreadableFile(
        "TOO_LARGE",
        f"{size / 1e9:.1f} GB{zeros}: at most {LARGEST_BYTES / 1e9:.1f} GB are read; cut a part "
        "out with: ncu --import FILE --kernel-name regex:NAME --export PART",
    )


def _text_kind(path: Path, head: bytes, size: int) -> FileKind:
    if head.startswith(_LFS):
        raise UnreadableFile(
            "NOT_A_REPORT", f"a git-LFS pointer of {size} bytes: fetch the file with: git lfs pull"
        )
    if not any(head):
        raise UnreadableFile("NOT_A_REPORT", f"{size:,} bytes that begin with zeros")
    if not _is_text(head):
        raise UnreadableFile(
            "NOT_A_REPORT", "unknown binary data: a report of ncu begins with the bytes NVR"
        )
    if size > _LARGEST_TEXT:
        raise UnreadableFile(
            "TOO_LARGE", f"{size / 1e6:,.0f} MB of text: give the .ncu-rep instead"
        )
    with path.open("rb") as file:
        text = decode_text(file.read(_SEARCHED_TEXT))
    if any(map(is_heading, text.splitlines())):
        return "ncu-csv"
    if "Invocations" in text and "Kernel Name" in text:
        raise UnreadableFile(
            "NOT_A_REPORT", "a summary over launches: export without --print-summary"
        )
    if "==PROF==" in text or "---------- --" in text:
        raise UnreadableFile(
            "NOT_A_REPORT", "ncu's output as text: export it with --csv, or give the .ncu-rep"
        )
    raise UnreadableFile(
        "NOT_A_REPORT", "a text file: give a .ncu-rep, or what ncu --csv has printed"
    )


def _is_text(head: bytes) -> bool:
    if head.startswith(tuple(_BOMS)):
        return True
    control = sum(byte < 9 or (13 < byte < 32 and byte != 27) for byte in head)
    return b"\x00" not in head and control <= len(head) // 100
