"""A rule that lacks a fact says so and stays silent; nothing is assumed to be 0."""

import pytest
from tests.analyse.stages import HOPPER, stage_of

from mla_var3.analyse.diagnose import diagnose_stage

RULES = {
    "tensor": "tensor pipe (TC %) (class by TC % and DRAM %)",
    "dram": "DRAM throughput (class by TC % and DRAM %)",
    "duration": "Duration (short launch)",
    "l2": "L2 throughput (L2 roof)",
    "l1_data": "L1 data-pipe wavefronts (L1 roof)",
    "fp64": "FP64 pipe (pipe roofs)",
    "active_share": "active share of the SMs (fill of the SMs)",
    "sm_count": "SMs (fill of the SMs)",
    "occupancy": "Achieved occupancy (occupancy)",
}


@pytest.mark.parametrize("key", list(RULES))
def test_a_missing_fact_is_named_with_its_rule(key: str) -> None:
    found = diagnose_stage(stage_of({key: None}), HOPPER, None)
    assert f"not decidable: missing {RULES[key]}" in found.not_checked


@pytest.mark.parametrize("key", ["tensor", "dram", "l2", "l1_data", "lsu_requests", "fma", "issue"])
def test_latency_needs_every_roof(key: str) -> None:
    full = diagnose_stage(stage_of(stalls={"barrier": 50}), HOPPER, None)
    assert (full.bound, full.cause) == ("Latency", "stall_barrier")
    found = diagnose_stage(stage_of({key: None}, stalls={"barrier": 50}), HOPPER, None)
    assert (found.bound, found.confidence) == ("Unknown", "none")
    assert found.limiter.startswith("not decidable: missing ")
    assert found.opportunities == ()


def test_a_high_figure_decides_alone_but_only_with_medium_confidence() -> None:
    tensor = diagnose_stage(stage_of({"tensor": 90.0, "dram": None}), HOPPER, None)
    assert (tensor.seed_class, tensor.bound, tensor.confidence) == ("Unknown", "Compute", "medium")
    dram = diagnose_stage(stage_of({"dram": 90.0, "tensor": None}), HOPPER, None)
    assert (dram.seed_class, dram.bound, dram.confidence) == ("Unknown", "Memory", "medium")


def test_a_certain_access_pattern_decides_with_low_confidence() -> None:
    found = diagnose_stage(stage_of({"l2": None, "sectors_per_load": 32.0}), HOPPER, None)
    assert (found.bound, found.cause, found.confidence) == ("Memory", "uncoalesced", "low")


def test_local_traffic_without_global_counters_is_not_judged() -> None:
    found = diagnose_stage(stage_of({"local_load_sectors": 1e6}), HOPPER, None)
    assert found.cause != "spill"
    assert "not decidable: missing global sectors (share of local memory)" in found.not_checked


def test_not_applicable_is_not_missing() -> None:
    tma = "not applicable: no global load went through the load/store unit (TMA)"
    stage = stage_of({"shared_wavefronts": 1e6, "shared_wavefronts_excess": 0.0})
    stage.missing["global_sectors"] = tma
    assert not any("coalescing" in line for line in diagnose_stage(stage, HOPPER, None).not_checked)
    stage.missing["global_sectors"] = "not collected"
    assert any("(coalescing)" in line for line in diagnose_stage(stage, HOPPER, None).not_checked)


def test_the_reason_of_a_missing_figure_reaches_the_table() -> None:
    stage = stage_of({"tensor": None})
    stage.missing["tensor"] = "the counter gave no number (nan)"
    row = diagnose_stage(stage, HOPPER, None).rows[0]
    assert (row.metric, row.shown, row.healthy) == ("TC Util", "n/a", None)
    assert row.reason == "the counter gave no number (nan)"
