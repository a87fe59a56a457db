"""NVIDIA's recommendations: order, equal numbers, what does not hold, and the lower bound."""

from collections.abc import Callable

import pytest
from tests.analyse.stages import HOPPER, stage_of
from tests.analyse.test_opportunities import rule

from mla_var3.analyse.knowledge import knowledge, limit
from mla_var3.analyse.recommendations import recommendations
from mla_var3.conf import table
from mla_var3.core.device import Device
from mla_var3.core.recommendation import Recommendation
from mla_var3.core.record import Profile, Rule, Stage

ALTERNATING = {"tensor": 40.0, "issue": 38.0}
"""No roof at 60 %, no stall at 30 %: the phases alternate, 60 % are above the highest roof."""


def judged(
    facts: dict[str, float | None], *rules: Rule, **fields: object
) -> dict[str, Recommendation]:
    """By title, in their order."""
    stage = stage_of(facts, rules=rules, **fields)  # type: ignore[arg-type]
    return {item.title: item for item in recommendations(stage, HOPPER, None)}


def of_kernel(profile: Profile, name: str, h200: Device) -> dict[str, Recommendation]:
    stage: Stage = next(stage for stage in profile.stages if stage.name == name)
    found = recommendations(stage, profile.environment, h200)
    return {item.title: item for item in found}


def kept(found: dict[str, Recommendation]) -> list[str]:
    return [title for title, item in found.items() if not item.dropped]


def test_global_before_local_then_the_larger_number() -> None:
    rules = (
        rule("SomeRule", 50.0, "LOCAL", "local"),
        rule("OtherRule", 10.0, "GLOBAL", "small"),
        rule("ThirdRule", 20.0, "GLOBAL", "large"),
    )
    found = judged(ALTERNATING, *rules)
    assert list(found) == kept(found) == ["large", "small", "local"]


def test_an_equal_number_is_said_once_and_nothing_is_added() -> None:
    """The recorded latent kernel: 62.23 = 100 - 37.77, its highest unit, stands twice."""
    rules = (rule("A", 60.0, title="first"), rule("B", 60.0, "LOCAL", "second"))
    found = judged(ALTERNATING, *rules)
    assert kept(found) == ["first"]
    assert found["second"].dropped.startswith("the number of first again (60.0 %)")


def test_a_change_of_its_own_stands_though_a_dropped_one_bears_its_number() -> None:
    """35 = 100 less the busiest unit, of the warps that cannot help and of the stall that holds."""
    rules = (
        rule("AchievedOccupancy", 35.0, title="more warps"),
        rule("CPIStall", 35.0, title="Long Scoreboard Stalls"),
        rule("A", 35.0, "LOCAL", "no change of its own"),
    )
    found = judged({}, *rules, stalls={"long_scoreboard": 60.0, "wait": 20.0, "selected": 20.0})
    assert next(iter(found)) == "more warps" and found["more warps"].dropped
    assert kept(found) == ["Long Scoreboard Stalls"]
    assert found["no change of its own"].dropped.startswith("the number of")


def test_ours_is_the_room_above_the_highest_roof() -> None:
    found = judged({"l2": 55.0, "sm_clock": 1.5e9}, rule("A", 80.0, title="a"))
    assert found["a"].ncu_pct == 80.0
    assert found["a"].ours_pct == pytest.approx(45.0)  # 100 - 55
    assert found["a"].bound == "roofline gap at 1.50 GHz"


def test_a_stall_is_worth_at_most_its_share_of_the_latency() -> None:
    stalls = {"long_scoreboard": 41.0, "wait": 20.0, "selected": 39.0}
    found = judged({}, rule("CPIStall", 70.0, title="Long Scoreboard Stalls"), stalls=stalls)
    item = found["Long Scoreboard Stalls"]
    assert (item.ours_pct, item.bound) == (41.0, "share of the warp latency")
    assert item.action == knowledge().actions["more_in_flight"].name


def test_below_two_percent_of_ours_it_is_dropped() -> None:
    found = judged({"l2": 98.5}, rule("A", 30.0, title="a"))
    assert found["a"].dropped == "at most 1.5 % by our bound: below 2.0 %"
    assert limit("gain_least") == 2


@pytest.mark.parametrize(
    ("facts", "name", "dropped"),
    [
        ({"tensor": 95.0}, "IssueSlotUtilization", True),
        ({"tensor": 95.0}, "TheoreticalOccupancy", True),
        ({"dram": 90.0}, "IssueSlotUtilization", True),
        ({"dram": 90.0}, "HighPipeUtilization", True),
        (ALTERNATING, "IssueSlotUtilization", False),
        (ALTERNATING, "HighPipeUtilization", True),
        (ALTERNATING, "MemoryL2Compression", True),
    ],
)
def test_what_says_nothing_under_a_limit(
    facts: dict[str, float | None], name: str, dropped: bool
) -> None:
    (item,) = judged(facts, rule(name, 4.0)).values()
    assert bool(item.dropped) == dropped
    reasons = {drop["reason"] for drop in table("ncu")["drop"] if drop["rule"] == name}
    assert not dropped or item.dropped in reasons


def test_rules_that_ask_for_nothing_are_none() -> None:
    fine = Rule(section="S", rule="A", type="OK", title="fine", speedup_pct=9.0, scope="GLOBAL")
    silent = Rule(section="S", rule="B", type="OPTIMIZATION", title="silent")
    found = judged(ALTERNATING, fine, silent)
    assert list(found) == ["silent"]
    assert found["silent"].dropped == "ncu gives no estimate"


def test_the_latent_kernel_as_recorded(recorded: Callable[[str], Profile], h200: Device) -> None:
    """ncu says 48.3 % of Long Scoreboard, which has 47.6 % of the warps' latency."""
    found = of_kernel(recorded("cutile_mla"), "flash_mla", h200)
    assert kept(found) == ["Long Scoreboard Stalls", "Small Grid", "FP32 Non-Fused Instructions"]
    item = found["Long Scoreboard Stalls"]
    stalls = recorded("cutile_mla").stages[0].stalls
    assert stalls is not None
    assert item.ours_pct == round(stalls.parts["long_scoreboard"], 1) < (item.ncu_pct or 0.0)
    assert "by design" in found["Theoretical occupancy"].dropped
    assert found["Issue slot utilization"].dropped.startswith("the number of Theoretical")


def test_one_change_is_asked_for_once(recorded: Callable[[str], Profile], h200: Device) -> None:
    """Bank conflicts by three rules; ours counts that padding lowers the full L1 too."""
    found = of_kernel(recorded("zoo_a"), "bank_conflict", h200)
    assert kept(found) == ["Shared Load Bank Conflicts"]
    assert (found["Shared Load Bank Conflicts"].ours_pct or 0.0) > 90.0
    told = "asks for the same change as Shared Load Bank Conflicts"
    assert found["Shared Store Bank Conflicts"].dropped == told
    assert found["Uncoalesced shared accesses"].dropped == told


@pytest.mark.parametrize("name", ["copy_k", "nvjet_sm90_tst_320x128_64x3_1x2_h_bz_co…"])
def test_kernels_at_their_roof_are_left_in_peace(
    name: str, recorded: Callable[[str], Profile], h200: Device
) -> None:
    found = of_kernel(recorded("attention_full"), name, h200)
    assert len(found) >= 5 and kept(found) == []
