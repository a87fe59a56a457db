"""What public reports hold that is odd, each read the right way."""

import pytest
from tests.analyse.stages import H200, HOPPER, NO_ROOFS, profile_of, stage_of

from mla_var3.analyse.diagnose import diagnose, diagnose_stage
from mla_var3.core.diagnosis import Diagnosis
from mla_var3.core.record import Environment


def row(found: Diagnosis, key: str) -> tuple[str, bool | None, str]:
    """Value, health and reason of one line of the spec's table."""
    item = next(item for item in found.rows if item.key == key)
    return item.shown, item.healthy, item.reason


@pytest.mark.parametrize("value", [105.5, 140.0, 4000.0])
def test_oddity_08_a_percentage_over_105_lowers_the_confidence(value: float) -> None:
    found = diagnose_stage(stage_of({"l2": value}), HOPPER, None)
    assert found.confidence == "low"
    assert any("misreads" in note and f"{value:.0f} %" in note for note in found.notes)
    assert f"{value:.1f}" not in found.limiter
    assert "over 100 %" in found.limiter


def test_oddity_08_a_little_over_100_reads_100() -> None:
    found = diagnose_stage(stage_of({"dram": 103.0}), HOPPER, None)
    assert found.confidence == "high"
    assert "DRAM 100.0 %" in found.limiter


def test_oddity_08_a_hit_rate_over_100_is_no_rate() -> None:
    found = diagnose_stage(stage_of({"l2_hit": 409.0}), HOPPER, None)
    shown, healthy, reason = row(found, "l2_hit")
    assert (shown, healthy) == ("n/a", None)
    assert "409 %" in reason
    assert found.confidence == diagnose_stage(stage_of(), HOPPER, None).confidence


def test_oddity_08_below_zero_is_missing() -> None:
    found = diagnose_stage(stage_of({"tensor": -3.0}), HOPPER, None)
    assert row(found, "tensor") == ("n/a", None, "reads -3, below zero")
    assert found.bound == "Unknown"
    assert "not decidable: missing tensor pipe (TC %)" in found.limiter


def test_oddity_08_occupancy_of_104_7_is_full() -> None:
    found = diagnose_stage(stage_of({"occupancy": 104.7}), HOPPER, None)
    assert row(found, "occupancy")[:2] == ("100.0 %", True)


def test_oddity_12_sm_equal_to_memory_is_one_counter_not_balanced() -> None:
    twin = {"sm_throughput": 77.123, "memory_throughput": 77.123, "lsu_requests": 77.123}
    found = diagnose_stage(stage_of(twin | {"l1": 77.123}), HOPPER, None)
    assert (found.bound, found.cause) == ("Memory", "l1")
    assert any("are one counter (LSU requests 77.1 %)" in note for note in found.notes)
    apart = diagnose_stage(stage_of(twin | {"memory_throughput": 77.3}), HOPPER, None)
    assert not any("one counter" in note for note in apart.notes)


@pytest.mark.parametrize(
    ("facts", "cause", "unit"),
    [
        ({"l1": 92.0, "l1_data": 92.0, "memory_throughput": 92.0}, "uncoalesced", "L1"),
        ({"l2": 92.0, "memory_throughput": 92.0}, "l2", "L2"),
    ],
)
def test_oddity_13_memory_over_80_with_an_idle_dram(
    facts: dict[str, float], cause: str, unit: str
) -> None:
    found = diagnose_stage(stage_of(facts | {"dram": 9.0}), HOPPER, None)
    assert (found.bound, found.cause) == ("Memory", cause)
    assert any(
        f"Memory 92.0 % is {unit}, not DRAM (9.0 %)" == item.text for item in found.counter_evidence
    )


@pytest.mark.parametrize(
    ("facts", "cause"),
    [
        ({"atomic_unit": 1.0, "atomic_unit_max": 33.3}, "atomics"),
        ({"block_size": 1}, "lanes"),
        ({"grid_size": 1, "waves": 0.01, "active_share": 1.0}, "underfilled"),
        ({"grid_size": 40, "waves": 0.4, "active_share": 40.0}, "underfilled"),
    ],
)
def test_oddity_14_both_low_has_at_least_four_causes(facts: dict[str, float], cause: str) -> None:
    found = diagnose_stage(stage_of(facts), HOPPER, None)
    assert (found.seed_class, found.bound, found.cause) == ("Latency", "Latency", cause)


def test_oddity_15_only_random_generators() -> None:
    names = ("void at::native::distribution_elementwise_grid_stride_kernel<float>", "FillFunctor")
    stages = [stage_of(name=f"s{n}", kernel=kernel) for n, kernel in enumerate(names)]
    whole = diagnose(profile_of(*stages), None)
    assert any("only kernels that make test data (s0, s1)" in note for note in whole.notes)
    real = stage_of(name="mine", kernel="attention(float*)")
    assert not any("test data" in note for note in diagnose(profile_of(*stages, real), None).notes)


def test_oddity_15_launch_0_may_be_a_warm_up() -> None:
    slow, fast = stage_of({"duration": 500e3}), stage_of({"duration": 300e3}, name="k#2")
    notes = diagnose(profile_of(slow, fast), None).notes
    assert notes == ("launch 0 (k) may be a warm-up",)
    equal = stage_of({"duration": 301e3})
    assert diagnose(profile_of(equal, fast), None).notes == ()


def test_oddity_18_a_low_clock_is_a_note_and_no_class() -> None:
    low = {"sm_clock": 1.1e9, "sm_clock_max": 1.965e6, "tensor": 80.0}
    slow = diagnose_stage(stage_of(low), HOPPER, None)
    full = diagnose_stage(stage_of(low | {"sm_clock": 1.965e9}), HOPPER, None)
    assert (slow.bound, slow.cause, slow.confidence) == (full.bound, full.cause, full.confidence)
    lost = "SM clock 1.10 of 1.97 GHz: 44 % of the peak is lost to power or clock settings"
    assert lost in slow.notes
    assert lost not in full.notes


def test_a_launch_that_was_interrupted_is_not_judged() -> None:
    gone = dict.fromkeys(("duration", "grid_size", "block_size", "registers", *NO_ROOFS))
    found = diagnose_stage(stage_of(gone, interrupted=True), HOPPER, H200)
    assert (found.seed_class, found.bound, found.confidence) == ("Unknown", "Unknown", "none")
    assert "stopped inside this launch" in found.limiter
    assert found.opportunities == ()


def test_interrupted_is_also_seen_without_the_mark() -> None:
    found = diagnose_stage(stage_of({"duration": None, "grid_size": None}), Environment(), None)
    assert (found.bound, found.confidence) == ("Unknown", "none")
