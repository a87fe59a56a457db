"""A stage of many launches is cut, and what ncu fails at takes nothing of what was timed before."""

import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.annotating import options, timed
from tests.support.fake_ncu import COPY, FakeNcu
from tests.support.range_plans import OpsPlan, RangesPlan, TogetherPlan

from mla_var3.core import artifacts
from mla_var3.core.annotation import load_run
from mla_var3.core.errors import MachineCannot, MlaError, NoUsableData, OutOfTime
from mla_var3.core.record_file import load_profile
from mla_var3.measure.ncu_run import limit
from mla_var3.render.annotation_screen import AnnotationRequest
from mla_var3.render.contract_grammar import parse
from mla_var3.runtime.annotation_reports import screen
from mla_var3.runtime.diagnosing import diagnose_file
from mla_var3.runtime.profiling.annotation import annotation_profile_plan
from mla_var3.runtime.reporting import make_reports
from mla_var3.runtime.store import stored_profiles

Recording = Callable[[str], Path]
SEEN = """
seen = {seen!r}
(report.parent / "worker-ranges.json").write_text(seen)
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def cutting(folder: Path, report: Path, seen: dict[str, list[Any]]) -> FakeNcu:
    """An ncu whose program says what lay inside its ranges: operators inside, of, cut."""
    names = ("inside", "operators", "cut")
    told = {stage: dict(zip(names, words, strict=True)) for stage, words in seen.items()}
    body = COPY.format(names=("k",), report=str(report)) + SEEN.format(seen=json.dumps(told))
    return FakeNcu(folder, body)


def shown(folder: Path) -> str:
    return screen(diagnose_file(folder), folder, AnnotationRequest(folder="out"), "cuda:0")


def test_a_cut_stage_is_partial_and_no_sum_stands_for_it(
    tmp_path: Path, recording: Recording
) -> None:
    """torch_ops.ncu-rep holds two launches of `elementwise`: 123808 and 2336 ns."""
    seen = {"elementwise": [48, 3104, "operators"], "cumsum": [2, 2, ""]}
    ncu = cutting(tmp_path / "tool", recording("torch_ops"), seen)
    result = annotation_profile_plan(OpsPlan(), options=options(ncu))
    profile = result.profile
    why = "those of the first 48 of 3104 operators of torch, the most that are profiled of a stage"
    assert profile.status == "PARTIAL"
    assert profile.failure.startswith(f"of elementwise ncu profiled 2 kernels: {why}")
    assert load_run(result.out_dir / artifacts.ANNOTATION).cut == {"elementwise": why}
    group, whole = profile.groups
    assert (group.name, group.kernel) == ("elementwise", "first 2 kernels")
    for key in ("duration", "cycles_elapsed", "dram_read_bytes", "dram_write_bytes"):
        assert group.value(key) is None and group.missing[key] == f"not known: {why}"
    assert group.value("dram") is not None  # percentages of what was profiled stay
    assert (whole.name, whole.kernel) == ("cumsum", "2 kernels")
    assert whole.value("duration") is not None  # the other stage was seen whole
    assert result.diagnoses.total_ns is None
    text = shown(result.out_dir)
    assert "PARTIAL   of elementwise ncu profiled 2 kernels" in text
    row = next(line for line in text.splitlines() if line.startswith("elementwise"))
    assert row.split()[1] == "n/a" and "first 2 kernels" in row
    assert "126.1" not in text  # 123808 + 2336 ns: no sum of a part is shown
    assert not any("sum to" in text for text in profile.warnings)
    report = (result.out_dir / "report.md").read_text()
    assert re.search(r"share of ncu's time \| n/a \|", report)
    assert "elementwise was cut: those of the first 48 of 3104" in report
    assert load_profile(result.out_dir) == profile


def test_even_one_launch_of_a_cut_stage_is_not_the_stage(
    tmp_path: Path, recording: Recording
) -> None:
    seen = {"fa": [1, 90, "seconds"], "copy": [0, 0, ""], "mm": [0, 0, "seconds"]}
    ncu = cutting(tmp_path / "tool", recording("attention_full"), seen)
    profile = annotation_profile_plan(RangesPlan(), options=options(ncu)).profile
    assert [group.name for group in profile.groups] == ["fa", "mm"]
    assert profile.groups[0].kernel == "first 1 kernel"
    assert profile.groups[0].value("duration") is None
    start = "of fa ncu profiled 1 kernel: those of the first 1 of 90 operators of torch, then "
    assert profile.failure.startswith(start + "the ")


def test_a_stage_that_was_not_reached_says_so(tmp_path: Path, recording: Recording) -> None:
    seen = {"fa": [0, 0, ""], "copy": [0, 0, ""], "mm": [0, 0, ""], "late": [0, 0, "seconds"]}
    ncu = cutting(tmp_path / "tool", recording("attention_full"), seen)
    profile = annotation_profile_plan(Late(), options=options(ncu)).profile
    over = f"the {limit('budget_s'):.0f} s for ncu were over"
    assert profile.failure == f"late was not profiled: {over}"
    assert [stage.name for stage in profile.stages] == ["fa", "copy", "mm"]


class Late(RangesPlan):
    KERNEL = "late"

    def kernels(self) -> Any:
        from dataclasses import replace

        own = super().kernels()
        return (*own, replace(own[1], name="late"))


def test_ncu_is_told_the_most_launches_and_the_child_its_limits(
    tmp_path: Path, recording: Recording
) -> None:
    keep = "shutil.copy(words[-1], calls.parent / 'job.json')"
    body = COPY.format(names=("k",), report=str(recording("attention_full"))) + keep
    ncu = FakeNcu(tmp_path / "tool", body)
    annotation_profile_plan(RangesPlan(), options=options(ncu))
    pairs = dict(itertools.pairwise(ncu.calls[0]))
    assert pairs["--launch-count"] == str(3 * int(limit("launches")))
    job = json.loads((tmp_path / "tool" / "job.json").read_text())
    assert job["settings"] == {
        "operators": limit("operators"),
        "seconds": limit("budget_s"),
    }


def test_where_ncu_stops_counting_the_last_stage_is_cut(
    tmp_path: Path, recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three launches of at most three: nobody knows whether `mm` had more."""
    monkeypatch.setattr("mla_var3.runtime.profiling.annotation_gpu.most_launches", lambda stages: 3)
    seen = {"fa": [0, 0, ""], "copy": [0, 0, ""], "mm": [0, 0, ""]}
    ncu = cutting(tmp_path / "tool", recording("attention_full"), seen)
    profile = annotation_profile_plan(RangesPlan(), options=options(ncu)).profile
    assert profile.failure == ("of mm ncu profiled 1 kernel: ncu stopped after 3 launches in all")
    assert [group.name for group in profile.groups] == ["mm"]


