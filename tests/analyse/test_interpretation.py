"""The spec's Metric Interpretation table, and the guards of its lines."""

import msgspec
import pytest
from tests.analyse.stages import HOPPER, stage_of

from mla_var3.analyse.diagnose import diagnose_stage
from mla_var3.analyse.knowledge import spec_rows
from mla_var3.core.diagnosis import Diagnosis, MetricRow

SPEC = [
    ("TC Util", ">60%", "Memory or latency bound", "Check DRAM%, occupancy"),
    ("DRAM Throughput", ">70%", "Compute or latency bound", "Check TC%, occupancy"),
    (
        "Achieved Occupancy",
        ">25%",
        "Register/smem pressure",
        "Reduce tile size, occupancy hint",
    ),
    ("L2 Hit Rate", ">80%", "Poor data reuse", "Swizzle, larger tiles, data layout"),
    ("Local Spilling", "0 bytes", "Register overflow", "Smaller tiles, fewer accumulators"),
    ("Waves/SM", ">1.0", "Underfilled GPU", "More blocks, reduce per-block resources"),
]
BUSY_TENSOR = {"tensor": 90.0, "issue": 20.0}
ONE_BLOCK = {
    "limit_registers": 1,
    "limit_shared_memory": 1,
    "limit_warps": 8,
    "shared_memory": 163840,
    "registers": 168,
}


def row(found: Diagnosis, metric: str) -> MetricRow:
    return next(item for item in found.rows if item.metric == metric)


def test_the_table_is_the_spec_verbatim() -> None:
    assert [(r.metric, r.healthy, r.issue, r.hint) for r in spec_rows()] == SPEC


@pytest.mark.parametrize(
    ("facts", "metric", "shown", "healthy"),
    [
        ({"tensor": 60.0}, "TC Util", "60.0 %", False),
        ({"tensor": 60.1}, "TC Util", "60.1 %", True),
        ({"dram": 70.1}, "DRAM Throughput", "70.1 %", True),
        ({"occupancy": 25.0}, "Achieved Occupancy", "25.0 %", False),
        ({"l2_hit": 80.5}, "L2 Hit Rate", "80.5 %", True),
        (
            {"local_load_sectors": 0, "local_store_sectors": 0},
            "Local Spilling",
            "0 B",
            True,
        ),
        ({"local_store_sectors": 64.0}, "Local Spilling", "2 KB", False),
        ({"waves": 1.0}, "Waves/SM", "1.00", False),
        ({"waves": 1.01}, "Waves/SM", "1.01", True),
    ],
)
def test_the_lines_are_drawn_as_the_spec_says(
    facts: dict[str, float], metric: str, shown: str, healthy: bool
) -> None:
    found = row(diagnose_stage(stage_of(facts), HOPPER, None), metric)
    assert (found.shown, found.healthy) == (shown, healthy)
    spec = next(line for line in SPEC if line[0] == metric)
    assert (found.issue, found.hint) == (("", "") if healthy else spec[2:])


def guard(facts: dict[str, float | None], metric: str, **fields: object) -> str:
    found = diagnose_stage(stage_of(facts, **fields), HOPPER, None)  # type: ignore[arg-type]
    text = row(found, metric).guard
    if row(found, metric).healthy is False and text:
        assert text in [item.text for item in found.counter_evidence]
    return text


def test_low_occupancy_of_a_tensor_pipeline_is_by_design() -> None:
    facts = BUSY_TENSOR | ONE_BLOCK | {"occupancy": 14.8}
    expected = "occupancy 14.8 %: by design (1 CTA/SM: 160 KB smem, 168 registers)"
    assert guard(facts, "Achieved Occupancy") == expected


def test_low_occupancy_at_a_roof_is_no_issue() -> None:
    facts = {"fma": 85.0, "issue": 70.0, "occupancy": 14.8}
    assert guard(facts, "Achieved Occupancy") == (
        "occupancy 14.8 %: no issue, the limit is FMA pipe"
    )


def test_low_occupancy_without_either_is_an_alarm() -> None:
    assert guard({"occupancy": 14.8}, "Achieved Occupancy") == ""


