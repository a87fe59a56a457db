"""Timelines of plans on a pretended H200: a fake nsys exports times that add up by hand."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.annotating import H200
from tests.support.fake_nsys import RECORD, FakeNsys, handing_out
from tests.support.plan_exports import SECRET, SOLO_US, no_kernels, plan_export
from tests.support.range_plans import MoreStages, TogetherPlan

from mla_var3.core import artifacts
from mla_var3.core.errors import KernelFailed, MachineCannot, NoUsableData
from mla_var3.core.record_file import load_profile
from mla_var3.core.timeline import load_timeline
from mla_var3.core.timing import Clock
from mla_var3.measure.nsys_reader import read_timeline
from mla_var3.runtime.profiling import nsys_collect
from mla_var3.runtime.profiling.nsys import NsysOptions, nsys_profile_plan
from mla_var3.runtime.reporting import make_reports
from mla_var3.runtime.result import ProfileResult


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plan_export(tmp_path_factory.mktemp("export") / "e.sqlite")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("API_TOKEN", SECRET)  # whatever the user's shell holds


@pytest.fixture
def nsys(tmp_path: Path, exported: Path) -> FakeNsys:
    return handing_out(tmp_path / "tool", exported)


def profiled(nsys: FakeNsys, plan: Any = None, **more: Any) -> ProfileResult:
    options = NsysOptions(gpu=H200, environment=nsys.environment, **more)
    return nsys_profile_plan(plan or TogetherPlan(), options=options)


def files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


def test_the_stages_have_the_times_of_the_iterations(nsys: FakeNsys) -> None:
    profile = profiled(nsys).profile
    assert (profile.mode, profile.status) == ("nsys", "OK")
    stages = {stage.name: stage for stage in profile.stages}
    assert list(stages) == ["copy", "mm", "fa"]
    # From the export, by hand: fa takes 140, 141, … 144 µs, its median is 142.
    durations = {name: stage.value("duration") for name, stage in stages.items()}
    assert durations == {"copy": 300e3, "mm": 400e3, "fa": 142e3}
    fa = stages["fa"]
    assert (fa.value("duration_min"), fa.value("duration_max")) == (140e3, 144e3)
    solo = {name: stage.value("duration_solo") for name, stage in stages.items()}
    assert solo == {name: 1e3 * us for name, us in SOLO_US.items()}
    assert {stage.value("iterations") for stage in stages.values()} == {5}
    assert {stage.value("operations") for stage in stages.values()} == {1}
    for stage in stages.values():
        assert stage.metrics["duration"].source == "nsys"
        assert "of 5 iterations" in stage.metrics["duration"].raw
        assert stage.metrics["model_flops"].source == "model"
        assert "counters" in stage.missing["tensor"]
    whole = profile.end_to_end
    assert whole is not None and whole.value("duration") == 702e3 - 100e3


def test_where_and_with_what_it_was_recorded(nsys: FakeNsys) -> None:
    result = profiled(nsys)
    environment = result.profile.environment
    assert environment.device == "NVIDIA H200"
    assert environment.compute_capability == "9.0"
    assert environment.capture_tool == "nsys 2025.3.2"
    plan = result.profile.plan
    assert plan is not None and (plan.kernel, plan.version) == ("together", "v1")
    timeline = load_timeline(result.out_dir / artifacts.SPANS)
    assert timeline.collector == "nsys" and timeline.plan is not None
    assert timeline.plan.stages == ("copy", "mm", "fa")
    assert timeline.plan.groups == (("copy", "mm"),)
    assert timeline.plan.streams == 2


def test_the_folder_holds_what_the_spec_names(nsys: FakeNsys) -> None:
    result = profiled(nsys)
    folder = result.out_dir
    assert folder.parent.as_posix() == "out/profiles/nsys/together_v1/b128_bf16"
    names = {path.relative_to(folder).as_posix() for path in files(folder)}
    assert names >= {
        "params.json", "profile.json", "report.md", "spans.json", "nsys.log", "profile.sqlite",
        "timeline.json", "timeline.svg", "kernels.csv", "launches.csv", "streams.csv",
        "ranges.csv", "gaps.csv", "overlap.csv", "tiling/fa.json", "tiling/fa/autotuning.json",
    }  # fmt: skip
    assert not names & {"worker-job.json", "worker.json", "profile.nsys-rep", "nsys-export.log"}
    params = json.loads((folder / artifacts.PARAMS).read_text())
    assert (params["b"], params["device"]) == (128, "NVIDIA H200")
    assert load_profile(folder) == result.profile
    for name, content in make_reports(folder).files().items():
        assert (folder / name).read_bytes() == content, name


def test_no_file_of_the_folder_holds_the_environment(
    nsys: FakeNsys, tmp_path: Path, exported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert SECRET.encode() in exported.read_bytes()  # there is something to be found
    monkeypatch.setenv("PATH", f"{nsys.folder}:/usr/bin:/bin")
    folder = nsys_profile_plan(TogetherPlan(), options=NsysOptions(gpu=H200)).out_dir
    given = (nsys.folder / "environment.txt").read_text()
    assert "PATH" in given and "API_TOKEN" not in given and SECRET not in given
    seen = list(files(folder))
    assert len(seen) > 10
    for path in seen:
        content = path.read_bytes()
        assert SECRET.encode() not in content, path.name
        assert SECRET.encode("utf-16-le") not in content, path.name
        assert b"API_TOKEN" not in content, path.name
        assert str(tmp_path).encode() not in content, path.name
    kept = read_timeline(folder / artifacts.NSYS_SQLITE)
    assert kept.operations == load_timeline(folder / artifacts.SPANS).operations


def test_the_raw_report_is_kept_on_demand_with_a_warning(nsys: FakeNsys) -> None:
    result = profiled(nsys, keep_raw=True)
    assert (result.out_dir / "profile.nsys-rep").is_file()
    (warning,) = [text for text in result.profile.warnings if "profile.nsys-rep" in text]
    assert "environment variables" in warning and "do not hand it on" in warning
    # The export is scrubbed all the same.
    assert SECRET.encode() not in (result.out_dir / "profile.sqlite").read_bytes()


def test_a_large_export_is_not_kept_and_this_is_said(
    nsys: FakeNsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = {"sqlite_bytes": {"value": 4096}, "export_s": {"value": 60}}
    table = nsys_collect.conf.table("nsys") | {"limits": limits}
    real = nsys_collect.conf.table
    monkeypatch.setattr(
        nsys_collect.conf, "table", lambda name: table if name == "nsys" else real(name)
    )
    result = profiled(nsys)
    assert not (result.out_dir / "profile.sqlite").exists()
    assert "spans.json holds the same spans" in result.profile.missing["profile.sqlite"]


def test_a_stage_that_was_not_seen_is_named(nsys: FakeNsys) -> None:
    profile = profiled(nsys, MoreStages()).profile
    assert profile.status == "PARTIAL"
    assert profile.failure.startswith("nsys saw no operation of combine: ")
    combine = profile.stages[-1]
    assert combine.value("duration") is None and "ranges" in combine.missing["duration"]
    assert combine.value("model_flops") == 1e6


def test_without_nvtx_the_operations_stand_and_the_stages_have_no_time(
    tmp_path: Path, exported: Path
) -> None:
    from tests.support.nsys_exports import RANGES, edit

    bare = tmp_path / "bare.sqlite"
    bare.write_bytes(exported.read_bytes())
    edit(bare, f"DELETE FROM {RANGES}")
    refuse = 'if "nvtx" in trace:\n    print("injection crashed")\n    sys.exit(1)\n'
    result = profiled(handing_out(tmp_path / "tool", bare, refuse + RECORD.strip()))
    profile = result.profile
    assert profile.status == "PARTIAL"
    assert "recorded without NVTX" in profile.warnings[0]
    assert all("NVTX" in stage.missing["duration"] for stage in profile.stages)
    assert len(load_timeline(result.out_dir / artifacts.SPANS).operations) == 30


def test_what_a_failed_run_leaves(tmp_path: Path) -> None:
    empty = no_kernels(tmp_path / "empty.sqlite")
    nsys = handing_out(tmp_path / "tool", empty)
    with pytest.raises(NoUsableData, match=r"no kernel, twice.*kept: "):
        profiled(nsys)
    (folder,) = [path for path in Path("out").rglob(".incomplete-*") if path.is_dir()]
    names = {path.name for path in files(folder)}
    assert "nsys.log" in names
    assert not names & {"profile.nsys-rep", "profile.sqlite"}
    for path in files(folder):
        assert SECRET.encode() not in path.read_bytes(), path.name


def test_what_the_child_reports_is_the_error(tmp_path: Path, exported: Path) -> None:
    told = (
        "out.with_name('worker-error.json')"
        '.write_text(\'{"kind": "KernelFailed", "message": "stage mm failed"}\')\n'
        "sys.exit(4)"
    )
    with pytest.raises(KernelFailed, match="stage mm failed"):
        profiled(handing_out(tmp_path / "tool", exported, told))


def test_no_nsys_at_all(tmp_path: Path) -> None:
    options = NsysOptions(gpu=H200, environment={"PATH": str(tmp_path)})
    with pytest.raises(MachineCannot, match=r"nsys is not here.*--collector=kineto"):
        nsys_profile_plan(TogetherPlan(), options=options)
    assert not Path("out").exists() or not list(files(Path("out")))


def test_the_command_that_nsys_gets(nsys: FakeNsys) -> None:
    profiled(nsys)
    (words,) = nsys.calls("profile")
    assert words[1:8] == [
        "-t", "cuda,nvtx", "--sample=none", "--cpuctxsw=none", "--cuda-graph-trace=node",
        "--stats=false", "--force-overwrite=true",
    ]  # fmt: skip
    assert words[-3:-1] == ["-m", "mla_var3.measure.worker"]


@pytest.mark.parametrize(
    ("clock", "locked", "words"),
    [
        (Clock(source="nvidia-smi", max_sm_mhz=1755.0, locked=False), False, "clocks not locked"),
        (Clock(source="nvidia-smi", max_sm_mhz=1755.0, locked=True), True, "clocks locked"),
        (Clock(source="nvidia-smi", missing={"clock": "no answer"}), None, "clock lock not told"),
    ],
)
def test_nvidia_smi_is_asked_beside_the_run(
    nsys: FakeNsys,
    monkeypatch: pytest.MonkeyPatch,
    clock: Clock,
    locked: bool | None,
    words: str,
) -> None:
    asked: list[str] = []

    def answer(uuid: str) -> Clock:
        asked.append(uuid)
        return clock

    monkeypatch.setattr(nsys_collect, "read_clocks", answer)
    result = profiled(nsys)
    assert asked == [H200.uuid]
    environment = result.profile.environment
    assert environment.clocks_locked is locked
    assert environment.clock_max_hz == 1980e6  # what the collector tells stays
    assert words in (result.out_dir / "report.md").read_text()
