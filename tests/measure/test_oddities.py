"""Kinds of report that occur in the wild, each by its number in the list of oddities."""

import dataclasses
import math
from collections.abc import Callable

import msgspec
import pytest
from tests.support.fake_report import (
    NO_VALUE,
    FakeLaunch,
    FakeMetric,
    FakeModule,
    launch,
    profile_of,
    profile_of_module,
)

from mla_var3.core.errors import UnreadableFile
from mla_var3.core.record import Profile
from mla_var3.core.record_file import to_files
from mla_var3.measure.ncu_reader import blocks, versions

Copies = Callable[[str], list[FakeLaunch]]
E = ".avg.pct_of_peak_sustained_elapsed"
BASIC = {
    "gpu__time_duration.sum": (2000.0, "ns"),
    "launch__grid_size": 8,
    "sm__pipe_tensor_cycles_active" + E: (1.0, "%"),
}


def test_oddity_01_a_report_without_ranges_is_an_error() -> None:
    for module in (FakeModule([]), FakeModule([[], []])):
        with pytest.raises(UnreadableFile, match="NOT_A_REPORT ncu_report finds no launch"):
            profile_of_module(module)


def test_oddity_02_a_ghost_launch_makes_the_report_partial() -> None:
    ghost = FakeLaunch(function=None)
    read = profile_of(launch(BASIC, function="a"), launch(BASIC, function="b"), ghost)
    assert [stage.name for stage in read.stages] == ["a", "b"]
    assert (read.status, read.fault) == ("PARTIAL", "TRUNCATED")
    assert "1 launch cannot be read; shown: 2 launches" in read.failure
    with pytest.raises(UnreadableFile, match="TRUNCATED no launch is whole"):
        profile_of(ghost)


def test_oddity_03_an_interrupted_launch_keeps_its_name_and_no_number() -> None:
    stopped = launch(
        {"gpu__time_duration.sum": (math.nan, "ns"), "sm__throughput" + E: (math.nan, "%")},
        function="wanted",
    )
    read = profile_of(launch(BASIC, function="warm_up"), stopped)
    assert [stage.interrupted for stage in read.stages] == [False, True]
    assert read.stages[1].name == "wanted" and read.stages[1].metrics == {}
    assert set(read.stages[1].missing.values()) == {"the profiler was stopped inside this launch"}
    assert read.status == "PARTIAL" and read.fault is None
    assert read.failure.startswith("interrupted: the profiler was stopped inside 1 of 2 launches")


def test_oddity_03_the_only_launch_is_the_interrupted_one() -> None:
    read = profile_of(launch({}, function="wanted"))
    assert [stage.interrupted for stage in read.stages] == [True]
    assert read.status == "PARTIAL"


def test_oddity_04_error_messages_are_replaced_and_titles_may_be_empty() -> None:
    def rule(kind: int, title: str, message: str) -> dict[str, object]:
        return {
            "section_identifier": "SpeedOfLight",
            "rule_identifier": "SOLBottleneck",
            "rule_message": {"type": kind, "title": title, "message": message},
        }

    python_error = "Traceback: File /home/ada/sections/x.py line 3: TypeError"
    rules = [
        rule(4, "boom", python_error),
        rule(2, "", "Look @section:Occupancy:Occupancy@, @url:the guide:https://x.y/z#a@ tells."),
        rule(0, "", ""),
        rule(1, "Fine", ""),
        rule(3, "Path", r"C:\Users\ada b\k\main.cu, /home/ada/src/k.cu:12, /home/ada: load/store"),
    ]
    stage = profile_of(launch(BASIC, rules=rules)).stages[0]
    assert [(r.type, r.title, r.message) for r in stage.rules] == [
        ("OPTIMIZATION", "", "Look Occupancy, the guide tells."),
        ("WARNING", "Path", "main.cu, k.cu:12, …: load/store"),
        ("OK", "Fine", ""),
        ("ERROR", "", "the rule failed when the report was recorded"),
    ]
    assert b"ada" not in to_files(profile_of(launch(BASIC, rules=rules)))["profile.json"]


def test_oddity_05_the_capturing_version_stands_in_the_bytes() -> None:
    old = b"NVR\x00" + b"x" * 90_000 + b"Nsight Compute 2020.3.1.0 (build 29567288)" + b"y" * 50
    assert versions.capture_version(blocks.Layout(), old) == "2020.3.1"
    named = blocks.Layout(tool_version="2025.3.1.0 (build 36398880) (public-release)")
    assert versions.capture_version(named, old) == "2025.3.1"
    assert versions.capture_version(blocks.Layout(), b"NVR\x00 nothing") is None


