"""`baseline.json`: what a profile is held against, as it was when it was taken."""

from pathlib import Path
from typing import Literal

import msgspec

from mla_var3.core.annotation import AcrossRuns
from mla_var3.core.errors import NoUsableData

FORMAT: Literal["mla_var3/baseline"] = "mla_var3/baseline"


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """An earlier profile, or a comparison with another version."""

    format: Literal["mla_var3/baseline"] = FORMAT
    schema_version: Literal[1] = 1
    typed: bool
    """Whether the user named it; else it was the newest stored profile."""
    before: AcrossRuns


def save_baseline(baseline: Baseline, path: Path) -> None:
    """Write it."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(baseline), indent=1) + b"\n")


def load_baseline(path: Path) -> Baseline | None:
    """Read it; None where there is none. `NoUsableData` names what is wrong with it."""
    if not path.is_file():
        return None
    try:
        return msgspec.json.decode(path.read_bytes(), type=Baseline)
    except msgspec.MsgspecError as error:
        raise NoUsableData(f"{path.name} is no baseline of mla_var3: {error}") from error
