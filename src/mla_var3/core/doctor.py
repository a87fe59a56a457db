"""What `mla doctor` found: one line a thing, with its fix."""

from typing import Literal

import msgspec

State = Literal["ok", "warn", "FIX", "n/a"]
"""`warn`: works, with a reservation; `n/a`: not there, and nothing here needs it."""


class Check(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that was probed."""

    name: str
    state: State
    text: str
    fix: str = ""
    """What to do, one line."""
    until_then: str = ""
    """What works as long as that is not done."""
    seconds: float | None = None
    """That the probe took."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """A command that works here, and what it gives."""

    command: str
    gives: str


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that was probed."""

    format: Literal["mla_var3/doctor"] = "mla_var3/doctor"
    schema_version: Literal[1] = 1
    checks: tuple[Check, ...]
    main_job: bool
    """A kernel of ours can be measured here with its counters."""
    hindered_by: tuple[str, ...]
    """Names of the checks that forbid it."""
    works: tuple[Step, ...]
    noise: tuple[str, ...] = ()
    """What A against A showed, where it was asked for."""
