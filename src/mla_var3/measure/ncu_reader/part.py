"""A part of the launches of a report, read in this process; as a program, in one of its own.

`ncu_report` keeps some 5 MB for every launch that was looked at until its process ends, whatever
is let go. So a long report is read a part at a time, each by `python -m …ncu_reader.part`.
"""

import contextlib
import mmap
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from mla_var3.core.record import Environment, Stage
from mla_var3.measure.ncu_reader import blocks, module, versions
from mla_var3.measure.ncu_reader.environment import compute_capability, read_environment
from mla_var3.measure.ncu_reader.launches import Launch, launches
from mla_var3.measure.ncu_reader.machine_code import EmbeddedCode
from mla_var3.measure.ncu_reader.stage import read_stage
from mla_var3.measure.ncu_reader.table import chip_of

PART_LAUNCHES = 10
KEPT_LAUNCHES = 8
"""A report of at most so many stays open, for its details are read in the same process."""

Progress = Callable[[int, int], None]
"""Called with the launches read so far and their number."""


class Part(msgspec.Struct, frozen=True):
    """Stages under their short names, not yet unique, and what else was seen."""

    stages: tuple[Stage, ...] = ()
    ghosts: int = 0
    """Launches of which nothing is in the file."""
    environment: Environment = Environment()


def read_parts(
    path: Path, count: int, progress: Progress | None = None, *, apart: bool = False
) -> Part:
    """All launches of a report; `count` is how many its blocks promise, 0 where that is unknown.

    `apart`: none is read in this process.
    """
    library = module.load_module()
    if count <= PART_LAUNCHES and not apart:
        return read_part(library, path, keep=0 < count <= KEPT_LAUNCHES)
    starts = range(0, max(count, 1), PART_LAUNCHES)
    # the last one takes what is there beyond the promise
    ends = [*starts[1:], None]
    parts = []
    for first, end in zip(starts, ends, strict=True):
        parts.append(_read_elsewhere(library, path, first, end))
        if progress is not None:
            progress(end or count, count)
    told = (part.environment for part in parts if part.environment.device)
    return Part(
        tuple(stage for part in parts for stage in part.stages),
        sum(part.ghosts for part in parts),
        next(told, parts[0].environment),
    )


def read_part(
    library: Any, path: Path, first: int = 0, end: int | None = None, *, keep: bool = False
) -> Part:
    """The launches from `first` up to, not including, `end`; `keep` as of `open_report`."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        with memoryview(data) as view, quiet():
            code = EmbeddedCode(view, blocks.walk(view).code)
            return _read(library, module.open_report(library, path, keep=keep), code, (first, end))


def _read(library: Any, report: Any, code: EmbeddedCode, span: tuple[int, int | None]) -> Part:
    stages: list[Stage] = []
    environment = Environment(reader_tool=_reader(library, report))
    ghosts = 0
    for launch in launches(library, report, *span):
        if launch.ghost:
            ghosts += 1
            continue
        if environment.device is None:
            environment = read_environment(launch, environment)
        try:
            stages.append(_stage(launch, code))
        except (RuntimeError, IndexError):
            # the library's own errors about a damaged launch
            ghosts += 1
    return Part(tuple(stages), ghosts, environment)


def _stage(launch: Launch, code: EmbeddedCode) -> Stage:
    capability = compute_capability(launch.counters)
    instruction = code.instructions(launch.action, launch.mangled_name, capability)
    return read_stage(launch, chip_of(capability), instruction)


def _reader(library: Any, report: Any) -> str | None:
    version = versions.reader_version(library, report)
    return f"ncu_report {version}" if version else None


def _read_elsewhere(library: Any, path: Path, first: int, end: int | None) -> Part:
    """The part from a process of its own; only ghosts where the library did not survive it."""
    span = [str(first), "" if end is None else str(end)]
    done = subprocess.run(
        [sys.executable, "-m", "mla_var3.measure.ncu_reader.part", str(path), *span],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode < 0:
        return Part(ghosts=(end or first + 1) - first)
    if done.returncode > 0:
        # no second process to be had here: then at the price of memory
        return read_part(library, path, first, end)
    return msgspec.msgpack.decode(done.stdout, type=Part)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep the library's own lines about damaged launches off stderr: they are told in words."""
    try:
        kept = os.dup(2)
    except OSError:
        yield
        return
    try:
        with open(os.devnull, "wb") as nothing:
            os.dup2(nothing.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


if __name__ == "__main__":
    _path, _first, _end = sys.argv[1:]
    _last = int(_end) if _end else None
    _part = read_part(module.load_module(), Path(_path), int(_first), _last)
    sys.stdout.buffer.write(msgspec.msgpack.encode(_part))
