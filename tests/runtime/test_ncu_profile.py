"""ncu mode on a pretended H200: a fake ncu hands out what was recorded on a real one."""

import contextlib
import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, NamedTuple

import msgspec
import pytest
from tests.conftest import ROOT
from tests.support.deep_ncu import options, with_worker
from tests.support.fake_ncu import FakeNcu, handing_out
from tests.support.range_plans import MoreStages, OpsPlan, RangesPlan, TogetherPlan

from mla_var3.core import artifacts
from mla_var3.core.errors import BadArgument, KernelFailed, MachineCannot, OutOfTime
from mla_var3.core.ncu_facts import load_facts
from mla_var3.core.plan import ConcurrentKernels, Runnable
from mla_var3.core.recommendation import Recommendation
from mla_var3.core.record_file import load_profile
from mla_var3.measure.ncu_capture import Capture, capture_command
from mla_var3.measure.ncu_reader import read_report
from mla_var3.measure.range_limit import RangeSeen
from mla_var3.render.contract_grammar import parse
from mla_var3.render.ncu_view import limit as limits
from mla_var3.render.ncu_view import recommendation_text
from mla_var3.runtime.diagnosing import diagnose_file
from mla_var3.runtime.ncu_reports import AnnotationRequest, screen
from mla_var3.runtime.profiling.annotation import annotation_profile_plan
from mla_var3.runtime.profiling.imported import import_report
from mla_var3.runtime.profiling.ncu import ncu_profile_plan
from mla_var3.runtime.reporting import make_reports
from mla_var3.runtime.result import ProfileResult
from mla_var3.runtime.store import stored_profiles

Recording = Callable[[str], Path]
PTX = ".version 9.4\n.target sm_90a\n.visible .entry fa()\n{\nret;\n}\n"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


class Run(NamedTuple):
    """One profiling of `RangesPlan`, shared by the tests that only look at it."""

    result: ProfileResult
    words: list[str]
    """What ncu was called with."""
    steps: list[str]
    home: Path

    def text(self, name: str) -> str:
        return (self.folder / name).read_text()

    @property
    def folder(self) -> Path:
        return self.home / self.result.out_dir


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, recording: Recording) -> Run:
    home = tmp_path_factory.mktemp("home")
    ncu, steps = attention_ncu(home, recording), list[str]()
    with contextlib.chdir(home):
        result = ncu_profile_plan(RangesPlan(), options=options(ncu, on_step=steps.append))
    (words,) = [call for call in ncu.calls if "--nvtx" in call]
    return Run(result, words, steps, home)


@pytest.fixture
def attention(tmp_path: Path, recording: Recording) -> FakeNcu:
    return attention_ncu(tmp_path, recording)


def attention_ncu(tmp_path: Path, recording: Recording) -> FakeNcu:
    """Attention that PTX was kept of, a copy without, and a library's product."""
    reasons = {"copy": "stage copy does not compile here", "mm": "torch runs compiled kernels"}
    result = msgspec.json.encode({"reasons": reasons}).decode()
    files = {"compiled/fa/kernel.ptx": PTX, "compiled/fa/kernel.sass": ""}
    return with_worker(tmp_path / "tool", recording("attention_full"), result, files=files)


@dataclass(frozen=True, kw_only=True)
class WaitingPlan(TogetherPlan):
    """Copy and product wait for each other."""

    KERNEL: ClassVar[str] = "waiting"

    def plan_empty(self) -> Runnable:
        fa, copy, mm = self.kernels()
        return ConcurrentKernels(stages=(copy, mm), after=(fa,), wait_for_each_other=True)


def option(words: list[str], name: str) -> str:
    return words[words.index(name) + 1]


def test_the_command_that_ncu_gets(run: Run) -> None:
    words = run.words
    included = [b for a, b in itertools.pairwise(words) if a == "--nvtx-include"]
    assert included == ["fa/", "copy/", "mm/"]
    assert option(words, "--set") == "full" and option(words, "--import-source") == "yes"
    assert option(words, "--clock-control") == "none"
    assert option(words, "--cache-control") == "all"
    assert option(words, "--replay-mode") == "kernel"
    assert option(words, "--target-processes") == "application-only"
    assert option(words, "--launch-count") == str(3 * limits("launches"))
    assert words[-3:-1] == ["-m", "mla_var3.measure.worker"]


def test_the_line_for_one_s_own_program_counts_the_same(run: Run) -> None:
    typed = capture_command(Capture(("./a",), capability="9.0", dtypes=("bf16",)))
    for name in ("--set", "--import-source", "--metrics", "--clock-control", "--cache-control"):
        assert option(run.words, name) == option(typed, name)


