"""All stored profiles below a folder, a line each; damaged ones with the reason."""

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from mla_var3.core import artifacts
from mla_var3.core.errors import NoUsableData
from mla_var3.core.history import Run
from mla_var3.core.history_file import read_run
from mla_var3.runtime.leftovers import PARTIAL


class Found(NamedTuple):
    """What lies below a folder."""

    runs: tuple[Run, ...]
    damaged: dict[str, str]
    """Folder below the root to the reason."""


def read_history(root: Path) -> Found:
    """Read every `profile.json` below `root`, however deep, but for those of unfinished runs.

    Nothing below a profile is another one; links to folders are not followed.
    """
    runs: list[Run] = []
    damaged: dict[str, str] = {}
    beginning = len(os.path.join(root, ""))
    todo = [os.fspath(root)] if root.is_dir() else []
    while todo:
        folder = todo.pop()
        name = folder[beginning:].replace(os.sep, "/") or "."
        try:
            content = _content(f"{folder}/{artifacts.PROFILE}")
            if content is None:
                todo += _below(folder)
            else:
                runs.append(_run(content, folder, name))
        except NoUsableData as error:
            damaged[name] = str(error)
        except OSError as error:
            damaged[name] = f"cannot be read: {error.strerror or type(error).__name__}"
    runs.sort(key=lambda run: run.profile)
    return Found(tuple(runs), dict(sorted(damaged.items())))


@contextmanager
def uncollected() -> Iterator[None]:
    """Without Python's collector of cycles: a history has none, and looking costs a third of it."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _run(content: bytes, folder: str, name: str) -> Run:
    def part(position: int) -> bytes:
        return Path(folder, artifacts.stage_file(position)).read_bytes()

    return read_run(content, name, part)


def _content(path: str) -> bytes | None:
    """A file by the fewest calls of the system; None where there is none."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        size = os.fstat(handle).st_size
        content = os.read(handle, size + 1)
        while len(content) != size and (more := os.read(handle, 1 << 20)):
            content += more
        return content
    finally:
        os.close(handle)


def _below(folder: str) -> list[str]:
    with os.scandir(folder) as entries:
        return [
            entry.path
            for entry in entries
            if not entry.name.startswith(PARTIAL) and entry.is_dir(follow_symlinks=False)
        ]
