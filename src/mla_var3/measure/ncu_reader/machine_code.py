"""Opcode of an instruction from the machine code that the report embeds.

The library disassembles too, but its first instruction in a process costs 0.6 s and 70 MB. Here
the code section of the kernel is found in the file and the opcode read from the low 12 bits of
the 16-byte instruction (sm_75 and later); the library is asked only where that is not possible.
"""

import struct
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import msgspec

from mla_var3 import conf
from mla_var3.measure.ncu_reader.blocks import Bytes
from mla_var3.measure.ncu_reader.source import Instruction

INSTRUCTION_BYTES = 16
_OPCODE_MASK = 0xFFF
_FUNCTION_ALIGNMENT = 128
_LEAST_LISTED = 0.9
_ELF = b"\x7fELF"
_SECTION = struct.Struct("<IIQQQQIIQQ")


class Variant(msgspec.Struct, frozen=True):
    """An opcode whose second word tells: its number stands in `bits` bits from `first_bit` on."""

    first_bit: int
    bits: int
    names: tuple[str, ...]


class OpcodeTable(msgspec.Struct, frozen=True):
    """`conf/sass_opcodes.json`: number of the opcode to its name."""

    common: dict[str, str]
    chips: dict[str, dict[str, str]]
    variants: dict[str, Variant]


class Code(NamedTuple):
    """Where the code of one kernel lies in the file."""

    begin: int
    end: int


class EmbeddedCode:
    """The machine code of a report's kernels, by mangled name."""

    def __init__(self, data: Bytes, spans: Sequence[tuple[int, int]]) -> None:
        self._data = data
        self._functions: dict[str, list[Code]] = {}
        for begin, end in spans:
            for name, code in _functions(data, begin, end):
                self._functions.setdefault(name, []).append(code)

    def instructions(self, action: Any, mangled: str, capability: str | None) -> Instruction:
        """A function from the program counter to the opcode of this launch's instruction."""
        opcodes = opcode_table(capability)
        start = _function_start(action)
        code = self._only(mangled)
        if opcodes is None or start is None or code is None:
            return _by_library(action)
        library = _by_library(action)

        def read(counter: int) -> str:
            offset = code.begin + counter - start
            if not code.begin <= offset <= code.end - INSTRUCTION_BYTES:
                return library(counter)
            word = int.from_bytes(self._data[offset : offset + INSTRUCTION_BYTES], "little")
            return decode(word, opcodes) or library(counter)

        return read

    def has_one(self, mangled: str) -> bool:
        """Whether all launches of that name ran the same code: the report holds one, and it."""
        return bool(mangled) and self._only(mangled) is not None

    def _only(self, name: str) -> Code | None:
        """The kernel's code; None where several modules have different code of that name."""
        found = self._functions.get(name, [])
        if not found:
            return None
        texts = {bytes(self._data[code.begin : code.end]) for code in found}
        return found[0] if len(texts) == 1 else None


def decode(word: int, opcodes: dict[int, str]) -> str:
    """Opcode of a 16-byte instruction, `WARPGROUP.DEPBAR`; "" where it is not known."""
    name = opcodes.get(word & _OPCODE_MASK, "")
    variant = _table().variants.get(name)
    if variant is None:
        return name
    number = (word >> variant.first_bit) & ((1 << variant.bits) - 1)
    return variant.names[number] if number < len(variant.names) else name


@cache
def opcode_table(capability: str | None) -> dict[int, str] | None:
    """Opcodes of a compute capability by number, None where they are not known."""
    own = _table().chips.get(capability or "")
    if own is None:
        return None
    merged = _table().common | own
    return {int(number, 16): name for number, name in merged.items() if name}


@cache
def _table() -> OpcodeTable:
    return msgspec.convert(conf.table("sass_opcodes"), OpcodeTable)


def _by_library(action: Any) -> Instruction:
    def read(counter: int) -> str:
        text = str(action.sass_by_pc(counter) or "")
        words = [word for word in text.split() if not word.startswith(("@", "{"))]
        return ".".join(words[0].split(".")[:2]) if words else ""

    return read


def _function_start(action: Any) -> int | None:
    """Address of the first instruction; None where the counters are not a whole function's."""
    metric = action.metric_by_name("inst_executed")
    if metric is None or not metric.has_correlation_ids() or metric.num_instances() == 0:
        return None
    identifiers = metric.correlation_ids()
    count = metric.num_instances()
    counters = [int(identifiers.as_uint64(index)) for index in range(count)]
    first = min(counters)
    listed = count / ((max(counters) - first) // INSTRUCTION_BYTES + 1)
    return first if first % _FUNCTION_ALIGNMENT == 0 and listed > _LEAST_LISTED else None


def _functions(data: Bytes, begin: int, end: int) -> Iterator[tuple[str, Code]]:
    """Kernels of the cubin that lies in a source block, with their code."""
    start = bytes(data[begin : min(begin + 256, end)]).find(_ELF)
    if start < 0:
        return
    elf = begin + start
    try:
        (table,) = struct.unpack_from("<Q", data, elf + 0x28)
        entry_bytes, entries, names_index = struct.unpack_from("<HHH", data, elf + 0x3A)
        sections = [
            _SECTION.unpack_from(data, elf + table + index * entry_bytes)
            for index in range(entries)
        ]
        names = elf + sections[names_index][4]
        for section in sections:
            name = _c_string(data, names + section[0], end)
            code = Code(elf + section[4], elf + section[4] + section[5])
            if name.startswith(".text.") and code.end <= end:
                yield name.removeprefix(".text."), code
    except (struct.error, IndexError, OverflowError):
        # not a cubin of the known form: the library is asked instead
        return


def _c_string(data: Bytes, position: int, end: int) -> str:
    text = bytes(data[position : min(position + 4096, end)])
    return text.partition(b"\x00")[0].decode("ascii", "replace")
