"""What the mode `ncu` adds to a record: how it was taken, and what it could not make."""

from pathlib import Path
from typing import Literal

import msgspec

from mla_var3.core.errors import NotFound, NoUsableData

FORMAT: Literal["mla_var3/ncu"] = "mla_var3/ncu"
VERSION: Literal[1] = 1


class NcuFacts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`ncu.json`: how long ncu took for what, and which artifacts there are not."""

    # By a factory: defaults are left out of the file, these two never.
    format: Literal["mla_var3/ncu"] = msgspec.field(default_factory=lambda: FORMAT)
    schema_version: Literal[1] = msgspec.field(default_factory=lambda: VERSION)
    seconds: float | None = None
    """Of the whole run of ncu, with the warm-up of the program."""
    passes: int | None = None
    """Times that ncu ran each kernel."""
    launches: int = 0
    """That ncu profiled."""
    runs: int = 1
    """Of each stage; more than one: the median stands."""
    cache: Literal["cold", "warm"] = "cold"
    """Cold: flushed before each pass."""
    tilings: dict[str, str] = {}
    """Where the tiling of each stage came from: `default`, `typed`."""
    cut: dict[str, str] = {}
    """Stages of which ncu did not profile every launch, and why."""
    absent: dict[str, str] = {}
    """Stages without compiled artifacts or PTX, and why."""


def save_facts(facts: NcuFacts, path: Path) -> None:
    """Write `ncu.json`."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(facts), indent=1) + b"\n")


def load_facts(path: Path) -> NcuFacts:
    """Read `ncu.json`; `NoUsableData` names what is wrong with it."""
    if not path.is_file():
        raise NotFound(f"no {path.name}: the profile does not tell how it was taken")
    try:
        return msgspec.json.decode(path.read_bytes(), type=NcuFacts)
    except msgspec.MsgspecError as error:
        raise NoUsableData(f"{path.name} does not tell how ncu ran: {error}") from error
