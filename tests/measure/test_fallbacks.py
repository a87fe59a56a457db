"""Fall-back names: another name gives nearly the same value, else the fact is missing."""

import dataclasses
import math
from collections.abc import Callable

import pytest
from tests.measure.conftest import NAMES
from tests.support.fake_report import NO_VALUE, FakeLaunch, launch, profile_of

from mla_var3.core.record import Profile, Stage
from mla_var3.measure.ncu_reader.facts import read_facts
from mla_var3.measure.ncu_reader.readings import LaunchCounters
from mla_var3.measure.ncu_reader.table import facts_by_key

Copies = Callable[[str], list[FakeLaunch]]
E, A = ".avg.pct_of_peak_sustained_elapsed", ".avg.pct_of_peak_sustained_active"
# fall-backs that measure something near, not the same: instructions for cycles, a part for all
NEAR_ONLY = {
    "cycles_active", "cycles_elapsed", "cycles_active_min", "cycles_active_max", "l1_data", "l2",
    "l1_shared", "l1_writeback", "fma", "alu", "fp64", "issue", "l2_hit", "l1_hit", "dram", "lanes",
    "atomics", "active_share", "fma_heavy", "sm_clock", "duration", "xu", "uniform", "tensor",
    "local_instructions", "spill_requests",
}  # fmt: skip


def facts(edited: FakeLaunch) -> tuple[dict[str, float], dict[str, str], dict[str, str]]:
    metrics, missing = read_facts(LaunchCounters(edited), "GH100")
    values = {key: float(metric.value) for key, metric in metrics.items()}
    assert all(math.isfinite(value) for value in values.values())
    assert all(missing.values())
    return values, missing, {key: metric.raw for key, metric in metrics.items()}


def sound(stage: Stage) -> None:
    assert set(stage.metrics) | set(stage.missing) == set(facts_by_key())
    assert all(math.isfinite(metric.value) for metric in stage.metrics.values())


@pytest.mark.parametrize("name", NAMES)
def test_removing_any_raw_name_falls_back_or_is_missing(copies: Copies, name: str) -> None:
    original = copies(name)[0]
    asked = original.edited()
    before, _, raw_before = facts(asked)
    # a name that was never looked up cannot matter
    for removed in sorted(asked.asked & set(original.metrics)):
        edited = original.edited()
        del edited.metrics[removed]
        after, missing, raw_after = facts(edited)
        for key, value in before.items():
            if raw_after.get(key) == raw_before[key]:
                assert after[key] == pytest.approx(value, rel=1e-9), (removed, key)
            elif key in after and key not in NEAR_ONLY:
                assert after[key] == pytest.approx(value, rel=0.02, abs=0.05), (removed, key)
            elif key not in after:
                assert missing[key]


@pytest.mark.parametrize("bad", [NO_VALUE, math.nan, -math.inf, None, "n/a", "", 1e400])
def test_bad_values_are_never_taken_for_numbers(copies: Copies, bad: object) -> None:
    original = copies("attention_full")[1]
    asked = original.edited()
    profile_of(asked)
    assert len(asked.asked) > 100
    everything = original.edited()
    for name in original.metrics:
        everything.set(name, bad)
    sound(profile_of(everything).stages[0])
    for name in sorted(asked.asked & set(original.metrics))[::3]:
        edited = original.edited()
        edited.set(name, bad)
        sound(profile_of(edited).stages[0])


def test_losing_many_names_at_once_never_raises(copies: Copies) -> None:
    import random

    chance = random.Random(7)
    for name in NAMES:
        for original in copies(name)[:3]:
            for share in (0.1, 0.5, 0.9):
                edited = original.edited()
                for lost in chance.sample(
                    sorted(original.metrics), int(share * len(original.metrics))
                ):
                    del edited.metrics[lost]
                edited.set("gpu__time_duration.sum", 1000.0, "ns")
                sound(profile_of(edited).stages[0])


def removed(original: FakeLaunch, *names: str) -> FakeLaunch:
    edited = original.edited()
    for name in names:
        edited.metrics.pop(name, None)
    return edited


def test_tensor_by_active_cycles_and_by_instruction_kind(copies: Copies) -> None:
    mm = copies("attention_full")[2]
    value, _, raw = facts(removed(mm, "sm__pipe_tensor_cycles_active" + E))
    assert raw["tensor"] == "sm__pipe_tensor_cycles_active" + A + " * active_share"
    assert value["tensor"] == pytest.approx(93.52, rel=0.005)
    both = ("sm__pipe_tensor_cycles_active" + E, "sm__pipe_tensor_cycles_active" + A)
    value, _, raw = facts(removed(mm, *both))
    assert raw["tensor"].startswith("sm__pipe_tensor_op_hmma_cycles_active" + E)
    assert value["tensor"] == pytest.approx(93.52, abs=0.01)


def test_a_zero_of_one_kind_of_tensor_instruction_proves_nothing() -> None:
    few = launch(
        {
            "gpu__time_duration.sum": (1.0, "ns"),
            "sm__pipe_tensor_op_hmma_cycles_active" + E: (0.0, "%"),
        }
    )
    stage = profile_of(few).stages[0]
    assert "tensor" not in stage.metrics and stage.missing["tensor"]


