"""Annotation mode on a pretended H200: a fake ncu hands out what was recorded on a real one."""

import itertools
import json
import os
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from tests.support.annotating import UUID, options, timed
from tests.support.fake_ncu import FakeNcu, handing_out
from tests.support.range_plans import (
    FaTiling,
    FewerStages,
    MoreStages,
    OpsPlan,
    RangesPlan,
    TogetherPlan,
)
from tests.support.timings import CLOCK

from mla_var3.core import artifacts
from mla_var3.core.annotation import load_run
from mla_var3.core.errors import BadArgument
from mla_var3.core.record_file import load_profile
from mla_var3.measure.gpu_lock import holder
from mla_var3.measure.ncu_reader import read_report
from mla_var3.render.annotation_screen import AnnotationRequest
from mla_var3.render.contract_grammar import parse
from mla_var3.runtime.annotation_reports import screen
from mla_var3.runtime.diagnosing import diagnose_file
from mla_var3.runtime.profiling.annotation import annotation_profile_plan
from mla_var3.runtime.reporting import make_reports
from mla_var3.runtime.result import ProfileResult

Recording = Callable[[str], Path]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def attention(tmp_path: Path, recording: Recording) -> FakeNcu:
    return handing_out(tmp_path / "tool", recording("attention_full"), ("fa_fwd", "copy_k"))


def shown(result: ProfileResult) -> str:
    request = AnnotationRequest(folder="out", no_contract=result.no_contract)
    return screen(diagnose_file(result.out_dir), result.out_dir, request, "cuda:0")


def test_a_recording_becomes_stages_with_their_counters(
    attention: FakeNcu, recording: Recording
) -> None:
    result = annotation_profile_plan(RangesPlan(), options=options(attention))
    profile = result.profile
    truth = {stage.nvtx[0]: stage for stage in read_report(recording("attention_full")).stages}
    assert (profile.mode, profile.status) == ("annotation", "OK")
    assert [stage.name for stage in profile.stages] == ["fa", "copy", "mm"]
    for stage in profile.stages:
        for key in ("duration", "tensor", "dram", "occupancy", "dram_read_bytes"):
            assert stage.metrics[key] == truth[stage.name].metrics[key]
        assert stage.metrics["duration"].source == "ncu"
        assert not any(text.startswith("opcodes") for text in stage.warnings)
    whole = profile.end_to_end
    assert whole is not None
    assert whole.metrics["duration"].source == "event"
    assert whole.value("duration") == pytest.approx(2.402e6)
    assert profile.environment.device == "NVIDIA H200"
    assert profile.environment.capture_tool == "ncu 2025.3.1"
    assert profile.environment.clocks_locked is False
    classes = {d.stage: d.bound for d in result.diagnoses.stages}
    assert classes == {"fa": "Latency", "copy": "Memory", "mm": "Compute"}


def test_the_command_that_ncu_gets(attention: FakeNcu) -> None:
    annotation_profile_plan(RangesPlan(), options=options(attention))
    (words,) = attention.calls
    included = [b for a, b in itertools.pairwise(words) if a == "--nvtx-include"]
    assert included == ["fa/", "copy/", "mm/"]
    pairs = dict(itertools.pairwise(words))
    assert pairs["--clock-control"] == "none"
    assert pairs["--cache-control"] == "all"
    assert "--nvtx" in words and "--force-overwrite" in words
    assert words[-3:-1] == ["-m", "mla_var3.measure.worker"]
    metrics = pairs["--metrics"].split(",")
    assert "gpu__time_duration.sum" in metrics and len(metrics) == len(set(metrics))
    assert "sm__ops_path_tensor_src_bf16_dst_fp32.sum" in metrics


def test_the_devices_lock_is_held_while_ncu_runs(attention: FakeNcu) -> None:
    """By its UUID, until the last kernel, and by this process."""
    held: list[int | None] = []

    def step(what: str) -> None:
        if what.startswith("ncu: kernel"):
            own = holder(UUID)
            held.append(own.pid if own else None)

    annotation_profile_plan(RangesPlan(), options=options(attention, on_step=step))
    assert held == [os.getpid()] * 2
    assert holder(UUID) is None


def test_the_folder_holds_what_the_spec_names(attention: FakeNcu) -> None:
    result = annotation_profile_plan(RangesPlan(), options=options(attention))
    folder = result.out_dir
    assert folder.parent.as_posix() == "out/profiles/annotation/ranges_v1/b128_bf16"
    files = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    assert files >= {
        "params.json", "profile.json", "report.md", "contract.md", "contract.json", "timing.json",
        "annotation.json", "annotation.ncu-rep", "ncu.log", "plots/roofline.svg",
        "tiling/fa.json", "tiling/fa/autotuning.json",
    }  # fmt: skip
    assert "worker-job.json" not in files
    params = json.loads((folder / artifacts.PARAMS).read_text())
    assert params["b"] == 128 and params["dtype"] == "bfloat16"
    assert params["device"] == "NVIDIA H200"
    assert (folder / "profile.json").stat().st_size <= 8192 + 8192 * 3
    assert load_profile(folder) == result.profile
    run = load_run(folder / artifacts.ANNOTATION)
    assert (run.passes, run.counters) == (38, 88)
    assert run.tilings == {"fa": "default"} and run.before is None


