"""`mla run … --prof_type=ncu`: what is refused without a GPU, and what is shown with one."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import mla
from tests.support.annotating import H200
from tests.support.fake_ncu import handing_out
from tests.support.range_plans import RangesPlan

from mla_var3.cli import run_ncu
from mla_var3.cli.run_options import RunOptions, Typed
from mla_var3.core.params import plan_options
from mla_var3.measure.gpus import cuda_devices
from mla_var3.runtime.profiling.ncu import ncu_profile_plan

NCU = "--prof_type=ncu"
TORCH = ("run", "flash_mla", "--language=torch", NCU)


@pytest.mark.skipif(bool(cuda_devices()), reason="a GPU is here")
def test_without_a_gpu_commands_that_work_here_are_shown(tmp_path: Path) -> None:
    done = mla(*TORCH, "--b=2", cwd=tmp_path)
    assert (done.code, done.out) == (3, "")
    lines = done.err.splitlines()
    assert lines[0].startswith("flash_mla base (torch) needs a CUDA GPU to be measured; none is")
    assert lines[1].split()[:3] == ["mla", "run", "flash_mla"] and NCU not in lines[1]
    assert lines[-1].split()[:3] == ["mla", "diagnose", "FILE.ncu-rep"]
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(bool(cuda_devices()), reason="a GPU is here")
@pytest.mark.parametrize(
    ("words", "beginning"),
    [
        (("--target=h200",), "mla: --target is what static compiles for; ncu runs on --device"),
        (("--bench_runs=0",), "mla: --bench_runs=0: must be at least 1"),
        (("--cache=hot",), "mla: --cache=hot: cold or warm"),
    ],
)
def test_options_without_a_meaning(words: tuple[str, ...], beginning: str, tmp_path: Path) -> None:
    done = mla(*TORCH, *words, cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(beginning) and done.err.count("\n") == 1


@pytest.fixture
def on_h200(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recording: Callable[[str], Path]
) -> dict[str, Any]:
    """The recipe on a pretended H200; what it was asked for."""
    ncu = handing_out(tmp_path / "tool", recording("attention_full"))
    asked: dict[str, Any] = {}

    def profile(plan: Any, out_dir: Any, version: Any, runs: Any, options: Any) -> Any:
        asked.update(runs=runs, cache=options.cache, limit_s=options.limit_s, seed=options.seed)
        given = dataclasses.replace(options, gpu=H200, environment=ncu.environment)
        return ncu_profile_plan(plan, out_dir, version, runs, given)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(run_ncu, "ncu_profile_plan", profile)
    return asked


def typed(**run: Any) -> Typed:
    (batch,) = (option for option in plan_options(RangesPlan) if option.name == "b")
    return Typed(RunOptions(prof_type="ncu", **run), {batch: 128})


def test_the_screen_and_the_commands_that_follow(
    on_h200: dict[str, Any], capfd: pytest.CaptureFixture[str]
) -> None:
    plan = RangesPlan()
    options = typed(bench_runs=1, cache="warm", limit_s=90, seed=3)
    assert run_ncu.run_ncu(plan, options, "cuda:0", "mla run ranges") == 0
    assert on_h200 == {"runs": 1, "cache": "warm", "limit_s": 90.0, "seed": 3}
    out, err = capfd.readouterr()
    lines = out.splitlines()
    assert err == ""  # no terminal: no progress
    assert lines[0].startswith("ranges v1 · triton · b=128 bfloat16 · NVIDIA H200 (cuda:0)")
    assert "warm caches" in lines[1]
    (folder,) = Path("out/profiles/ncu/ranges_v1/b128_bf16").iterdir()
    assert f"report    {folder.as_posix()}/report.md" in out
    assert f"mla diagnose {folder.as_posix()}/profile.ncu-rep" in out
    assert "mla run ranges --b=128 " in out
    assert max(map(len, lines)) <= 110  # a path of a command is never cut


def test_one_document_for_programs(
    on_h200: dict[str, Any], capfd: pytest.CaptureFixture[str]
) -> None:
    assert run_ncu.run_ncu(RangesPlan(), typed(json=True), "cuda:0", "mla run ranges") == 0
    out = capfd.readouterr().out
    document = json.loads(out)
    assert out.count("\n") == 1 and document["format"] == "mla_var3/diagnosis"
    assert [stage["name"] for stage in document["profile"]["stages"]] == ["fa", "copy", "mm"]
    assert document["profile"]["mode"] == "ncu"
