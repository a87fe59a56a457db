"""`operators.json`: where the time of each stage goes on a CPU, by torch's operators, and the rates
that this CPU reaches. Times are in nanoseconds.
"""

from pathlib import Path
from typing import Literal

import msgspec

from mla_var3.core.errors import NotFound, NoUsableData

FORMAT: Literal["mla_var3/operators"] = "mla_var3/operators"
VERSION: Literal[1] = 1


class Operator(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One operator of torch in one run of a stage."""

    name: str
    calls: float
    self_ns: float
    """Its own time, without the operators that it calls."""
    flops: float = 0.0
    """As torch counts them; 0 where it counts none for this operator."""


class StageOperators(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One stage: its time without the profiler, warm cache, and its operators with it."""

    stage: str
    samples_ns: tuple[float, ...]
    profiled_runs: int
    operators: tuple[Operator, ...]
    """By their own time, longest first."""

    @property
    def operators_ns(self) -> float:
        """Time of all operators in one run, under the profiler."""
        return sum(operator.self_ns for operator in self.operators)


class CpuPeaks(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Rates that were measured on this CPU, with what they hold for."""

    cpu: str
    threads: int
    torch: str
    date: str
    """ISO date of the measurement."""
    cache_bytes: int
    """The last cache level."""
    cache_set_bytes: int
    """Working set that the rate of the cache was measured with."""
    cache_gbps: float
    dram_gbps: float
    matmul_tflops: dict[str, float]
    """By element type, as torch multiplies on this CPU."""

    @property
    def best_tflops(self) -> tuple[str, float]:
        """The fastest element type and its rate: torch may compute in another than the inputs'."""
        return max(self.matmul_tflops.items(), key=lambda item: item[1])


class OperatorTable(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything that the task `operators` saw."""

    # By a factory: defaults are left out of the file, these two never.
    format: Literal["mla_var3/operators"] = msgspec.field(default_factory=lambda: FORMAT)
    schema_version: Literal[1] = msgspec.field(default_factory=lambda: VERSION)
    working_set_bytes: int
    """Inputs and outputs of the plan."""
    peaks: CpuPeaks
    stages: tuple[StageOperators, ...]


def save_operators(table: OperatorTable, path: Path) -> None:
    """Write `operators.json`."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(table), indent=1) + b"\n")


def load_operators(path: Path) -> OperatorTable:
    """Read `operators.json`; `NoUsableData` names what is wrong with it."""
    if not path.is_file():
        raise NotFound(f"no {path.name}: the profile has no table of operators")
    try:
        return msgspec.json.decode(path.read_bytes(), type=OperatorTable)
    except msgspec.MsgspecError as error:
        raise NoUsableData(f"{path.name} is no table of operators: {error}") from error