def test_reports_are_made_again_byte_for_byte(attention: FakeNcu) -> None:
    result = annotation_profile_plan(RangesPlan(), options=options(attention))
    again = make_reports(result.out_dir).files()
    assert set(again) == {"report.md", "contract.md", "contract.json", "plots/roofline.svg"}
    for name, content in again.items():
        assert (result.out_dir / name).read_bytes() == content, name


def test_no_directory_of_this_machine_is_in_what_people_read(
    attention: FakeNcu, tmp_path: Path
) -> None:
    result = annotation_profile_plan(RangesPlan(), options=options(attention))
    for name in ("report.md", "contract.md", "profile.json", "annotation.json", "params.json"):
        text = (result.out_dir / name).read_text()
        assert str(tmp_path) not in text and "/home/" not in text and "/root/" not in text, name


def test_the_screen(attention: FakeNcu) -> None:
    result = annotation_profile_plan(RangesPlan(), options=options(attention))
    text = shown(result)
    lines = text.splitlines()
    assert lines[0] == (
        "ranges v1 · triton · b=128 bfloat16 · NVIDIA H200 (cuda:0) · clocks not locked"
    )
    assert lines[1] == "tune      fa: default tiling, not tuned"
    assert re.match(
        r"measure   event \d+\.\d s \(100 samples, cold cache\) · ncu 38 passes", lines[2]
    )
    rows = {line.split()[0]: line.split() for line in lines[4:8]}
    assert rows["fa"][1:6] == ["612.8", "µs", "46.7", "8.8", "12.5"]
    assert rows["fa"][6] == "Latency" and rows["mm"][6] == "Compute"
    total = next(line for line in lines if line.startswith("total"))
    # 1.37439e12 FLOP / 2402 µs = 572.2 TFLOP/s, by hand
    assert total.startswith("total     2402.0 µs end to end · 572 TFLOP/s · ")
    assert "of the roofline at the measured clock (1.62 GHz" in total
    assert any(line.startswith("Why       mm (62 % of the time)") for line in lines)
    assert any(line.startswith("Try       1. ") for line in lines)
    assert "clocks not locked: times of separate runs may differ by 15 %" in text
    assert "counted against the plan's own work: mm bytes read +366 %" in text
    assert max(map(len, lines)) <= 100
    for command in ("mla compare", "mla race", "mla history", "prof_type=ncu", "prof_type=nsys"):
        assert command not in text


def test_model_and_counters_stand_side_by_side(attention: FakeNcu) -> None:
    result = annotation_profile_plan(RangesPlan(), options=options(attention))
    report = (result.out_dir / "report.md").read_text()
    # 4 * 128 * 2048² * 128 = 2.749e11 FLOP in 612.768 µs = 448.6 TFLOP/s
    assert "| fa | by model | 2.749e+11 | 2.684e+08 | 1024 | 449 | 438 |" in report
    assert "| fa | by counters | 2.749e+11 | 2.596e+08 | 1059 | 449 | 424 |" in report
    assert "| mm | bytes read | 2.684e+08 byte | 1.251e+09 byte | +366.0 % | beyond the" in report
    assert "| mm | FLOPs | 1.1e+12 FLOP | 1.117e+12 FLOP | +1.6 % |  |" in report
    assert "| Tensor pipe (TC util) | 46.7 % | 0 % | 93.5 % |" in report
    assert "| fa | tile\\_m=128 | default |" in report
    assert "There is no earlier profile of this problem." in report


def test_contract_and_plot(attention: FakeNcu) -> None:
    result = annotation_profile_plan(RangesPlan(), options=options(attention))
    sheet = parse((result.out_dir / "contract.md").read_text())
    assert [row.stage for row in sheet.stages] == ["fa", "copy", "mm"]
    assert sheet.stages[0].duration_us == "612.8"
    assert sheet.configuration[3] == "bfloat16"
    picture = (result.out_dir / "plots/roofline.svg").read_text()
    texts = [node.text for node in ElementTree.fromstring(picture).iter() if node.text]
    assert "fa, model" in texts and "mm, counters" in texts
    assert "end to end, timed by events" in texts
    assert "copy, model" not in texts  # no FLOPs: nowhere on the plot
    # 989.5 TFLOP/s over 4814.304 GB/s: 205.5 FLOP/byte
    assert any(re.match(r"ridge 20\d FLOP/byte", text) for text in texts)