def test_several_runs_of_a_stage_stand_as_their_median(
    tmp_path: Path, recording: Recording
) -> None:
    """The recording has two launches in one range, of other grids: no second run of the same."""
    ncu = handing_out(tmp_path / "tool", recording("torch_ops"))
    result = ncu_profile_plan(OpsPlan(), bench_runs=2, options=options(ncu))
    (words,) = [call for call in ncu.calls if "--nvtx" in call]
    assert option(words, "--launch-count") == str(2 * 4 * limits("launches"))
    stage = result.profile.stages[0]
    differ = "2 runs launched different kernels: all launches are shown, and summed"
    assert differ in stage.warnings


def test_warm_caches_are_not_flushed(attention: FakeNcu) -> None:
    result = ncu_profile_plan(RangesPlan(), options=options(attention, cache="warm"))
    (words,) = [call for call in attention.calls if "--nvtx" in call]
    assert option(words, "--cache-control") == "none"
    assert "warm caches" in (result.out_dir / "report.md").read_text()


def test_the_record_is_the_report_under_the_stages_names(run: Run, recording: Recording) -> None:
    profile = run.result.profile
    truth = read_report(recording("attention_full")).stages
    assert (profile.mode, profile.status) == ("ncu", "OK")
    assert [stage.name for stage in profile.stages] == ["fa", "copy", "mm"]
    for stage, launch in zip(profile.stages, truth, strict=True):
        assert launch.metrics.items() <= stage.metrics.items()
        assert stage.rules == launch.rules and stage.hot_lines == launch.hot_lines
        assert stage.launch == launch.launch
        assert stage.metrics["model_flops"].source == "model"
    assert profile.environment.device == "NVIDIA H200"
    assert profile.environment.capture_tool == "ncu 2025.3.1"
    assert profile.plan is not None and profile.plan.kernel == "ranges"


def test_the_folder_holds_what_the_spec_names(run: Run) -> None:
    folder = run.folder
    assert run.result.out_dir.parent.as_posix() == "out/profiles/ncu/ranges_v1/b128_bf16"
    files = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    assert files >= {
        "params.json", "profile.json", "report.md", "report-verbose.md", "contract.md",
        "contract.json", "ncu.json", "ncu.log", "profile.ncu-rep", "tiling/fa.json",
        "tiling/fa/autotuning.json", "compiled/fa/kernel.ptx", "ptx/fa.ptx",
        "source/fa/annotated.md", "source/mm/annotated.md", "sass/fa.csv", "sass/fa.md",
        "sass/mm.csv", "ptx/copy.lines.ptx",
    }  # fmt: skip
    assert not files & {"worker-job.json", "worker.json", "worker-ranges.json", "ptx/mm.ptx"}
    assert (folder / "ptx/fa.ptx").read_text() == PTX
    params = json.loads((folder / artifacts.PARAMS).read_text())
    assert params["b"] == 128 and params["device"] == "NVIDIA H200"
    assert load_profile(folder) == run.result.profile
    facts = load_facts(folder / artifacts.NCU_FACTS)
    assert (facts.passes, facts.launches, facts.runs) == (38, 3, 1)
    assert facts.absent == {
        "copy": "stage copy does not compile here",
        "mm": "torch runs compiled kernels",
    }
    report = (folder / "report.md").read_text()
    assert "no PTX from a compiler for copy: stage copy does not compile here" in report
    assert "no PTX from a compiler for mm: torch runs compiled kernels" in report
    assert parse((folder / "contract.md").read_text()).stages[0].stage == "fa"


def test_the_short_report_is_one_screen(run: Run) -> None:
    text = run.text("report.md")
    assert len(text.splitlines()) <= 60
    assert "ncu 38 passes" in text.splitlines()[2]
    assert "| fa | 612.8 µs | 46.7 | 8.8 | 12.5 | Latency |" in text
    assert "NVIDIA: FP32 Non-Fused Instructions: ncu says up to 6.9 %, ours no lower" in text
    assert "L2 Slices Workload Imbalance: ncu says up to 5.7 %" in text
    assert "Low Compression Rate" not in text and "Issue slot" not in text
    assert "NVIDIA: none of its 5 holds here; report-verbose.md says why" in text  # the copy
    verbose = run.text("report-verbose.md")
    assert "left out: needs memory that was allocated as compressible" in verbose
    assert "left out: a tensor kernel issues few instructions" in verbose
    assert "### GPU Speed Of Light Throughput" in verbose  # NVIDIA's own sections
    assert verbose.count("# Our reading\n") == 1