def test_dram_by_cycles_and_by_bytes(copies: Copies) -> None:
    copy = copies("attention_full")[1]
    value, _, raw = facts(removed(copy, "gpu__dram_throughput" + E))
    assert raw["dram"] == "dram__cycles_active" + E
    assert value["dram"] == pytest.approx(84.0, abs=0.1)
    names = ("gpu__dram_throughput" + E, "dram__cycles_active" + E)
    value, _, raw = facts(removed(copy, *names))
    percent = "dram__bytes_{}.sum.pct_of_peak_sustained_elapsed"
    assert raw["dram"] == f"{percent.format('read')} + {percent.format('write')}"
    assert value["dram"] == pytest.approx(84.0, abs=0.5)
    # of the reads alone: a lower bound, and its raw name says so
    value, _, raw = facts(removed(copy, *names, percent.format("write")))
    assert raw["dram"] == percent.format("read") and 40 < value["dram"] < 45


def test_facts_computed_from_others(copies: Copies) -> None:
    fa = copies("attention_full")[0]
    without = removed(
        fa,
        "launch__waves_per_multiprocessor",
        "sm__warps_active" + A,
        "sm__maximum_warps_per_active_cycle_pct",
        "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio",
        "dram__bytes_read.sum",
        "memory_l2_theoretical_sectors_global_ideal",
    )
    value, _, raw = facts(without)
    # 2048 blocks on 132 SMs, one at a time on each
    assert value["waves"] == pytest.approx(2048 / 132)
    assert raw["waves"] == (
        "launch__grid_size / (launch__sm_count * launch__occupancy_limit_registers)"
    )
    assert value["occupancy"] == pytest.approx(12.45, abs=0.01)
    assert value["occupancy_theoretical"] == pytest.approx(100 * 8 / 64)
    assert value["sectors_per_load"] == 69206016 / 4325376
    assert value["dram_read_bytes"] == pytest.approx(201345792, rel=1e-4)
    assert raw["dram_read_bytes"] == "dram__sectors_read.sum"
    assert value["global_sectors_excess"] == 0


def test_active_share_without_cycle_counters(copies: Copies) -> None:
    fa = copies("attention_full")[0]
    cycles = [name for name in fa.metrics if "__cycles_active." in name]
    value, _, raw = facts(removed(fa, *cycles))
    assert raw["active_share"] == f"sm__inst_executed_pipe_xu{E} / sm__inst_executed_pipe_xu{A}"
    assert value["active_share"] == pytest.approx(95.78, abs=1.0)


def test_stalls_from_samples_use_the_same_words(
    copies: Copies, profile: Callable[[str], Profile]
) -> None:
    mm = copies("attention_full")[2]
    averages = [name for name in mm.metrics if name.startswith("smsp__average_warp")]
    sampled = profile_of(removed(mm, *averages)).stages[0].stalls
    counted = profile("attention_full").stages[2].stalls
    assert sampled is not None and counted is not None
    assert sampled.raw == "smsp__pcsamp_warps_issue_stalled_*"
    assert sampled.unit == "% of warp samples"
    assert next(iter(sampled.parts)) == next(iter(counted.parts)) == "gmma"
    assert sampled.parts["gmma"] == pytest.approx(counted.parts["gmma"], abs=5)
    assert not {"warpgroup_arrive", "no_instructions"} & set(sampled.parts)
    assert sum(sampled.parts.values()) == pytest.approx(100, abs=0.01)


def test_parts_of_a_stall_reason_are_not_counted_twice(copies: Copies) -> None:
    fa = copies("attention_full")[0]
    edited = fa.edited()
    for part in ("mio_throttle_pipe_mio", "long_scoreboard_pipe_l1tex"):
        edited.set(f"smsp__average_warps_issue_stalled_{part}_per_issue_active.ratio", 50.0, "inst")
    assert profile_of(edited).stages[0].stalls == profile_of(fa).stages[0].stalls


def test_nothing_but_a_name_and_a_duration() -> None:
    read = profile_of(dataclasses.replace(launch({"gpu__time_duration.sum": (5.0, "us")})))
    stage = read.stages[0]
    assert {key: metric.value for key, metric in stage.metrics.items()} == {"duration": 5000}
    assert stage.stalls is stage.opcodes is None and stage.rules == () and stage.hot_lines == ()
    assert stage.warnings == (
        "opcodes were not recorded: which tensor instructions ran cannot be told",
    )


@pytest.mark.parametrize("zero", [0, 0.0])
def test_a_time_of_zero_is_no_time(copies: Copies, zero: float) -> None:
    """A profiler's first session may record nothing: 0 µs is never a result, nor divided by."""
    copy = copies("attention_full")[1]
    copy = copy.edited()
    for name in copy.metric_names():
        if name.startswith(("gpu__time_duration", "gpu__time_active")):
            copy.set(name, zero, "ns")
    stage = profile_of(copy).stages[0]
    assert stage.value("duration") is None
    assert stage.missing["duration"] == "0 in the report: the profiler recorded no time"
