"""The columns of a history: names with units, types of SQL, and how each is read from a run."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import msgspec

from mla_var3.core.history import Run, StageLine
from mla_var3.core.units import NA

_BIGINT_END = 1 << 63
Cell = str | int | float | bool | None
_PROBLEM = {
    **dict.fromkeys(("b", "s", "t", "h", "d", "k", "p"), "BIGINT"),
    "dtype": "VARCHAR",
    "causal": "BOOLEAN",
}
"""Fields that most plans share; `params` has all of them."""


class Column(NamedTuple):
    """One column; `of` gives None where the record does not tell."""

    name: str
    type: str
    of: Callable[[Any], Cell]


def _field(name: str, type: str = "VARCHAR") -> Column:
    return Column(name, type, lambda item: getattr(item, name))


def _scaled(name: str, field: str, factor: float) -> Column:
    def of(item: Any) -> float | None:
        value = getattr(item, field)
        return None if value is None else value * factor

    return Column(name, "DOUBLE", of)


def _environment(name: str, type: str = "VARCHAR") -> Column:
    return Column(name, type, lambda run: getattr(run.environment, name))


def _plan(name: str) -> Column:
    return Column(name, "VARCHAR", lambda run: getattr(run.plan, name, None) or None)


def _param(name: str, type: str) -> Column:
    wanted = {"BIGINT": int, "BOOLEAN": bool}.get(type, str)

    def of(run: Run) -> Cell:
        value = run.plan.params.get(name) if run.plan else None
        is_wanted = value.__class__ is wanted  # True is an int too
        too_large = isinstance(value, int) and abs(value) >= _BIGINT_END
        return value if is_wanted and not too_large else None

    return Column(name, type, of)


def _json(value: object) -> str | None:
    return msgspec.json.encode(value).decode() if value else None


PROFILES: tuple[Column, ...] = (
    _field("profile"),
    Column("created", "TIMESTAMP", lambda run: run.created or None),
    _field("mode"),
    _field("status"),
    _field("kernel"),
    _field("version"),
    _plan("language"),
    *(_param(name, kind) for name, kind in _PROBLEM.items()),
    Column("params", "VARCHAR", lambda run: _json(run.plan.params) if run.plan else None),
    _environment("device"),
    _environment("driver"),
    _environment("clocks_locked", "BOOLEAN"),
    _environment("capture_tool"),
    _environment("git_commit"),
    _plan("source_sha256"),
    Column("tiling", "VARCHAR", lambda run: _json(run.tilings)),
    _scaled("duration_us", "duration_ns", 1e-3),
    _field("duration_by"),
    Column("duration_from", "VARCHAR", lambda run: run.duration_from or None),
    _scaled("kernels_us", "kernels_ns", 1e-3),
    _field("kernels_by"),
    _scaled("sm_clock_mhz", "sm_clock_hz", 1e-6),
    _field("temperature_c", "DOUBLE"),
    _field("power_w", "DOUBLE"),
    _field("achieved_tflops", "DOUBLE"),
    _field("achieved_gbps", "DOUBLE"),
    Column("failure", "VARCHAR", lambda run: run.failure or None),
)
STAGES: tuple[Column, ...] = (
    _field("stage"),
    Column("kernel_name", "VARCHAR", lambda stage: stage.kernel),
    _scaled("duration_us", "duration_ns", 1e-3),
    _field("duration_by"),
    *(_field(f"{name}_pct", "DOUBLE") for name in ("tensor", "dram", "occupancy", "l2_hit")),
    _scaled("sm_clock_mhz", "sm_clock_hz", 1e-6),
    *(_field(name, "DOUBLE") for name in ("registers", "spill_bytes", "waves")),
)
"""Before them stands `profile`."""


def profile_cells(run: Run) -> tuple[Cell, ...]:
    """The row of a run in the order of `PROFILES`."""
    return tuple(column.of(run) for column in PROFILES)


def stage_cells(run: Run) -> Iterable[tuple[Cell, ...]]:
    """The rows of its stages in the order of `STAGES`, the profile first."""

    def cells(stage: StageLine) -> tuple[Cell, ...]:
        return (run.profile, *(column.of(stage) for column in STAGES))

    return map(cells, run.stages)


def text_of(cell: object) -> str:
    """A cell for people; what is missing is `n/a`."""
    if cell is None:
        return NA
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return f"{cell:.6g}" if isinstance(cell, float) else str(cell)
