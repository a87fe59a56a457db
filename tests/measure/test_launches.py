"""Launches and reports at the edge: several ranges, library errors, units that get mixed up."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.fake_report import (
    FakeLaunch,
    FakeMetric,
    FakeModule,
    launch,
    profile_of,
    profile_of_module,
)

from mla_var3.core.errors import UnreadableFile
from mla_var3.measure.ncu_reader import blocks, versions

BASIC = {
    "gpu__time_duration.sum": (2000.0, "ns"),
    "launch__grid_size": 8,
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed": (1.0, "%"),
}


def test_several_ranges_are_read_in_order() -> None:
    module = FakeModule([[launch(BASIC, function="a")], [], [launch(BASIC, function="b")]])
    read = profile_of_module(module)
    assert [(stage.name, stage.launch) for stage in read.stages] == [("a", 0), ("b", 1)]


def test_no_headline_metric_at_all() -> None:
    bare = launch({"launch__grid_size": 8, "smsp__inst_executed.sum": (5.0, "inst")})
    with pytest.raises(UnreadableFile, match="NO_METRICS none of duration"):
        profile_of(bare)


def test_a_report_on_disk_is_never_opened_twice_for_its_version(
    recording: Callable[[str], Path],
) -> None:
    data = recording("zoo_a").read_bytes()
    assert versions.capture_version(blocks.walk(data), b"") == "2025.3.1"


def test_units_that_the_library_mixes_up_between_reports_do_no_harm() -> None:
    # loading another report first turns `sector` into `byte` for derived counts
    for unit in ("sector", "byte", ""):
        stage = profile_of(
            launch(
                BASIC
                | {
                    "memory_l2_theoretical_sectors_global": (500, "sector"),
                    "derived__memory_l2_theoretical_sectors_global_excessive": (300, unit),
                }
            )
        ).stages[0]
        assert stage.value("global_sectors_excess") == 300


def test_errors_of_the_library_inside_a_launch_make_it_a_ghost() -> None:
    class Damaged(FakeLaunch):
        def rule_results_as_dicts(self) -> list[dict[str, object]]:
            raise RuntimeError("bad wire type in /home/ada")

    broken = Damaged(function="broken", metrics=dict(launch(BASIC).metrics))
    read = profile_of(launch(BASIC, function="whole"), broken)
    assert [stage.name for stage in read.stages] == ["whole"]
    assert read.fault == "TRUNCATED" and "ada" not in read.failure


def test_samples_of_another_form_give_no_lines() -> None:
    odd = launch(BASIC, lines={16: ("a.cu", 1)})
    odd.metrics["smsp__pcsamp_sample_count"] = FakeMetric(10, "", [("text", 7), (32, 3)])
    odd.metrics["sass__inst_executed_per_opcode"] = FakeMetric(10, "", [(1, 7), (2, 3)])
    stage = profile_of(odd).stages[0]
    assert stage.hot_lines == () and stage.opcodes is None