NO_PERMISSION = (
    "print('==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU')\n"
    "sys.exit(1)"
)


@pytest.mark.parametrize(
    ("body", "kind", "code", "why"),
    [
        (NO_PERMISSION, MachineCannot, 3, "ERR_NVGPUCTRPERM"),
        ("'--version' in words or time.sleep(60)", OutOfTime, 7, "1 s"),
        ("sys.exit(0)", NoUsableData, 5, "No kernels|no kernel"),
        (
            "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
            MlaError,
            None,
            "SIGSEGV|139|code",
        ),
    ],
)
def test_what_was_timed_is_kept_where_ncu_fails(
    tmp_path: Path, body: str, kind: type[MlaError], code: int | None, why: str
) -> None:
    ncu = FakeNcu(tmp_path / "tool", body)
    limited = options(ncu, limit_s=1.0 if kind is OutOfTime else 20.0)
    with pytest.raises(kind, match=why) as error:
        annotation_profile_plan(RangesPlan(), options=limited)
    assert code is None or error.value.exit_code == code
    (stored,) = stored_profiles(artifacts.PROFILES)
    folder = artifacts.PROFILES / stored.folder
    assert str(error.value).endswith(f"; timed, and kept without counters: {folder.as_posix()}")
    assert stored.status == "PARTIAL" and not stored.damage
    profile = load_profile(folder)
    assert profile.failure.startswith("no counters: ")
    assert profile.end_to_end is not None
    assert profile.end_to_end.value("duration") == pytest.approx(2.402e6)
    assert all(stage.value("tensor") is None for stage in profile.stages)
    files = {path.name for path in folder.rglob("*") if path.is_file()}
    assert {"timing.json", "ncu.log", "report.md", "params.json", "contract.json"} <= files
    assert not files & {"worker-job.json", "worker-error.json", "worker-ranges.json"}
    report = (folder / "report.md").read_text()
    assert "**PARTIAL: no counters: " in report and "2402.0 µs end to end" in report
    text = shown(folder)
    assert "PARTIAL   no counters: " in text and "ncu without a result" in text
    assert "572 TFLOP/s" in text  # 1.37439e12 FLOP / 2402 µs
    sheet = parse((folder / "contract.md").read_text())
    assert ("end to end", "2402.0") in [(row.stage, row.duration_us) for row in sheet.stages]
    for name, content in make_reports(folder).files().items():
        assert (folder / name).read_bytes() == content, name


def test_an_interruption_in_the_ncu_part_keeps_what_was_timed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*words: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("mla_var3.runtime.profiling.annotation_gpu.record_ranges", interrupted)
    with pytest.raises(KeyboardInterrupt):
        annotation_profile_plan(RangesPlan(), options=options(FakeNcu(tmp_path / "tool", "")))
    (stored,) = stored_profiles(artifacts.PROFILES)
    profile = load_profile(artifacts.PROFILES / stored.folder)
    assert profile.failure == "no counters: interrupted while ncu ran"


def test_where_nothing_was_timed_nothing_is_stored(tmp_path: Path) -> None:
    ncu = FakeNcu(tmp_path / "tool", NO_PERMISSION)
    with pytest.raises(MachineCannot, match="ERR_NVGPUCTRPERM"):
        annotation_profile_plan(TogetherPlan(), options=options(ncu, time_plan=timed()))
    assert stored_profiles(artifacts.PROFILES) == []
