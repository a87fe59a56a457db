"""One profiling at a time: a lock for each GPU by its UUID, in a folder of the user's own.

The kernel gives the lock back when its process ends, however that happens, so a lock that nobody
holds never blocks. Who holds it stands in a note beside it; a note without its process is stale.
"""

import contextlib
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from mla_var3.core.errors import MachineCannot, OutOfTime

CPU = "cpu"
"""Stands for the CPU, which only one profiling may use either."""
LIMIT_S = 1800.0
POLL_S = 0.2


class Holder(msgspec.Struct, frozen=True):
    """Who holds a lock: process, when that process began, command, and since when (ISO, UTC)."""

    pid: int
    began: str
    command: str
    since: str

    @property
    def is_alive(self) -> bool:
        """Whether that very process still runs; its number may have gone to another."""
        began = _began(self.pid)
        return began is not None and began == self.began

    @property
    def words(self) -> str:
        """`process 4711 (mla run flash_mla) since 10:15:02 UTC`."""
        return f"process {self.pid} ({self.command}) since {self.since[11:19]} UTC"


def lock_folder() -> Path:
    """`~/.cache/mla_var3/locks`, or below XDG_CACHE_HOME."""
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "mla_var3" / "locks"


@contextmanager
def gpu_lock(
    uuid: str,
    on_wait: Callable[[str], None] | None = None,
    limit_s: float = LIMIT_S,
    folder: Path | None = None,
) -> Iterator[None]:
    """Hold the lock of a GPU (`GPU-…`) or of `CPU`; `on_wait` is told once whom we wait for.

    Raises `OutOfTime` naming the holder after `limit_s` seconds.
    """
    from filelock import FileLock, Timeout

    place = lock_folder() if folder is None else folder
    note = _note(uuid, place)
    try:
        place.mkdir(parents=True, exist_ok=True)
        lock = FileLock(note.with_suffix(".lock"))
        end = time.monotonic() + limit_s
        told = False
        while True:
            with contextlib.suppress(Timeout):
                lock.acquire(timeout=0 if not told else POLL_S)
                break
            if time.monotonic() >= end:
                raise OutOfTime(f"{_waiting(uuid, note)}; waited {limit_s:.0f} s: try again later")
            if not told and on_wait is not None:
                on_wait(_waiting(uuid, note))
            told = True
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise MachineCannot(
            f"cannot lock {uuid} in {place.name}: {why}; set XDG_CACHE_HOME to a folder of yours"
        ) from error
    try:
        _write(note)
        yield
    finally:
        with contextlib.suppress(OSError):
            note.unlink()
        lock.release()


def holder(uuid: str, folder: Path | None = None) -> Holder | None:
    """Who holds a lock by its note; None without a note, or where its process has ended."""
    place = lock_folder() if folder is None else folder
    found = _read(_note(uuid, place))
    return found if found is not None and found.is_alive else None


def _note(uuid: str, folder: Path) -> Path:
    name = re.sub(r"[^\w-]", "_", uuid)
    return folder / f"{name}.json"


def _waiting(uuid: str, note: Path) -> str:
    found = _read(note)
    if found is None:
        return f"waiting for {uuid}: another profiling holds it"
    if not found.is_alive:  # the process is gone, but one that it left behind has the lock
        return f"waiting for {uuid}: what {found.words} left behind holds it"
    return f"waiting for {uuid}: held by {found.words}"


def _write(note: Path) -> None:
    pid = os.getpid()
    words = [*_program(), *sys.argv[1:]]
    found = Holder(
        pid=pid,
        began=_began(pid) or "",
        command=" ".join(words)[:120],
        since=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    partial = note.with_suffix(f".{pid}")
    with contextlib.suppress(OSError):  # a full disk: the lock holds, only its holder has no name
        partial.write_bytes(msgspec.json.encode(found))
        partial.replace(note)


def _program() -> list[str]:
    """What was typed before the first option: `mla`, or `python -m mla_var3.kernel`."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    if spec is not None:
        return ["python", "-m", spec.name.removesuffix(".__main__")]
    return [Path(word).name for word in sys.argv[:1]] or ["python"]


def _read(note: Path) -> Holder | None:
    try:
        return msgspec.json.decode(note.read_bytes(), type=Holder)
    except (OSError, msgspec.MsgspecError):
        return None


def _began(pid: int) -> str | None:
    """When a process began, in the kernel's ticks; empty: not told, None: it has ended."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
        return text.rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        pass
    if Path("/proc/self").exists():
        return None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except OSError:
        pass
    return ""
