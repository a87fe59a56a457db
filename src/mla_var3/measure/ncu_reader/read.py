"""Read one file of Nsight Compute into a `Profile`: `.ncu-rep`, packed, or an export of `--csv`."""

import hashlib
import mmap
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec

from mla_var3.core.errors import NotFound
from mla_var3.core.record import Profile, SourceFile, Stage
from mla_var3.measure.ncu_reader.file_kind import sniff
from mla_var3.measure.ncu_reader.packed import unpacked
from mla_var3.measure.ncu_reader.part import Progress


def read_report(
    path: Path,
    *,
    kernel: re.Pattern[str] | None = None,
    progress: Progress | None = None,
    apart: bool = False,
) -> Profile:
    """Record of a report; `kernel` keeps the launches whose short or full name it finds.

    `progress` is called with the launches read and their number while a long report is read. With
    `apart` the library works in a process of its own.

    Raises `UnreadableFile` with its word, `NotFound` without the file or without such a kernel,
    and `MachineCannot` where a .ncu-rep cannot be read for want of `ncu_report`.
    """
    kind = sniff(path)
    if kind == "xz" or kind == "gz":
        with unpacked(path, kind) as plain:
            profile = _read(plain, path, progress, apart)
    else:
        profile = _read(path, path, progress, apart)
    return profile if kernel is None else _only(profile, kernel)


@contextmanager
def plain_report(path: Path) -> Iterator[Path | None]:
    """A .ncu-rep that the library can open: unpacked, and of a cut file what is whole of it.

    None for an export of `ncu --csv`, which holds no more than its record. Raises as `read_report`.
    """
    from mla_var3.measure.ncu_reader import blocks
    from mla_var3.measure.ncu_reader.report_file import whole_file

    with ExitStack() as stack:
        kind = sniff(path)
        plain = stack.enter_context(unpacked(path, kind)) if kind == "xz" or kind == "gz" else path
        kind = sniff(plain, unpacked_from=path if plain != path else None)
        if kind == "ncu-rep":
            with plain.open("rb") as file:
                with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                    with memoryview(data) as view:
                        layout = blocks.walk(view)
            plain = stack.enter_context(whole_file(plain, layout))
        yield None if kind == "ncu-csv" else plain


def _read(plain: Path, given: Path, progress: Progress | None, apart: bool) -> Profile:
    kind = sniff(plain, unpacked_from=given if plain != given else None)
    # each imported where it is used: the other would cost a part of a quick start
    if kind == "ncu-csv":
        from mla_var3.measure.ncu_reader import csv_export

        return csv_export.read_csv(plain, _source(given, "ncu-csv"))
    from mla_var3.measure.ncu_reader import report_file

    source = _source(given, "ncu-rep")
    walkable = kind == "ncu-rep"
    return report_file.read_report_file(
        plain, source, walkable=walkable, progress=progress, apart=apart
    )


def _source(path: Path, kind: str) -> SourceFile:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        digest = hashlib.sha256(data).hexdigest()
        size = len(data)
    return SourceFile(
        file=path.name,
        kind="ncu-csv" if kind == "ncu-csv" else "ncu-rep",
        bytes=size,
        sha256=digest,
    )


def _only(profile: Profile, kernel: re.Pattern[str]) -> Profile:
    kept = tuple(s for s in profile.stages if kernel.search(s.name) or kernel.search(s.kernel))
    if not kept:
        raise NotFound(
            f"no kernel matches {kernel.pattern}: the file has {_listed(profile.stages)}"
        )
    return msgspec.structs.replace(profile, stages=kept)


def _listed(stages: tuple[Stage, ...], most: int = 5) -> str:
    names = list(dict.fromkeys(stage.name for stage in stages))
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