def test_ncu_s_number_and_ours_stand_side_by_side() -> None:
    item = Recommendation(
        rule="CPIStall", title="Wait Stalls", scope="LOCAL", ncu_pct=53.31, ours_pct=12.0,
        bound="share of the warp latency", action="unroll", how="twice", message="NVIDIA's words",
    )  # fmt: skip
    assert recommendation_text(item) == (
        "Wait Stalls: ncu says up to 53 % of a part of the kernel, ours 12 % (share of the warp "
        "latency): unroll: twice"
    )
    close = Recommendation(rule="R", title="T", ncu_pct=75.46, ours_pct=75.5, bound="its own")
    assert recommendation_text(close) == "T: ncu says up to 76 %, ours no lower"
    blind = Recommendation(rule="R", title="T", ncu_pct=5.0, message="NVIDIA's words")
    assert recommendation_text(blind) == (
        "T: ncu says up to 5.0 %, ours unknown: no roof was read: NVIDIA's words"
    )


def test_an_export_without_sections_has_our_reading_alone(tmp_path: Path) -> None:
    export = ROOT / "tests" / "data" / "ncu" / "zoo_b_details.csv.xz"
    folder = import_report(export, tmp_path / "csv").out_dir
    names = {"contract.json", "contract.md", "profile.json", "report-verbose.md", "report.md"}
    assert {path.name for path in folder.iterdir()} == names
    verbose = (folder / "report-verbose.md").read_text()
    assert verbose.startswith("# Our reading\n") and verbose.count("# Our reading") == 1
    assert make_reports(folder).files()["report-verbose.md"] == verbose.encode()


def test_reports_are_made_again_byte_for_byte(run: Run) -> None:
    again = make_reports(run.folder).files()
    assert set(again) == {"report.md", "report-verbose.md", "contract.md", "contract.json"}
    for name, content in again.items():
        assert (run.folder / name).read_bytes() == content, name


def test_no_directory_of_this_machine_is_in_what_people_read(run: Run) -> None:
    for file in run.folder.rglob("*"):
        if file.is_file() and file.name not in ("profile.ncu-rep", "ncu.log"):
            text = file.read_text()
            assert str(run.home) not in text and "/root/" not in text, file


def test_the_screen(run: Run) -> None:
    request = AnnotationRequest(folder="out", next_steps=(("mla list", "the stored profiles"),))
    lines = screen(diagnose_file(run.folder), run.folder, request, "cuda:0").splitlines()
    assert lines[0] == (
        "ranges v1 · triton · b=128 bfloat16 · NVIDIA H200 (cuda:0) · lock of clocks not told"
    )
    assert lines[1].startswith("measure   ncu 38 passes ")
    assert any(line.startswith("NVIDIA    fa: FP32 Non-Fused Instructions") for line in lines)
    assert "report    out/report.md  (report-verbose.md, source/, sass/, ptx/)" in lines
    assert run.result.profile.environment.clocks_locked is None  # no nvidia-smi was there to ask
    assert any("not told whether the clocks are locked" in line for line in lines)
    assert max(map(len, lines)) <= 100


def test_progress_names_kernel_and_number(run: Run) -> None:
    steps = run.steps
    assert steps[0] == "ncu: inputs and warm-up"
    assert any(step.startswith("ncu: kernel 1 of 3, kernel, ") for step in steps)
    assert steps[-1] == "report: sections, source, machine code"


def test_concurrent_stages_are_isolated(attention: FakeNcu) -> None:
    result = ncu_profile_plan(TogetherPlan(), options=options(attention))
    assert {s.name: s.isolated for s in result.profile.stages} == {
        "copy": True, "mm": True, "fa": False,
    }  # fmt: skip
    # positions in the report, not in the plan: source and machine code are found by them
    assert [stage.launch for stage in result.profile.stages] == [1, 2, 0]
    text = (result.out_dir / "report.md").read_text()
    assert "259.6 µs alone, Memory-bound" in text
    assert "profiled alone (isolated), though concurrent in the plan: copy, mm" in text
    annotated = (result.out_dir / "source/fa/annotated.md").read_text()
    assert "tl.dot(q, tl.trans(k))" in annotated


@pytest.mark.parametrize("profile_plan", [ncu_profile_plan, annotation_profile_plan])
def test_stages_that_wait_for_each_other_are_refused(
    profile_plan: Callable[..., object], tmp_path: Path
) -> None:
    with pytest.raises(BadArgument, match=r"wait for each other \(copy, mm\).*prof_type=nsys"):
        profile_plan(WaitingPlan())
    assert not (tmp_path / "out").exists()


