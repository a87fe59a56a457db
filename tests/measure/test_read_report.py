"""What is read of the recordings, against figures of their description or counted otherwise."""

import dataclasses
import math
import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from tests.measure.conftest import NAMES
from tests.support.fake_report import FakeLaunch, profile_of

from mla_var3.core.errors import NotFound
from mla_var3.core.record import Profile, Stage
from mla_var3.core.record_file import load_profile, to_files
from mla_var3.measure.ncu_reader import read_report
from mla_var3.measure.ncu_reader.table import facts_by_key

Profiles = Callable[[str], Profile]
Copies = Callable[[str], list[FakeLaunch]]


def values(stage: Stage, *keys: str) -> list[float | None]:
    return [stage.value(key) for key in keys]


def test_attention_has_its_three_kernels(profile: Profiles) -> None:
    read = profile("attention_full")
    assert [stage.name for stage in read.stages] == [
        "fa_fwd",
        "copy_k",
        "nvjet_sm90_tst_320x128_64x3_1x2_h_bz_co…",
    ]
    assert read.stages[2].kernel == "nvjet_sm90_tst_320x128_64x3_1x2_h_bz_coopB_NNT"
    assert [stage.value("duration") for stage in read.stages] == [612768, 259648, 1419744]
    assert [stage.grid for stage in read.stages] == [(16, 128, 1), (32768, 1, 1), (2, 66, 1)]
    assert [stage.block for stage in read.stages] == [(256, 1, 1), (256, 1, 1), (384, 1, 1)]
    assert [stage.nvtx for stage in read.stages] == [("fa",), ("copy",), ("mm",)]
    assert [stage.launch for stage in read.stages] == [0, 1, 2]
    assert read.status == "OK" and read.mode == "ncu" and read.warnings == ()


@pytest.mark.parametrize(
    ("position", "key", "expected", "unit"),
    [
        (0, "tensor", 46.69, "%"),
        (0, "dram", 8.81, "%"),
        (0, "occupancy", 12.45, "%"),
        (0, "occupancy_theoretical", 12.5, "%"),
        (0, "registers", 142, "register"),
        (0, "shared_memory", 131072, "byte"),
        (0, "waves", 15.515, "wave"),
        (0, "sm_clock", 1.7839e9, "Hz"),
        (0, "sm_clock_max", 1980000, "kHz"),
        (0, "l2_hit", 73.05, "%"),
        (1, "dram", 84.0, "%"),
        (1, "tensor", 0, "%"),
        (1, "dram_read_bytes", 536923392, "byte"),
        (1, "sectors_per_load", 16, "sector"),
        (1, "bytes_per_sector_load", 32, "byte"),
        (1, "l1_hit", 0, "%"),
        (2, "tensor", 93.52, "%"),
        (2, "waves", 1.0, "wave"),
        (2, "occupancy_theoretical", 18.75, "%"),
        (2, "cluster_size", 2, "block"),
    ],
)
def test_figures_of_attention(
    profile: Profiles, position: int, key: str, expected: float, unit: str
) -> None:
    metric = profile("attention_full").stages[position].metrics[key]
    assert metric.value == pytest.approx(expected, rel=1e-3, abs=1e-9)
    assert (metric.unit, metric.source) == (unit, "ncu")


def test_tensor_flops_are_those_of_the_algorithm(profile: Profiles) -> None:
    attention, cutile = profile("attention_full").stages[0], profile("cutile_mla").stages[0]
    # two products of 2 * S * T * D for each of 128 batch-heads; (512 + 64 + 512) * 2 a pair
    assert attention.value("tensor_flops") == 4 * 128 * 2048 * 2048 * 128
    assert cutile.value("tensor_flops") == 32 * 128 * 4096 * 2176
    assert attention.metrics["tensor_flops"].raw == "sm__ops_path_tensor_src_bf16_dst_fp32.sum"


def test_active_share_is_active_over_elapsed_cycles(profile: Profiles) -> None:
    stage = profile("attention_full").stages[0]
    active, elapsed = values(stage, "cycles_active", "cycles_elapsed")
    assert active and elapsed
    assert stage.value("active_share") == pytest.approx(100 * active / elapsed)
    assert stage.metrics["active_share"].raw == "sm__cycles_active.avg / sm__cycles_elapsed.avg"
    # 133 blocks on 132 SMs: in the second wave one SM works
    assert profile("zoo_a").stages[4].value("active_share") == pytest.approx(50.4, abs=0.5)


