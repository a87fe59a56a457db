"""Every line that decides a verdict, tried on both of its sides."""

import pytest
from tests.analyse.stages import HOPPER, stage_of

from mla_var3.analyse.diagnose import diagnose_stage

ISSUE = {"issue": 62.0}
L2 = {"l2": 80.0}
SPILL = {"global_load_sectors": 1e6, "global_store_sectors": 0, "local_store_sectors": 0}
TAIL = {"waves": 1.25, "grid_size": 125}  # a quarter of the second wave: loss 37.5 %


def cause(facts: dict[str, float], stalls: dict[str, float] | None = None) -> str:
    return diagnose_stage(stage_of(facts, stalls), HOPPER, None).cause


@pytest.mark.parametrize(
    ("below", "above", "name"),
    [
        # local of local + global sectors: 10 % is 1 of 10, so 111.1 k of 1111.1 k
        (SPILL | {"local_load_sectors": 110_000}, SPILL | {"local_load_sectors": 112_000}, "spill"),
        (TAIL | {"active_share": 85.5}, TAIL | {"active_share": 84.5}, "tail"),
        ({"active_share": 60.5}, {"active_share": 59.5}, "small_launch"),
        (ISSUE | {"lanes": 16.5}, ISSUE | {"lanes": 15.5}, "divergence"),
        ({"lanes": 8.0, "issue": 39.5}, {"lanes": 8.0, "issue": 40.5}, "divergence"),
        (
            L2 | {"global_sectors": 1000, "global_sectors_excess": 245},
            L2 | {"global_sectors": 1000, "global_sectors_excess": 255},
            "uncoalesced",
        ),
        (L2 | {"sectors_per_load": 19.5}, L2 | {"sectors_per_load": 20.5}, "uncoalesced"),
        (
            L2 | {"sectors_per_load": 6.5, "bytes_per_sector_load": 16.5},
            L2 | {"sectors_per_load": 6.5, "bytes_per_sector_load": 15.5},
            "uncoalesced",
        ),
        (
            L2 | {"sectors_per_load": 5.5, "bytes_per_sector_load": 8.0},
            L2 | {"sectors_per_load": 6.5, "bytes_per_sector_load": 8.0},
            "uncoalesced",
        ),
        ({"l2": 59.5}, {"l2": 60.5}, "l2"),
        ({"tensor": 59.5}, {"tensor": 60.5}, "tensor"),
        (
            {"atomic_unit": 1.0, "atomic_unit_max": 24.5},
            {"atomic_unit": 1.0, "atomic_unit_max": 25.5},
            "atomics",
        ),
        (
            {"atomic_unit": 10.5, "atomic_unit_max": 50.0},
            {"atomic_unit": 9.5, "atomic_unit_max": 50.0},
            "atomics",
        ),
    ],
)
def test_both_sides_of_a_line(below: dict[str, float], above: dict[str, float], name: str) -> None:
    assert cause(below) != name
    assert cause(above) == name


def test_both_sides_of_the_named_stall() -> None:
    others = {"barrier": 20.0}
    assert cause({}, {"long_scoreboard": 29.5} | others) == "mixed"
    assert cause({}, {"long_scoreboard": 30.5} | others) == "stall_long_scoreboard"


@pytest.mark.parametrize(("tensor", "cause_"), [(40.0, "phases"), (38.0, "mixed")])
def test_both_sides_of_the_alternating_phases(tensor: float, cause_: str) -> None:
    stalls = {"barrier": 20.0, "wait": 20.0}
    assert cause({"tensor": tensor, "issue": 36.0}, stalls) == cause_  # 76 and 74 of 75 %


def test_both_sides_of_bank_conflicts() -> None:
    full = {"l1": 90.0, "l1_data": 90.0, "l1_shared": 80.0, "shared_wavefronts": 1000}
    assert cause(full | {"shared_wavefronts_excess": 95}) == "l1"
    assert cause(full | {"shared_wavefronts_excess": 105}) == "bank_conflict"


@pytest.mark.parametrize(
    ("facts", "confidence"),
    [
        ({"l2": 69.5}, "medium"),
        ({"l2": 70.5}, "high"),
        ({"dram": 79.5}, "medium"),
        ({"dram": 80.5}, "high"),
        ({"l2": 90.0, "duration": 4_900}, "low"),
        ({"l2": 90.0, "duration": 5_100}, "high"),
        ({"l2": 90.0, "occupancy": 104.5}, "high"),
        ({"l2": 90.0, "occupancy": 105.5}, "low"),
    ],
)
def test_both_sides_of_the_confidence(facts: dict[str, float], confidence: str) -> None:
    facts = {"fma_heavy": 1.0, **facts}
    assert diagnose_stage(stage_of(facts), HOPPER, None).confidence == confidence


def test_an_empty_machine_is_told_before_a_busy_dram() -> None:
    assert cause(TAIL | {"active_share": 70.0, "dram": 75.0}) == "tail"
    assert cause({"active_share": 97.0, "dram": 75.0}) == "dram"


def test_local_memory_is_told_before_an_empty_machine() -> None:
    assert cause(TAIL | {"active_share": 70.0} | SPILL | {"local_load_sectors": 1e6}) == "spill"


@pytest.mark.parametrize(("hit", "told"), [(55.0, True), (120.0, False)])
def test_a_hit_rate_above_100_is_not_told_as_one(hit: float, told: bool) -> None:
    reads = {"dram_read_bytes": 2e9, "compulsory_read_bytes": 1e9}
    found = diagnose_stage(stage_of({"dram": 75.0, "l2_hit": hit, **reads}), HOPPER, None)
    texts = " ".join(item.text for item in found.evidence)
    assert "DRAM reads are 2" in texts
    assert ("L2 hit" in texts) is told


def test_waiting_for_the_tensor_core_is_no_cause() -> None:
    waits = {"gmma": 45.0, "barrier": 20.0, "wait": 10.0}
    assert cause({"tensor": 30.0, "issue": 20.0}, waits) == "mixed"
    assert cause({"tensor": 50.0, "issue": 30.0}, waits) == "phases"