def test_oddity_05_a_file_newer_than_its_reader_is_a_warning() -> None:
    assert versions.too_old("2026.3.2", "2026.3.1") is None
    assert versions.too_old("2024.1.0", "2026.3.1") is None
    warning = versions.too_old("2027.1.0", "2026.3.1")
    assert warning is not None and "recorded by ncu 2027.1.0" in warning
    assert versions.too_old(None, "2026.3.1") is versions.too_old("2027.1.0", None) is None


def test_oddity_06_absent_empty_and_not_finite_have_different_reasons() -> None:
    stage = profile_of(
        launch(
            BASIC
            | {
                "lts__throughput" + E: NO_VALUE,
                "gpu__dram_throughput" + E: (math.nan, "%"),
                "sm__throughput" + E: (math.inf, "%"),
                "launch__registers_per_thread": "n/a",
                "launch__kernel_name": "",
            }
        )
    ).stages[0]
    assert stage.missing["l2"] == "empty in the report"
    assert stage.missing["dram"] == "not a number in the report"
    assert stage.missing["sm_throughput"] == "not a number in the report"
    assert stage.missing["registers"] == "not a number: n/a"
    assert stage.missing["l2_hit"] == "not collected in this report"


def test_oddity_06_a_name_that_is_empty_or_missing() -> None:
    read = profile_of(*(launch(BASIC, function=name) for name in ("", None, "k")))
    assert [stage.name for stage in read.stages] == ["unnamed", "unnamed#2", "k"]


def test_oddity_07_launch_values_are_whole_numbers_from_every_version() -> None:
    for grid, shared in ((8.0, 49152.0), (8, 49152)):
        stage = profile_of(
            launch(
                BASIC
                | {
                    "launch__grid_size": grid,
                    "launch__shared_mem_per_block_static": (shared, "byte/block"),
                    "launch__shared_mem_per_block_dynamic": (0, "byte/block"),
                    "launch__grid_dim_x": grid,
                    "launch__grid_dim_y": 1.0,
                    "launch__grid_dim_z": 1,
                }
            )
        ).stages[0]
        assert repr(stage.value("grid_size")) == "8"
        assert repr(stage.value("shared_memory")) == "49152"
        assert stage.grid == (8, 1, 1)


def test_oddity_08_values_over_100_percent_are_kept_as_read() -> None:
    stage = profile_of(
        launch(
            BASIC
            | {
                "sm__warps_active.avg.pct_of_peak_sustained_active": (104.7, "%"),
                "lts__t_sector_hit_rate.pct": (409.0, "%"),
            }
        )
    ).stages[0]
    assert (stage.value("occupancy"), stage.value("l2_hit")) == (104.7, 409)


def test_oddity_08_the_active_share_of_two_passes_is_100_at_most() -> None:
    cycles = {
        "sm__cycles_active.avg": (1010.0, "cycle"),
        "sm__cycles_elapsed.avg": (1000.0, "cycle"),
    }
    stage = profile_of(launch(BASIC | cycles)).stages[0]
    assert (stage.value("cycles_active"), stage.value("active_share")) == (1010, 100)


@pytest.mark.parametrize(
    ("unit", "value", "expected"),
    [("ns", 2000.0, 2000), ("usecond", 2.0, 2000), ("ms", 0.5, 500_000), ("second", 2.0, 2e9)],
)
def test_oddity_09_units_differ_between_versions(unit: str, value: float, expected: float) -> None:
    stage = profile_of(launch(BASIC | {"gpu__time_duration.sum": (value, unit)})).stages[0]
    assert stage.value("duration") == expected
    assert stage.metrics["duration"].unit == "ns"


def test_oddity_09_a_unit_of_another_kind_is_not_taken() -> None:
    stage = profile_of(
        launch(
            BASIC
            | {
                "dram__bytes_read.sum": (1e9, "byte/s"),
                "dram__bytes_write.sum": (3.0, "Mbyte"),
                "sm__warps_active.avg.pct_of_peak_sustained_active": (12.0, "branches"),
                "gpc__cycles_elapsed.avg.per_second": (1.5, "cycle/nsecond"),
            }
        )
    ).stages[0]
    assert stage.missing["dram_read_bytes"] == "in byte/s in the report, which is no byte"
    assert stage.value("dram_write_bytes") == 3e6
    assert stage.missing["occupancy"] == "in branches in the report, which is no %"
    assert stage.value("sm_clock") == 1.5e9