def test_local_bytes_are_32_a_sector(profile: Profiles) -> None:
    spill = next(s for s in profile("zoo_a").stages if s.name == "spill_heavy")
    load, store, total = values(spill, "local_load_sectors", "local_store_sectors", "local_bytes")
    assert load and store and total == 32 * (load + store) == 13542752256


def test_tma_kernels_have_no_coalescing_figures(profile: Profiles) -> None:
    for stage in (profile("cutile_mla").stages[0], profile("attention_full").stages[2]):
        for key in ("sectors_per_load", "bytes_per_sector_load", "sectors_per_store"):
            assert key not in stage.metrics
            assert stage.missing[key].startswith("not applicable: no global")
    assert profile("cutile_mla").stages[0].missing["global_sectors"].startswith("not applicable")
    assert profile("cutile_mla").stages[0].missing["global_sectors_excess"].startswith("not app")


def test_l1_hit_is_told_only_where_loads_use_l1(profile: Profiles) -> None:
    attention = profile("attention_full").stages
    assert "bypass L1" in attention[0].missing["l1_hit"]  # cp.async.cg
    assert attention[1].value("l1_hit") == 0  # plain loads, each byte once
    assert "bypass L1" in profile("cutile_mla").stages[0].missing["l1_hit"]  # TMA
    assert profile("zoo_a").stages[2].value("l1_hit") == pytest.approx(40.46, abs=0.01)


def test_missing_facts_have_their_own_reasons(profile: Profiles) -> None:
    copy, mla = profile("zoo_a").stages[0], profile("cutile_mla").stages[0]
    assert copy.missing["flops_bf16"] == "not collected in this report"
    assert copy.missing["fp16"] == mla.missing["fp16"] == "this chip has no such counter"
    assert mla.missing["flops_fp4"] == "this chip has no such counter"


@pytest.mark.parametrize("name", NAMES)
def test_every_fact_is_there_or_has_a_reason(profile: Profiles, name: str) -> None:
    for stage in profile(name).stages:
        assert set(stage.metrics) | set(stage.missing) == set(facts_by_key())
        assert all(stage.missing.values())
        assert all(math.isfinite(metric.value) for metric in stage.metrics.values())


def test_stalls_are_shares_of_the_warp_latency(profile: Profiles) -> None:
    stages = profile("attention_full").stages
    tops = [next(iter(stage.stalls.parts.items())) for stage in stages if stage.stalls]
    assert [name for name, _ in tops] == ["barrier", "long_scoreboard", "gmma"]
    assert [share for _, share in tops] == pytest.approx([23.26, 41.93, 33.23], abs=0.01)
    assert stages[0].stalls is not None
    assert sum(stages[0].stalls.parts.values()) == pytest.approx(100, abs=0.01)
    assert "selected" in stages[0].stalls.parts
    assert stages[0].stalls.unit == "% of warp latency"


def test_opcodes_are_shares_of_the_instructions(profile: Profiles, copies: Copies) -> None:
    opcodes = profile("attention_full").stages[0].opcodes
    counted = dict(copies("attention_full")[0].metrics["sass__inst_executed_per_opcode"].instances)
    assert opcodes is not None and len(opcodes.parts) == 15
    for opcode in ("FMUL", "MUFU", "HGMMA"):
        share = 100 * counted[opcode] / sum(counted.values())
        assert opcodes.parts[opcode] == pytest.approx(share, abs=1e-4)
    assert next(iter(opcodes.parts)) == "FMUL"


def test_hot_lines_name_line_instruction_and_stall(profile: Profiles) -> None:
    hottest = profile("attention_full").stages[0].hot_lines[0]
    assert (hottest.file, hottest.line) == ("prog.py", 14)
    assert hottest.text == "s = tl.dot(q, tl.trans(k)) * scale"
    assert (hottest.instruction, hottest.stall) == ("WARPGROUP.DEPBAR", "barrier")
    assert hottest.samples_pct == pytest.approx(27.81, abs=0.01)
    assert [line.library for line in profile("attention_full").stages[0].hot_lines] == [
        False,
        False,
        True,  # triton/language/standard.py
        False,
        False,
    ]
    mla = profile("cutile_mla").stages[0].hot_lines[0]
    assert (mla.file, mla.line, mla.instruction) == ("fa_ct.py", 36, "BRA")
    assert (mla.stall, round(mla.samples_pct, 1)) == ("long_scoreboard", 25.6)
    wmma = next(s for s in profile("zoo_a").stages if s.name == "hmma_bound").hot_lines
    assert [(line.file, line.library) for line in wmma[:2]] == [
        ("mma.hpp", True),
        ("zoo.cu", False),
    ]


