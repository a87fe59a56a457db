"""Unpack `.xz` and `.gz` to a temporary file that is removed afterwards."""

import gzip
import lzma
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal

from mla_var3.core.errors import UnreadableFile
from mla_var3.measure.ncu_reader.file_kind import LARGEST_BYTES

_CHUNK = 1 << 20
_OPEN: dict[str, Callable[[Path], Any]] = {"xz": lzma.open, "gz": gzip.open}


@contextmanager
def unpacked(path: Path, kind: Literal["xz", "gz"]) -> Iterator[Path]:
    """Path of the unpacked content. Raises `UnreadableFile` where it is cut or too large."""
    with tempfile.TemporaryDirectory(prefix="mla-") as folder:
        plain = Path(folder) / "report.ncu-rep"
        with _OPEN[kind](path) as source, plain.open("wb") as target:
            _copy(source, target, kind)
        yield plain


def _copy(source: IO[bytes], target: IO[bytes], kind: str) -> None:
    size = 0
    try:
        while chunk := source.read(_CHUNK):
            size += len(chunk)
            if size > LARGEST_BYTES:
                raise UnreadableFile(
                    "TOO_LARGE", f"unpacked it has more than {LARGEST_BYTES / 1e9:.1f} GB"
                )
            target.write(chunk)
    except EOFError as error:
        why = f"the .{kind} file ends too early: copy it again"
        raise UnreadableFile("TRUNCATED", why) from error
    except (lzma.LZMAError, zlib.error, OSError) as error:
        why = f"the .{kind} file is damaged: copy it again"
        raise UnreadableFile("NOT_A_REPORT", why) from error
