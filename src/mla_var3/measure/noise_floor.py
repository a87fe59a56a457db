"""The noise floor of a machine: how far two builds of one kernel may seem apart here.

`~/.cache/mla_var3/noise.json` (or below XDG_CACHE_HOME), by GPU UUID, driver and lock state:
another driver, or clocks that are locked, are another machine.
"""

import os
from pathlib import Path

import msgspec

from mla_var3.core.errors import MachineCannot

FILE = "noise.json"


class Floor(msgspec.Struct, frozen=True, kw_only=True):
    """What A against A showed."""

    pct: float
    """The larger end of the intervals of the change, in percent."""
    measured: str
    """ISO 8601, UTC."""
    kernels: dict[str, float]
    """Of each kernel, in percent."""


def floor_file() -> Path:
    """Where the floors lie."""
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "mla_var3" / FILE


def load_floor(uuid: str, driver: str | None, locked: bool | None) -> Floor | None:
    """The stored floor of a GPU under this driver and lock state; None: never measured."""
    return _read(floor_file()).get(_key(uuid, driver, locked))


def save_floor(uuid: str, driver: str | None, locked: bool | None, floor: Floor) -> Path:
    """Store it in place of an earlier one; the file. Raises `MachineCannot` where it cannot."""
    path = floor_file()
    floors = _read(path) | {_key(uuid, driver, locked): floor}
    partial = path.with_suffix(f".{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(msgspec.json.format(msgspec.json.encode(floors), indent=1) + b"\n")
        partial.replace(path)
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise MachineCannot(
            f"cannot write {path.name} in the cache folder: {why}; set XDG_CACHE_HOME to a folder"
            " of yours"
        ) from error
    return path


def _key(uuid: str, driver: str | None, locked: bool | None) -> str:
    state = {True: "locked", False: "not locked", None: "lock not told"}[locked]
    return f"{uuid} · driver {driver or 'not told'} · {state}"


def _read(path: Path) -> dict[str, Floor]:
    """Empty where there is none, or one that is damaged: it is measured again."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Floor])
    except (OSError, msgspec.MsgspecError):
        return {}