def test_without_line_information_there_is_a_warning_and_no_line(profile: Profiles) -> None:
    library = profile("attention_full").stages[2]
    assert library.hot_lines == ()
    assert len(library.warnings) == 1 and "without line information" in library.warnings[0]


def test_rules_are_clean_and_ordered(profile: Profiles) -> None:
    for name in NAMES:
        for stage in profile(name).stages:
            texts = [text for rule in stage.rules for text in (rule.title, rule.message)]
            assert not any("@" in text or "http" in text for text in texts)
            assert max(map(len, texts)) <= 200
            kinds = [rule.type for rule in stage.rules]
            assert kinds == sorted(kinds, key=["OPTIMIZATION", "WARNING", "OK"].index)
    first = profile("attention_full").stages[0].rules[0]
    assert (first.rule, first.scope) == ("IssueSlotUtilization", "LOCAL")
    assert first.speedup_pct == pytest.approx(100 - 46.69475, abs=1e-3)


def test_environment_and_source(profile: Profiles, recording: Callable[[str], Path]) -> None:
    read = profile("attention_full")
    told = read.environment
    assert (told.device, told.compute_capability, told.sm_count) == ("NVIDIA H200", "9.0", 132)
    assert (told.clock_max_hz, told.capture_tool) == (1.98e9, "ncu 2025.3.1")
    assert re.fullmatch(r"ncu_report 20\d\d\.\d+(\.\d+)?", told.reader_tool or "")
    assert told.driver is None and told.clocks_locked is None
    assert read.source is not None
    assert (read.source.file, read.source.kind) == ("attention_full.ncu-rep", "ncu-rep")
    assert read.source.bytes == recording("attention_full").stat().st_size == 5504728
    assert read.source.sha256.startswith("5348c2e386fb6a82")
    assert read.created == "2026-12-01T03:20:29Z"


def test_the_packed_examples_read_the_same(profile: Profiles) -> None:
    packed = Path(__file__).parents[2] / "examples" / "cutile_mla.ncu-rep.xz"
    read = read_report(packed)
    assert read.stages == profile("cutile_mla").stages
    assert read.source is not None and read.source.file == "cutile_mla.ncu-rep.xz"
    assert read.source.bytes == packed.stat().st_size


def test_kernels_are_chosen_by_short_or_full_name(recording: Callable[[str], Path]) -> None:
    path = recording("zoo_a")
    assert [s.name for s in read_report(path, kernel=re.compile("bound$")).stages] == [
        "fma_bound",
        "hmma_bound",
    ]
    by_argument = read_report(path, kernel=re.compile(r"const int \*"))
    assert [(s.name, s.launch) for s in by_argument.stages] == [("pointer_chase", 5)]
    with pytest.raises(NotFound, match="no kernel matches nothing: the file has copy_stream"):
        read_report(path, kernel=re.compile("nothing"))


@pytest.mark.parametrize("name", NAMES)
def test_save_load_save_is_byte_equal(profile: Profiles, name: str, tmp_path: Path) -> None:
    first = to_files(profile(name))
    (tmp_path / "profile.json").write_bytes(first["profile.json"])
    loaded = load_profile(tmp_path)
    assert loaded == profile(name)
    assert to_files(loaded) == first


@pytest.mark.parametrize("name", NAMES)
def test_a_stage_of_the_recordings_is_below_8_kB(profile: Profiles, name: str) -> None:
    saved = to_files(profile(name))["profile.json"]
    stages = msgspec.json.decode(saved)["stages"]
    assert max(len(msgspec.json.encode(stage)) for stage in stages) <= 8000
    assert len(saved) <= 8000 + 8000 * len(stages)


def test_renaming_all_kernels_changes_nothing_but_names(copies: Copies, profile: Profiles) -> None:
    for name in NAMES:
        renamed = []
        for number, launch in enumerate(copies(name)):
            renamed.append(dataclasses.replace(launch, function=f"k{number}", full=f"k{number}"))
        for stage, before in zip(profile_of(*renamed).stages, profile(name).stages, strict=True):
            unnamed = [
                msgspec.structs.replace(s, name="", kernel="", hot_lines=(), warnings=())
                for s in (stage, before)
            ]
            assert unnamed[0] == unnamed[1]
            assert [line.line for line in stage.hot_lines] == [
                line.line for line in before.hot_lines
            ]
