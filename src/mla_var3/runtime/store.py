"""Stored profiles: a folder appears whole or not at all, and what is stored can be listed."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from mla_var3.core import artifacts
from mla_var3.core.errors import MachineCannot
from mla_var3.core.record_file import FORMAT
from mla_var3.render.profile_list import StoredProfile
from mla_var3.runtime.comparison_files import is_comparison
from mla_var3.runtime.leftovers import MARK, PARTIAL, make_pending, release, sweep


class _Head(msgspec.Struct):
    """The few fields of profile.json that the list needs."""

    format: str
    mode: str
    status: str
    created: str = ""


class _Word(msgspec.Struct):
    word: str


class _Words(msgspec.Struct):
    shapes: list[_Word]


class _Compared(msgspec.Struct):
    """The few fields of comparison.json that the list needs."""

    verdict: _Words


class _RaceHead(msgspec.Struct):
    contenders: list[msgspec.Raw]


class _ContractHead(msgspec.Struct):
    bottleneck: str


def timestamp(now: datetime | None = None) -> str:
    """`20261201-101502`, UTC."""
    return (now or datetime.now(UTC)).strftime("%Y%m%d-%H%M%S")


@contextmanager
def new_folder(wanted: Path) -> Iterator["PendingFolder"]:
    """A folder to fill that is renamed to `wanted` (or `wanted-2`, …) when the block succeeds.

    After a failure nothing is left, and what killed processes left beside it is swept. The final
    path is `PendingFolder.final`, set at the end.
    """
    try:
        wanted.parent.mkdir(parents=True, exist_ok=True)
        sweep(wanted.parent)
        work, lock = make_pending(wanted.parent)
    except OSError as error:
        raise MachineCannot(
            f"cannot write below {wanted.parent.name}: {error.strerror}; choose another --out_dir"
        ) from error
    pending = PendingFolder(work)
    try:
        yield pending
        work.chmod(0o755)
        (work / MARK).unlink(missing_ok=True)
        pending.final = _settle(work, wanted)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise
    finally:
        release(lock)


class PendingFolder:
    """`work` is where to write; `final` where it lies in the end."""

    def __init__(self, work: Path) -> None:
        self.work = work
        self.final = work


def _settle(work: Path, wanted: Path) -> Path:
    """Rename to the first free name; renaming onto an existing folder fails, so none is lost."""
    number = 1
    while True:
        name = wanted if number == 1 else wanted.with_name(f"{wanted.name}-{number}")
        try:
            if not name.exists():
                return work.rename(name)
        except OSError:
            if not name.exists():
                raise
        number += 1


def stored_profiles(root: Path) -> list[StoredProfile]:
    """All profiles below `root`, by folder name; damaged ones with the reason."""
    found = []
    for folder in sorted(root.glob("*/*/*/*")):
        if folder.is_dir() and not folder.name.startswith(PARTIAL):
            found.append(_look(folder, root))
    return found


def _look(folder: Path, root: Path) -> StoredProfile:
    relative = folder.relative_to(root)
    mode, kernel, params, time = relative.parts
    facts: dict[str, Any] = {"mode": mode, "kernel": kernel, "params": params, "time": time}
    if is_comparison(folder):
        return _look_at_comparison(folder, StoredProfile(folder=relative.as_posix(), **facts))
    try:
        head = msgspec.json.decode((folder / artifacts.PROFILE).read_bytes(), type=_Head)
        facts["status"] = head.status
        if head.format != FORMAT:
            facts["damage"] = f"{artifacts.PROFILE} is not a record of mla_var3"
    except FileNotFoundError:
        facts["damage"] = f"no {artifacts.PROFILE}"
    except (OSError, msgspec.MsgspecError) as error:
        facts["damage"] = f"{artifacts.PROFILE} cannot be read: {_reason(error)}"
    facts["bottleneck"] = _bottleneck(folder)
    return StoredProfile(folder=relative.as_posix(), **facts)


def _look_at_comparison(folder: Path, known: StoredProfile) -> StoredProfile:
    """Its verdict as its status; several shapes that differ are `mixed`."""
    try:
        if (folder / artifacts.RACE).is_file():
            head = msgspec.json.decode((folder / artifacts.RACE).read_bytes(), type=_RaceHead)
            return msgspec.structs.replace(known, status=f"race of {len(head.contenders)}")
        content = (folder / artifacts.COMPARISON).read_bytes()
        verdict = msgspec.json.decode(content, type=_Compared).verdict
        words = {shape.word for shape in verdict.shapes}
        return msgspec.structs.replace(known, status=words.pop() if len(words) == 1 else "mixed")
    except (OSError, msgspec.MsgspecError) as error:
        why = f"{artifacts.COMPARISON} or {artifacts.RACE} cannot be read: {_reason(error)}"
        return msgspec.structs.replace(known, damage=why)


def _bottleneck(folder: Path) -> str:
    try:
        content = (folder / artifacts.CONTRACT_JSON).read_bytes()
        return msgspec.json.decode(content, type=_ContractHead).bottleneck
    except (OSError, msgspec.MsgspecError):
        return ""


def _reason(error: Exception) -> str:
    return (error.strerror or "no access") if isinstance(error, OSError) else str(error)