def test_oddity_10_dram_is_the_gpu_counter_and_bytes_are_read_and_write() -> None:
    dram = {
        "dram__throughput" + E: (11.0, "%"),
        "gpu__dram_throughput" + E: (12.0, "%"),
        "dram__bytes.sum": (300.0, "byte"),
        "dram__bytes_read.sum": (100.0, "byte"),
        "dram__bytes_write.sum": (200.0, "byte"),
    }
    stage = profile_of(launch(BASIC | dram)).stages[0]
    assert stage.metrics["dram"].raw == "gpu__dram_throughput" + E
    assert (stage.value("dram_read_bytes"), stage.value("dram_write_bytes")) == (100, 200)


def test_oddity_10_a_report_without_throughputs_and_cycles_still_reads() -> None:
    stage = profile_of(
        launch(BASIC | {"gpc__cycles_elapsed.avg.per_second": (1.1e9, "hz")})
    ).stages[0]
    assert stage.value("sm_clock") == 1.1e9
    for key in ("sm_throughput", "memory_throughput", "cycles_active", "l2_hit", "active_share"):
        assert stage.missing[key] == "not collected in this report"


def test_oddity_11_durations_from_microseconds_to_a_minute() -> None:
    for nanoseconds in (1_400.0, 64e9):
        stage = profile_of(launch(BASIC | {"gpu__time_duration.sum": (nanoseconds, "ns")})).stages[
            0
        ]
        assert stage.value("duration") == nanoseconds


def test_oddity_12_sm_and_memory_percent_of_one_counter_are_both_kept() -> None:
    same = {"sm__throughput" + E: 71.5, "gpu__compute_memory_throughput" + E: 71.5}
    stage = profile_of(launch(BASIC | same)).stages[0]
    assert stage.value("sm_throughput") == stage.value("memory_throughput") == 71.5


def test_oddity_16_launches_of_one_report_differ_in_what_they_hold() -> None:
    own_section = {"section_identifier": "MyTeam", "rule_identifier": "Ours"}
    message = {"type": 2, "title": "Ours says", "message": ""}
    few = launch(BASIC, function="few")
    more = launch(
        BASIC | {"lts__throughput" + E: (33.0, "%")},
        function="more",
        rules=[own_section | {"rule_message": message}],
    )
    nothing = launch(BASIC, function="none", rules=[{"rule_message": message}])
    read = profile_of(few, more, nothing)
    assert [stage.value("l2") for stage in read.stages] == [None, 33, None]
    assert [[r.section for r in stage.rules] for stage in read.stages] == [[], ["MyTeam"], [""]]


def test_oddity_17_drive_letters_and_lines_without_embedded_source() -> None:
    path = r"C:\Users\ada\src\kernels\main.cu"
    sampled = launch(BASIC, lines={16: (path, 7), 32: (path, 9)}, sources={}, function="k")
    sampled.metrics["smsp__pcsamp_sample_count"] = FakeMetric(10, "", [(16, 7), (32, 3)])
    stage = profile_of(sampled).stages[0]
    assert [(x.file, x.line, x.samples_pct, x.text) for x in stage.hot_lines] == [
        ("main.cu", 7, 70, ""),
        ("main.cu", 9, 30, ""),
    ]
    assert b"ada" not in to_files(profile_of(sampled))["profile.json"]


def test_oddity_18_a_slow_clock_is_told_beside_the_maximum() -> None:
    stage = profile_of(
        launch(
            BASIC
            | {
                "gpc__cycles_elapsed.avg.per_second": (1.1e9, "hz"),
                "device__attribute_clock_rate": 1_965_000,
            }
        )
    ).stages[0]
    assert (stage.value("sm_clock"), stage.value("sm_clock_max")) == (1.1e9, 1_965_000)


def test_oddity_25_nothing_private_is_kept(
    copies: Copies, profile: Callable[[str], Profile]
) -> None:
    for name in ("zoo_a", "attention_full", "cutile_mla"):
        saved = to_files(profile(name))
        for content in saved.values():
            for secret in (
                b"/opt/",
                b"/usr/",
                b"/tmp/",
                b"site-packages",
                b"127.0.0.1",
                b"python3",
            ):
                assert secret not in content
    private = dataclasses.replace(
        copies("attention_full")[0].edited(),
        sources={"/home/ada/prog.py": "secret"},
        lines={c: ("/home/ada/prog.py", 1) for c in copies("attention_full")[0].lines},
    )
    private.set("device__attribute_display_name", "NVIDIA H200")
    saved_text = msgspec.json.encode(profile_of(private))
    assert b"ada" not in saved_text and b"prog.py" in saved_text
