"""`conf/ncu_details.json` as typed values: what is read beside the report's own sections."""

from functools import cache

import msgspec

from mla_var3 import conf


class MemorySpec(msgspec.Struct, frozen=True):
    """A memory table: templates of counters by column, and by row what fills them."""

    title: str
    columns: dict[str, str]
    rows: dict[str, dict[str, str]]


class CurveSpec(msgspec.Struct, frozen=True):
    """An occupancy curve and the counters that may hold the launch's own amount."""

    title: str
    resource: str
    name: str
    current: tuple[str, ...]


class InstructionSpec(msgspec.Struct, frozen=True):
    """Counters by instruction that are named; excess ones: itself, else actual less ideal."""

    executed: str
    start: str
    samples: tuple[str, ...]
    excess_sectors: tuple[str, str, str]
    excess_wavefronts: tuple[str, str, str]


class Spec(msgspec.Struct, frozen=True):
    """The parts of the file that reading needs."""

    memory: tuple[MemorySpec, ...]
    curves: tuple[CurveSpec, ...]
    opcodes: dict[str, str]
    span: tuple[str, str]
    """Marks of when the launch began and ended, among the times of samples."""
    instructions: InstructionSpec
    all_counters: dict[str, str]
    """Name and reason of the only section, where the library tells none."""


@cache
def spec() -> Spec:
    """The table; a mistake in the file raises here."""
    return msgspec.convert(conf.table("ncu_details"), Spec)
