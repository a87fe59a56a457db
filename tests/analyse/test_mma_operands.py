"""Shared memory that is full of the tensor pipe's own operand reads."""

import pytest

from mla_var3.analyse.facts import Facts
from mla_var3.analyse.roofs import decide
from mla_var3.core.record import Environment, Metric, Shares, Stage

# flash_mla v1 on an H200, b=32 s=16 t=4096, by its counters.
SEEN = {
    "tensor": 49.4,
    "dram": 5.3,
    "l2": 13.5,
    "l1": 67.6,
    "l1_data": 67.6,
    "l1_shared": 67.3,
    "lsu_requests": 12.3,
    "fma": 7.9,
    "alu": 4.9,
    "xu": 6.6,
    "fp64": 0.0,
    "issue": 26.9,
}


def facts(opcode: str = "HGMMA", **changed: float) -> Facts:
    metrics = {k: Metric(v, "%", "ncu", k) for k, v in (SEEN | changed).items()}
    opcodes = Shares({"FMUL": 20.0, opcode: 6.0}, "%", "ncu", "sass__inst_executed_per_opcode")
    stage = Stage(name="k", kernel="k", launch=0, metrics=metrics, opcodes=opcodes)
    return Facts(stage, Environment(), None)


def test_operand_reads_are_named_with_both_figures() -> None:
    verdict = decide(facts())
    assert verdict is not None
    assert (verdict.bound_class, verdict.cause) == ("Memory", "mma_operands")
    assert verdict.confidence == "medium"  # between 60 and 70 %
    limiter = verdict.words.limiter
    assert "67.6 % busy with operands of HGMMA" in limiter and "49.4 %" in limiter


@pytest.mark.parametrize(
    ("opcode", "changed"),
    [
        ("HMMA", {}),  # mma.sync loads its operands by instructions
        ("HGMMA", {"lsu_requests": 40.0}),  # loads and stores explain them
        ("HGMMA", {"l1_shared": 20.0}),  # global memory has most of them
        ("HGMMA", {"tensor": 15.0}),
    ],
)
def test_other_wavefronts_are_not(opcode: str, changed: dict[str, float]) -> None:
    verdict = decide(facts(opcode, **changed))
    assert verdict is not None
    assert verdict.cause == "l1"