def test_several_kernels_of_a_stage_are_listed_and_summed(
    tmp_path: Path, recording: Recording
) -> None:
    ncu = handing_out(tmp_path / "tool", recording("torch_ops"))
    result = ncu_profile_plan(OpsPlan(), options=options(ncu))
    group = result.profile.groups[0]
    assert (group.name, group.value("duration")) == ("elementwise", 123808 + 2336)
    kernels = [s for s in result.profile.stages if s.name.startswith("elementwise: ")]
    assert [stage.value("duration") for stage in kernels] == [123808, 2336]
    assert [stage.name for stage in kernels] == [
        "elementwise: vectorized_elementwise_kernel",
        "elementwise: vectorized_elementwise_kernel#2",
    ]
    text = (result.out_dir / "report.md").read_text()
    assert "| elementwise | 126.1 µs |" in text and "2 kernels; at the roof" in text
    assert "left out: 1 launched outside the stages' ranges" in text


def test_a_stage_without_a_kernel_is_partial_and_named(attention: FakeNcu) -> None:
    result = ncu_profile_plan(MoreStages(), options=options(attention))
    assert result.profile.status == "PARTIAL"
    text = (result.out_dir / "report.md").read_text()
    assert "**PARTIAL: ncu saw no launch of combine: nothing was launched in that range" in text
    assert "a copy of the driver is no kernel" in text


def test_a_stage_of_thousands_of_kernels_is_cut_and_says_so(
    tmp_path: Path, recording: Recording
) -> None:
    seen = msgspec.json.encode({"elementwise": RangeSeen(24, 3000, "operators")}).decode()
    ncu = with_worker(tmp_path / "tool", recording("torch_ops"), seen=seen)
    result = ncu_profile_plan(OpsPlan(), options=options(ncu))
    assert result.profile.status == "PARTIAL"
    told = "of elementwise ncu profiled 2 kernels: those of the first 24 of 3000 operators"
    assert told in result.profile.failure
    assert result.profile.groups[0].value("duration") is None
    assert load_facts(result.out_dir / artifacts.NCU_FACTS).cut.keys() == {"elementwise"}


def test_a_plan_of_another_version_is_not_guessed(attention: FakeNcu) -> None:
    with pytest.raises(BadArgument, match="it has no other versions"):
        ncu_profile_plan(RangesPlan(), version="v2", options=options(attention))
    with pytest.raises(BadArgument, match="bench_runs=0"):
        ncu_profile_plan(RangesPlan(), bench_runs=0, options=options(attention))
    assert not attention.calls_file.exists()


def test_without_ncu_nothing_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mla_var3.measure.ncu_command.INSTALLED", ())
    ncu = FakeNcu(tmp_path / "tool", "sys.exit(0)")
    (tmp_path / "tool" / "ncu").unlink()
    with pytest.raises(MachineCannot, match="install Nsight Compute"):
        ncu_profile_plan(RangesPlan(), options=options(ncu))
    assert stored_profiles(artifacts.PROFILES) == []


def test_the_last_kernel_is_named_at_the_time_limit(tmp_path: Path) -> None:
    body = (
        "print('==PROF== Profiling \"latent\" - 0: 0%....50%....100% - 40 passes', flush=True)\n"
        "sys.stdout.write('==PROF== Profiling \"spin_wait\" - 1: 0%..'); sys.stdout.flush()\n"
        "time.sleep(60)"
    )
    ncu = FakeNcu(tmp_path / "tool", body)
    with pytest.raises(OutOfTime, match="the last kernel was spin_wait") as caught:
        ncu_profile_plan(RangesPlan(), options=options(ncu, limit_s=1.0))
    assert "kept: " in str(caught.value)
    (log,) = tmp_path.rglob("ncu.log")
    assert log.parent.name.startswith(".incomplete-") and "spin_wait" in log.read_text()
    assert stored_profiles(artifacts.PROFILES) == []


def test_what_the_program_reported_is_the_error(tmp_path: Path) -> None:
    body = (
        "Path(words[words.index('--export') + 1]).with_name('worker-error.json')"
        '.write_text(\'{"kind": "KernelFailed", "message": "stage fa failed"}\')\n'
        "print('==ERROR== The application returned an error code (4).')\nsys.exit(4)"
    )
    with pytest.raises(KernelFailed, match="stage fa failed"):
        ncu_profile_plan(RangesPlan(), options=options(FakeNcu(tmp_path / "tool", body)))
    assert stored_profiles(artifacts.PROFILES) == []
