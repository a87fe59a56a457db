"""What to try is a concrete action, capped by physics, largest first."""

from collections.abc import Callable

import pytest
from tests.analyse.stages import H200, HOPPER, stage_of

from mla_var3.analyse.diagnose import diagnose, diagnose_stage
from mla_var3.analyse.knowledge import knowledge
from mla_var3.core.device import Device
from mla_var3.core.diagnosis import Opportunity
from mla_var3.core.record import Profile, Rule

WASTE = ("bank_conflict", "uncoalesced", "spill", "divergence", "lanes")


def rule(name: str, speedup: float, scope: str = "GLOBAL", title: str = "") -> Rule:
    return Rule(
        section="S",
        rule=name,
        type="OPTIMIZATION",
        title=title,
        scope=scope,  # type: ignore[arg-type]
        speedup_pct=speedup,
    )


def offered(
    facts: dict[str, float | None], *rules: Rule, **fields: object
) -> dict[str, Opportunity]:
    stage = stage_of(facts, rules=rules, **fields)  # type: ignore[arg-type]
    found = diagnose_stage(stage, HOPPER, None).opportunities
    return {item.name: item for item in found}


def test_the_roofline_gap_caps_a_stall() -> None:
    found = offered({"l2": 55.0, "sm_clock": 1.5e9}, stalls={"long_scoreboard": 80.0})
    item = found["keep more bytes in flight"]
    assert item.gain_pct == pytest.approx(45.0)
    assert item.bound == "roofline gap at 1.50 GHz"
    assert item.trigger == "stall_long_scoreboard=80 %"


def test_the_own_bound_caps_where_it_is_lower() -> None:
    item = offered({}, stalls={"long_scoreboard": 40.0})["keep more bytes in flight"]
    assert (item.gain_pct, item.bound) == (40.0, "share of the warp latency")


def test_mending_bank_conflicts_frees_the_unit_that_they_fill() -> None:
    facts = {"l1": 96.0, "l1_data": 96.0, "shared_wavefronts": 100.0}
    found = offered(facts | {"shared_wavefronts_excess": 75.0})
    # L1 falls to 24 %, and three quarters of the wavefronts are the own bound
    assert found["pad or swizzle the shared-memory tile"].gain_pct == pytest.approx(75.0)


def test_coalescing_is_capped_by_the_next_unit() -> None:
    facts = {"l2": 90.0, "dram": 45.0, "global_sectors": 100.0, "global_sectors_excess": 80.0}
    item = offered(facts)["coalesce the global accesses"]
    assert item.gain_pct == pytest.approx(55.0)  # DRAM stays at 45 %


def test_the_measured_ceiling_and_not_the_peak_is_the_roof_of_dram() -> None:
    facts = {"dram": 74.0, "duration": 1e6, "dram_read_bytes": 3.4e9, "dram_write_bytes": 160e6}
    found = diagnose_stage(stage_of(facts), HOPPER, H200)
    assert "83 % of the measured copy ceiling" in found.limiter  # 3560 of 4270 GB/s
    assert found.opportunities[0].gain_pct == pytest.approx(100.0 - 100 * 3560 / 4270, abs=0.1)
    near = diagnose_stage(stage_of(facts | {"dram_read_bytes": 3.9e9}), HOPPER, H200)
    assert near.opportunities == ()
    assert near.key_issue == "at the roof: 95 % of the measured copy rate"


def test_without_a_measured_ceiling_the_practical_one_holds() -> None:
    found = diagnose_stage(stage_of({"dram": 86.0}), HOPPER, None)
    assert "practical ceiling is 80-90 %" in found.limiter
    assert found.opportunities == ()


def test_nothing_above_two_percent_reads_at_the_roof() -> None:
    found = diagnose_stage(stage_of({"xu": 98.5}), HOPPER, None)
    assert found.opportunities == ()
    assert found.key_issue == "at the roof: SFU (XU) pipe 98.5 % busy"


def test_wider_accesses_save_instructions() -> None:
    facts = {"lsu_requests": 92.0, "l1": 92.0, "sectors_per_load": 4.0, "l1_shared": 0.0}
    item = offered(facts)["wider loads and stores (128 bits a lane)"]
    assert item.gain_pct == pytest.approx(75.0)  # 4 of 16 sectors a request


def test_ignored_rules_are_never_offered() -> None:
    names = [rule(name, 90.0 - n) for n, name in enumerate(knowledge().ignored_rules)]
    assert not any(item.origin == "ncu rule" for item in offered({}, *names).values())


def test_global_before_local_and_one_of_an_equal_number() -> None:
    equal = [
        rule("TheoreticalOccupancy", 53.3),
        rule("WorkloadImbalance", 53.3, title="SMs Workload Imbalance"),
    ]
    facts = {"eligible_warps": 0.4, "occupancy": 40.0}
    stalls = {"wait": 20.0, "barrier": 18.0}
    found = offered(facts, *equal, stalls=stalls)
    assert [item.origin for item in found.values()].count("ncu rule") == 1
    local = [
        rule("FPInstructions", 99.0, scope="LOCAL"),
        rule("TheoreticalOccupancy", 30.0),
    ]
    assert "fuse adds and multiplies into FFMA" not in offered(facts, *local, stalls=stalls)


def test_occupancy_rules_are_dropped_where_occupancy_is_no_cause() -> None:
    rules = (rule("TheoreticalOccupancy", 50.0), rule("AchievedOccupancy", 40.0))
    for facts in ({"tensor": 90.0}, {"eligible_warps": 3.0}, {"fma": 80.0}):
        assert "more warps an SM" not in offered(facts | {"occupancy": 12.0}, *rules)


def test_a_stall_behind_a_busy_unit_is_its_queue() -> None:
    queue = rule("CPIStall", 40.0, title="LG Throttle Stalls")
    found = offered({"l2": 75.0}, queue, stalls={"lg_throttle": 60.0})
    assert list(found) == ["lower the L2 traffic"]


@pytest.mark.parametrize("name", ["zoo_a", "attention_full", "cutile_mla", "triton_ops"])
def test_recorded_gains_keep_below_their_gap(
    recorded: Callable[[str], Profile], h200: Device, name: str
) -> None:
    profile = recorded(name)
    for stage, found in zip(profile.stages, diagnose(profile, h200).stages, strict=True):
        units = ("tensor", "dram", "l2", "l1", "l1_data", "fma", "alu", "xu", "fp64", "issue")
        highest = max(stage.value(key) or 0.0 for key in units)
        gains = [item.gain_pct for item in found.opportunities]
        assert gains == sorted(gains, reverse=True)
        family = found.cause == "tensor" and "HMMA (mma.sync)" in found.limiter
        if found.cause not in WASTE and not family:
            assert all(gain <= 100.0 - highest + 0.05 for gain in gains)
