"""Opcodes read from the embedded machine code, against the library's own disassembly."""

import mmap
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from tests.measure.conftest import NAMES
from tests.support.fake_report import FakeLaunch, FakeMetric

from mla_var3 import conf
from mla_var3.measure.ncu_reader import blocks
from mla_var3.measure.ncu_reader.machine_code import EmbeddedCode, decode, opcode_table

EVERY = 3
"""Every third instruction is compared: all are 8,500."""


@pytest.mark.parametrize("name", NAMES)
def test_opcodes_agree_with_the_library(recording: Callable[[str], Path], name: str) -> None:
    import ncu_report

    launch_range = ncu_report.load_report(str(recording(name))).range_by_idx(0)
    with recording(name).open("rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    code = EmbeddedCode(data, blocks.walk(data).code)
    compared = 0
    for index in range(launch_range.num_actions()):
        action = launch_range.action_by_idx(index)
        mangled = action.name(ncu_report.IAction.NameBase_MANGLED)
        ours = code.instructions(NoLibrary(action), mangled, "9.0")
        ids = action.metric_by_name("inst_executed").correlation_ids()
        for position in range(0, ids.num_instances(), EVERY):
            counter = ids.as_uint64(position)
            words = [w for w in action.sass_by_pc(counter).split() if not w.startswith("@")]
            opcode = ours(counter)
            assert opcode and (words[0] + ".").startswith(opcode + "."), (mangled, words)
            compared += 1
    assert compared > 100


class NoLibrary:
    """A launch whose disassembly must not be asked for."""

    def __init__(self, action: object) -> None:
        self._action = action

    def __getattr__(self, name: str) -> object:
        assert name != "sass_by_pc"
        return getattr(self._action, name)


def test_the_second_word_of_an_opcode_comes_from_its_bits() -> None:
    table = opcode_table("9.0")
    assert table is not None
    for number, name in enumerate(("ARRIVE", "WAIT", "DEPBAR")):
        assert decode(0x9C5 | number << 79, table) == f"WARPGROUP.{name}"
    assert decode(0x308 | 2 << 74, table) == "MUFU.EX2"
    assert decode(0x308 | 15 << 74, table) == "MUFU"
    assert decode(0x000, table) == ""


@pytest.mark.parametrize("capability", ["7.0", "10.0", "12.0", None, ""])
def test_other_chips_are_left_to_the_library(capability: str | None) -> None:
    assert opcode_table(capability) is None
    launch = FakeLaunch(sass={64: "@!P0  BRA.U 0x100", 80: "  HMMA.16816.F32 R4, R8"})
    read = EmbeddedCode(b"", []).instructions(launch, "k", capability)
    assert [read(64), read(80), read(96)] == ["BRA.U", "HMMA.16816", ""]


def test_code_that_is_not_unique_is_left_to_the_library(recording: Callable[[str], Path]) -> None:
    data = recording("cutile_mla").read_bytes()
    begin, end = blocks.walk(data).code[0]
    name, (code, *_) = next(iter(EmbeddedCode(data, [(begin, end)])._functions.items()))
    launch = FakeLaunch(metrics={"inst_executed": FakeMetric(1, "", [(0x1000, 1)])})
    launch.sass = {0x1000: "FROM.LIBRARY"}

    def opcode(content: bytes) -> str:
        spans = [(begin, end), *[(len(data), len(content))] * (len(content) > len(data))]
        return EmbeddedCode(content, spans).instructions(launch, name, "9.0")(0x1000)

    twin = bytearray(data[begin:end])
    alone, with_twin = opcode(data), opcode(data + bytes(twin))
    assert alone == with_twin != "FROM.LIBRARY"
    twin[code.end - begin - 1] ^= 1
    assert opcode(data + bytes(twin)) == "FROM.LIBRARY"


def test_damaged_code_is_no_error() -> None:
    for junk in (b"", b"\x7fELF", b"\x7fELF" + b"\xff" * 200, b"\x7fELF" + bytes(200)):
        assert EmbeddedCode(junk, [(0, len(junk))])._functions == {}


def test_the_table_is_about_known_chips() -> None:
    table = conf.table("sass_opcodes")
    assert set(table["chips"]) == {"7.5", "8.0", "8.6", "8.9", "9.0"}
    assert "nvdisasm" in table["_about"]
    assert len(msgspec.json.encode(table)) < 20_000
    ampere, hopper = opcode_table("8.0"), opcode_table("9.0")
    assert ampere is not None and hopper is not None
    assert "HGMMA" in hopper.values() and "HGMMA" not in ampere.values()
    assert ampere[0x221] == hopper[0x221] == "FADD"