def test_tc_zero_is_no_fault_without_tensor_instructions() -> None:
    text = guard({"fma": 90.0}, "TC Util", opcodes={"FFMA": 90.0, "BRA": 10.0})
    assert text == "TC 0.0 % is no fault: the kernel has no tensor instructions"
    assert guard({}, "TC Util", opcodes={"HGMMA": 10.0, "BRA": 90.0}) == ""


def test_a_low_hit_rate_with_an_idle_dram_costs_nothing() -> None:
    text = guard({"l2_hit": 7.4, "dram": 27.0}, "L2 Hit Rate")
    assert text == "L2 hit 7.4 %: no issue, DRAM is only 27.0 % busy"


def test_reads_that_are_compulsory_are_no_locality_problem() -> None:
    facts = {"l2_hit": 50.9, "dram": 84.0, "dram_read_bytes": 1.01e9}
    text = guard(facts | {"compulsory_read_bytes": 1e9}, "L2 Hit Rate")
    assert text == "L2 hit 50.9 %: no issue, DRAM reads are 1.0× the compulsory bytes"
    assert "no proof of poor reuse" in guard(facts, "L2 Hit Rate")


def test_a_confirmed_locality_problem_is_an_alarm() -> None:
    facts = {"l2_hit": 50.9, "dram": 84.0, "dram_read_bytes": 3e9, "compulsory_read_bytes": 1e9}
    assert guard(facts, "L2 Hit Rate") == ""
    found = diagnose_stage(stage_of(facts), HOPPER, None)
    texts = [item.text for item in found.evidence]
    assert "DRAM reads are 3.0 x the compulsory bytes (L2 hit 50.9 %)" in texts


def test_one_full_wave_is_full() -> None:
    facts = {"waves": 0.97, "grid_size": 97, "sm_count": 100}
    assert guard(facts, "Waves/SM") == (
        "waves 0.97: no issue, the grid fills the SMs (wave loss 3 %)"
    )


def test_a_tail_passes_the_line_and_is_told() -> None:
    facts = {"waves": 1.03, "grid_size": 103, "sm_count": 100, "active_share": 53.0}
    found = diagnose_stage(stage_of(facts), HOPPER, None)
    waves = row(found, "Waves/SM")
    assert waves.healthy is True
    assert waves.guard == "waves 1.03 pass this line, yet 48 % of the last wave is empty"
    assert waves.guard in [item.text for item in found.evidence]


@pytest.mark.parametrize(
    ("more", "opcodes", "no_fault"),
    [
        ({"tensor": 37.2, "code_hgmma": 16}, {"FMUL": 13.0, "MUFU": 4.0}, False),
        ({"tensor": 37.2}, {"FMUL": 13.0, "MUFU": 4.0}, False),
        ({"tensor": 0.0, "code_hgmma": 16}, {"FMUL": 13.0}, False),
        ({"tensor": 0.0, "code_hgmma": 0, "code_hmma": 0}, {"FMUL": 13.0}, True),
        ({"tensor": 0.0}, {"FMUL": 13.0}, True),
    ],
)
def test_tensor_instructions_may_stand_below_the_opcodes_that_are_listed(
    more: dict[str, float], opcodes: dict[str, float], no_fault: bool
) -> None:
    """flash_attention on an H200: 16 HGMMA of 1032 instructions, tensor pipe 37.2 % busy."""
    stage = stage_of(more, opcodes=opcodes)
    assert stage.opcodes is not None
    static = msgspec.structs.replace(stage.opcodes, source="static")
    found = diagnose_stage(msgspec.structs.replace(stage, opcodes=static), HOPPER, None)
    text = row(found, "TC Util").guard
    assert ("no tensor instructions" in text) is no_fault


def test_executed_opcodes_without_a_tensor_instruction_prove_that_there_was_none() -> None:
    """tail_wave of zoo_a: the counter reads 1.4 % though no tensor instruction was executed."""
    found = diagnose_stage(stage_of({"tensor": 1.4}, opcodes={"FFMA": 60.0}), HOPPER, None)
    assert row(found, "TC Util").guard == (
        "TC 1.4 % is no fault: the kernel has no tensor instructions"
    )