def test_a_stage_of_several_kernels_is_summed(tmp_path: Path, recording: Recording) -> None:
    ncu = handing_out(tmp_path / "tool", recording("torch_ops"))
    result = annotation_profile_plan(OpsPlan(), options=options(ncu))
    profile = result.profile
    assert [group.name for group in profile.groups] == ["elementwise", "cumsum"]
    group = profile.groups[0]
    assert group.value("duration") == 123808 + 2336
    kernels = [stage for stage in profile.stages if stage.name.startswith("elementwise: ")]
    assert [stage.value("duration") for stage in kernels] == [123808, 2336]
    assert kernels[1].name.endswith("#2")
    first, second = (stage.value("dram") or 0.0 for stage in kernels)
    mean = (first * 123808 + second * 2336) / 126144
    assert group.value("dram") == pytest.approx(mean)
    assert group.value("model_flops") == 1e9 and kernels[0].value("model_flops") is None
    text = shown(result)
    assert "elementwise           126.1 µs" in text and "2 kernels; at the roof" in text
    assert "  vectorized_elemen…  123.8 µs" in text
    report = (result.out_dir / "report.md").read_text()
    assert "percentages weighted by duration" in report
    assert "left out: 1 launched outside the stages' ranges" in text


def test_a_tiling_is_told_of_the_stages_that_run(attention: FakeNcu) -> None:
    result = annotation_profile_plan(FewerStages(), options=options(attention))
    assert load_run(result.out_dir / artifacts.ANNOTATION).tilings == {"fa": "default"}
    assert "tune      fa: default tiling, not tuned\n" in shown(result)


def test_a_stage_without_a_launch_is_partial(attention: FakeNcu) -> None:
    result = annotation_profile_plan(MoreStages(), options=options(attention))
    assert result.profile.status == "PARTIAL"
    assert result.profile.failure.startswith("ncu saw no launch of combine")
    assert "PARTIAL   ncu saw no launch of combine" in shown(result)
    assert "**PARTIAL: ncu saw no launch of combine" in (result.out_dir / "report.md").read_text()


def test_concurrent_stages_are_isolated_and_not_timed_as_one(attention: FakeNcu) -> None:
    result = annotation_profile_plan(TogetherPlan(), options=options(attention))
    assert {s.name: s.isolated for s in result.profile.stages} == {
        "copy": True, "mm": True, "fa": False,
    }  # fmt: skip
    assert result.profile.end_to_end is None
    text = shown(result)
    assert "total     n/a: its stages run on 2 streams at the same time" in text
    assert "profiled alone (isolated), though concurrent in the plan: copy, mm" in text
    assert "lock of clocks not told" in text.splitlines()[0]
    assert any(t.startswith("not told whether the clocks") for t in result.profile.warnings)
    assert not (result.out_dir / artifacts.TIMING).exists()


def test_against_the_last_stored_profile(attention: FakeNcu) -> None:
    annotation_profile_plan(RangesPlan(), options=options(attention))
    slower = options(attention, time_plan=timed([3.0e6 + number for number in range(100)]))
    result = annotation_profile_plan(RangesPlan(), options=slower)
    text = shown(result)
    assert "vs last   2402.0 µs → 3000.0 µs" in text and "across runs (not interleaved)" in text
    assert "about 0.80×" in text
    sheet = parse((result.out_dir / "contract.md").read_text())
    assert sheet.baseline[0].metric == "duration, end to end"
    assert sheet.baseline[0].change == "+24.9 %"
    assert "mla compare" not in text


def test_another_tiling_and_clock_are_told_before_any_time(attention: FakeNcu) -> None:
    annotation_profile_plan(RangesPlan(), options=options(attention))
    clock = msgspec.structs.replace(CLOCK, sm_mhz=1458.0)  # 1620 MHz before: 10 % less
    slower = [2.64e6 + number for number in range(100)]
    given = options(attention, time_plan=timed(slower, clock=clock))
    plan = RangesPlan().with_tilings({"fa": FaTiling(tile_m=64)})
    result = annotation_profile_plan(plan, options=given)
    text = " ".join(shown(result).split())
    told = "vs last tiling differs (fa), SM clock differs by -10.0 %; 2402.0 µs → 2640.0 µs"
    assert told in text.replace("−", "-")
    assert "within the 10 % by which separate runs differ" in text
    assert load_run(result.out_dir / artifacts.ANNOTATION).tilings == {"fa": "typed"}


def test_bench_runs_are_samples_of_the_event_part(attention: FakeNcu) -> None:
    seen = []

    def time_plan(*words: object) -> object:
        seen.append(words[3])
        return timed()(*words)  # type: ignore[arg-type]

    given = options(attention, time_plan=time_plan)
    annotation_profile_plan(RangesPlan(), None, None, 7, given)
    assert seen == [7]


def test_out_dir_and_times_that_do_not_add_up(attention: FakeNcu, tmp_path: Path) -> None:
    given = options(attention, time_plan=timed([3.5e6] * 100))
    result = annotation_profile_plan(RangesPlan(), str(tmp_path / "here"), options=given)
    assert result.out_dir == tmp_path / "here"
    # 612.768 + 259.648 + 1419.744 = 2292.16 µs: 34.5 % less than 3500
    assert any("sum to 35 % less than the plan takes" in text for text in result.profile.warnings)


def test_a_version_that_is_not_there(attention: FakeNcu) -> None:
    with pytest.raises(BadArgument, match="it has no other versions"):
        annotation_profile_plan(RangesPlan(), version="v2", options=options(attention))
    assert not attention.calls_file.exists()
