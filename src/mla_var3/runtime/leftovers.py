"""Folders that are filled now, and those that a killed process left behind.

The process that fills a folder holds a lock on it, which the system drops however the process
ends; a mark in it says that it is ours. Where a file system has no such locks nothing is swept.
"""

import contextlib
import os
import re
import shutil
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from mla_var3.core import artifacts

try:
    import fcntl
except ImportError:  # not on this system
    fcntl = None  # type: ignore[assignment]

PARTIAL = ".incomplete-"
MARK = ".mla_var3-pending"
BARE_S = 60.0
"""Age of an empty folder without a mark from which on nobody marks it any more."""
_OURS = re.compile(re.escape(PARTIAL) + "[a-z0-9_]{8}")
_RAW_ENDINGS = (".log", ".ncu-rep", ".nsys-rep", ".sqlite")
_RAW_NAMES = (artifacts.TIMING, artifacts.OPERATORS, artifacts.COMPARISON)


class Leftover(NamedTuple):
    """A folder that is no profile, and the raw files in it."""

    folder: Path
    raw: tuple[str, ...]
    in_use: bool
    """A process fills it now."""


def make_pending(parent: Path) -> tuple[Path, int | None]:
    """A new marked folder below `parent`, and the lock that is held on it; None: no locks here."""
    work = Path(tempfile.mkdtemp(prefix=PARTIAL, dir=parent))
    lock = _lock(work)
    (work / MARK).touch()  # last: without it nobody sweeps
    return work, lock


def release(lock: int | None) -> None:
    """Let go of a folder."""
    if lock is not None:
        os.close(lock)


def sweep(parent: Path) -> None:
    """Remove what killed processes left below `parent`; raw data and logs are kept."""
    for folder in parent.glob(f"{PARTIAL}*"):
        if not (folder / MARK).is_file():
            _remove_bare(folder)
            continue
        lock = _lock(folder)
        if lock is None:
            continue  # a process fills it, or nobody can tell
        try:
            for file in (folder / MARK, *folder.glob("worker-*.json")):
                file.unlink(missing_ok=True)
            if not raw_files(folder):
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            continue  # another process sweeps here too, or we may not
        finally:
            release(lock)


def _remove_bare(folder: Path) -> None:
    """Remove an empty folder of ours that was never marked; a young one may get its mark now."""
    with contextlib.suppress(OSError):
        if _OURS.fullmatch(folder.name) and time.time() - folder.stat().st_mtime > BARE_S:
            folder.rmdir()  # fails where anything is in it


def leftovers(root: Path) -> list[Leftover]:
    """All folders below the root of a store that are no profiles."""
    found = []
    for folder in sorted(root.glob(f"*/*/*/{PARTIAL}*")):
        if folder.is_dir():
            in_use = (folder / MARK).is_file() and not _is_free(folder)
            found.append(Leftover(folder, raw_files(folder), in_use))
    return found


def raw_files(folder: Path) -> tuple[str, ...]:
    """Names of what was measured or logged in a folder, empty files left out."""
    return tuple(
        file.name
        for file in sorted(folder.iterdir())
        if (file.suffix in _RAW_ENDINGS or file.name in _RAW_NAMES) and file.stat().st_size
    )


def _is_free(folder: Path) -> bool:
    lock = _lock(folder)
    release(lock)
    return lock is not None


def _lock(folder: Path) -> int | None:
    """The lock on a folder; None where another process holds it, or there are no locks."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            if fcntl is not None:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return handle
        except OSError:
            pass
        os.close(handle)
    return None
