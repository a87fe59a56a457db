"""The verdict on a whole profile, by time."""

import pytest
from tests.analyse.stages import HOPPER, NO_ROOFS, profile_of, stage_of

from mla_var3.analyse.diagnose import diagnose
from mla_var3.core.record import Check, Profile

UNKNOWN = dict.fromkeys(NO_ROOFS)


def test_the_class_with_most_time_wins_and_not_the_most_stages() -> None:
    stages = [
        stage_of({"duration": 100e3, "fma": 90.0}, name="a"),
        stage_of({"duration": 100e3, "fma": 90.0}, name="b"),
        stage_of({"duration": 300e3, "l2": 90.0}, name="c"),
    ]
    whole = diagnose(profile_of(*stages), None)
    assert whole.bound == "Memory"
    assert whole.root_cause.startswith("c (60 % of the time): L2 bandwidth")
    assert whole.total_ns == 500e3


def test_unknown_only_if_all_are() -> None:
    unknown = stage_of(UNKNOWN | {"duration": 900e3}, name="a")
    known = stage_of({"duration": 10e3, "fma": 90.0}, name="b")
    assert diagnose(profile_of(unknown, known), None).bound == "Compute"
    whole = diagnose(profile_of(unknown), None)
    assert (whole.bound, whole.confidence) == ("Unknown", "none")
    assert whole.opportunities == ()


def test_opportunities_are_weighted_by_the_share_of_the_time() -> None:
    stages = [
        stage_of({"duration": 100e3, "l2": 20.0}, stalls={"barrier": 80.0}, name="short"),
        stage_of({"duration": 300e3, "l2": 20.0}, stalls={"wait": 40.0}, name="long"),
    ]
    found = diagnose(profile_of(*stages), None).opportunities
    assert [(item.name, item.gain_pct) for item in found] == [
        ("long: more independent instructions a warp", pytest.approx(30.0)),  # 40 % of 3/4
        ("short: loosen the barriers", pytest.approx(20.0)),  # 80 % of 1/4
    ]


def test_what_weighs_less_than_two_percent_is_left_out() -> None:
    stages = [
        stage_of({"duration": 10e3, "l2": 20.0}, stalls={"barrier": 80.0}, name="short"),
        stage_of({"duration": 990e3, "fma": 99.0}, name="long"),
    ]
    assert diagnose(profile_of(*stages), None).opportunities == ()


def test_launches_of_one_kernel_are_weighed_together() -> None:
    waits = {"long_scoreboard": 50.0}
    small = [
        stage_of({"duration": 10e3, "l2": 20.0}, stalls=waits, name="gather" + number)
        for number in ("", "#2", "#3", "#4", "#5")
    ]
    whole = diagnose(profile_of(*small, stage_of({"duration": 950e3, "fma": 99.0}, name="a")), None)
    # one launch of 1 % would save 0.5 %, which is not worth a line; the five save 2.5 %
    assert [(item.name, item.gain_pct) for item in whole.opportunities] == [
        ("gather (5 launches): keep more bytes in flight", pytest.approx(2.5))
    ]


def test_the_root_cause_is_of_the_kernel_with_most_time_not_of_the_longest_launch() -> None:
    often = [
        stage_of({"duration": 100e3, "fma": 90.0}, name="often" + number)
        for number in ("", "#2", "#3")
    ]
    once = stage_of({"duration": 200e3, "issue": 90.0}, name="once")
    whole = diagnose(profile_of(once, *often), None)
    assert whole.root_cause.startswith("often (3 launches, 60 % of the time): ")


def test_launches_with_another_grid_are_another_kernel() -> None:
    stages = [
        stage_of({"duration": 100e3, "fma": 90.0}, name=f"k [grid {grid}]") for grid in (8, 16, 32)
    ]
    longest = stage_of({"duration": 101e3, "fma": 90.0}, name="k [grid 64]")
    whole = diagnose(profile_of(*stages, longest), None)
    assert whole.root_cause.startswith("k [grid 64] (25 % of the time): ")


def test_isolated_stages_are_never_added_up() -> None:
    alone = {"isolated": True, "sms_given": 40}
    stages = [
        stage_of({"grid_size": 40, "waves": 0.4, "active_share": 38.0}, name="a", **alone),
        stage_of(name="b", isolated=True),
    ]
    whole = diagnose(profile_of(*stages), None)
    assert whole.total_ns is None
    assert any("times do not add up" in note for note in whole.notes)
    assert whole.stages[0].cause != "underfilled"  # it fills the 40 SMs that it is given
    shared = stage_of({"grid_size": 40, "waves": 0.4, "active_share": 38.0}, name="a")
    assert diagnose(profile_of(shared), None).stages[0].cause == "underfilled"


def test_a_missing_duration_leaves_no_total_and_equal_shares() -> None:
    stages = [stage_of({"duration": None, "fma": 90.0}, name=name) for name in "ab"]
    whole = diagnose(profile_of(*stages), None)
    assert (whole.total_ns, whole.bound) == (None, "Compute")
    assert whole.root_cause.startswith("a: ")


def test_an_interrupted_launch_is_named() -> None:
    good = stage_of(name="a")
    bad = stage_of({"duration": None, "grid_size": None}, name="b", interrupted=True)
    profile = profile_of(good, bad, status="PARTIAL", failure="interrupted inside b")
    whole = diagnose(profile, None)
    assert any("interrupted inside b" in note for note in whole.notes)
    assert [stage.confidence for stage in whole.stages] == ["medium", "none"]


def test_records_without_numbers_are_unknown_with_their_reason() -> None:
    failed = Profile(
        mode="ncu", status="KERNEL_FAILED", stages=(), failure="illegal address", environment=HOPPER
    )
    assert diagnose(failed, None).root_cause == "illegal address"
    wrong = Profile(
        mode="ncu",
        status="CHECK_FAILED",
        stages=(),
        failure="relative error 0.3",
        check=Check(passed=False),
    )
    whole = diagnose(wrong, None)
    assert (whole.bound, whole.confidence, whole.root_cause) == (
        "Unknown",
        "none",
        "relative error 0.3",
    )


def test_balanced_names_both_roofs() -> None:
    found = diagnose(profile_of(stage_of({"tensor": 82.0, "dram": 85.0})), None)
    assert found.bound == "Balanced"
    assert found.root_cause == "Both roofs within 3 %: tensor pipe 82.0 % and DRAM 85.0 %."
