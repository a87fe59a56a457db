"""All stored profiles below a folder, a line each; damaged ones with the reason."""

import gc
import os
from collections.abc import Callable, Iterator
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


def read_history(root: Path, progress: Callable[[int, int], None] | None = None) -> Found:
    """Read every `profile.json` below `root`, however deep, but for those of unfinished runs."""
    folders = sorted(_folders(str(root)))
    collects = gc.isenabled()
    gc.disable()  # nothing here is cyclic, and looking for it takes as long as reading
    try:
        return _read_all(root, folders, progress)
    finally:
        if collects:
            gc.enable()


def _read_all(root: Path, folders: list[str], progress: Callable[[int, int], None] | None) -> Found:
    runs: list[Run] = []
    damaged: dict[str, str] = {}
    beginning = len(os.path.join(root, ""))
    for number, folder in enumerate(folders, start=1):
        name = folder[beginning:].replace(os.sep, "/") or "."
        try:
            runs.append(_read(folder, name))
        except NoUsableData as error:
            damaged[name] = str(error)
        except OSError as error:
            damaged[name] = f"cannot be read: {error.strerror or type(error).__name__}"
        if progress is not None and number % 200 == 0:
            progress(number, len(folders))
    return Found(tuple(runs), damaged)


def _read(folder: str, name: str) -> Run:
    def part(position: int) -> bytes:
        return Path(folder, artifacts.stage_file(position)).read_bytes()

    with open(os.path.join(folder, artifacts.PROFILE), "rb") as file:
        return read_run(file.read(), name, part)


def _folders(root: str) -> Iterator[str]:
    """Folders that hold a `profile.json`; nothing below one of them is another profile."""
    todo = [root]
    while todo:
        folder = todo.pop()
        below: list[os.DirEntry[str]] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name == artifacts.PROFILE:
                        yield folder
                        below = []
                        break
                    if entry.is_dir(follow_symlinks=False):
                        below.append(entry)
        except OSError:  # not ours to read: what lies there is not in the history
            continue
        todo += [entry.path for entry in below if not entry.name.startswith(PARTIAL)]
