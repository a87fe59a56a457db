"""The task for profilers, with stand-ins for torch and the plan: what lies inside which range."""

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.support.fake_plan import FakePlan

from mla_var3.core.errors import BadArgument, KernelFailed
from mla_var3.measure import worker_ranges
from mla_var3.measure.worker_prepare import Prepared
from mla_var3.measure.worker_spec import WorkerSpec, spec_for


class Log(list[str]):
    """Everything that the device was asked for, in order."""

    def torch(self) -> SimpleNamespace:
        nvtx = SimpleNamespace(
            range_push=lambda name: self.append(f"push {name}"),
            range_pop=lambda: self.append("pop"),
        )
        cuda = SimpleNamespace(nvtx=nvtx, synchronize=lambda: self.append("wait"))
        return SimpleNamespace(cuda=cuda)


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Log:
    log = Log()
    monkeypatch.setitem(sys.modules, "torch", log.torch())

    def prepare(spec: WorkerSpec) -> Prepared:
        made = FakePlan().plan_empty()
        stages = tuple(
            replace(kernel, launch=lambda name=kernel.name: log.append(name))
            for kernel in made.stages
        )
        return Prepared(FakePlan(), (), replace(made, stages=stages), lambda: log.append("call"))

    monkeypatch.setattr(worker_ranges, "prepare", prepare)
    return log


@pytest.mark.parametrize(("runs", "launches"), [(None, 1), (3, 3)])
def test_each_stage_has_a_range_of_its_name_after_the_warm_up(
    log: Log, tmp_path: Path, capsys: pytest.CaptureFixture[str], runs: int | None, launches: int
) -> None:
    worker_ranges.run_ranges(spec_for(FakePlan(), "ranges", "cuda:0", tmp_path, bench_runs=runs))
    assert log == [
        *["call"] * 3,
        "wait",
        *("push latent", *["latent"] * launches, "pop", "wait"),
        *("push combine", *["combine"] * launches, "pop", "wait"),
    ]
    assert capsys.readouterr().out == "stages: latent, combine\n"


def test_a_fault_of_the_device_is_the_kernels(
    log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise RuntimeError("CUDA error: misaligned address")

    monkeypatch.setattr(sys.modules["torch"].cuda, "synchronize", fail)
    with pytest.raises(KernelFailed, match="misaligned address"):
        worker_ranges.run_ranges(spec_for(FakePlan(), "ranges", "cuda:0", tmp_path))


def test_a_job_may_ask_for_compiled_artifacts_after_the_ranges(
    log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compile_stages(spec: WorkerSpec, prepared: Prepared, folder: Path) -> None:
        log.append(f"compile for {spec.compile_for} into {folder.name}")

    monkeypatch.setattr(worker_ranges, "compile_stages", compile_stages)
    worker_ranges.run_ranges(spec_for(FakePlan(), "ranges", "cuda:0", tmp_path))
    assert not any("compile" in entry for entry in log)
    worker_ranges.run_ranges(
        spec_for(FakePlan(), "ranges", "cuda:0", tmp_path, compile_for="sm_90")
    )
    assert log[-2:] == ["wait", f"compile for sm_90 into {tmp_path.name}"]


def test_ranges_need_a_gpu(tmp_path: Path) -> None:
    with pytest.raises(BadArgument, match="need a CUDA device"):
        worker_ranges.run_ranges(spec_for(FakePlan(), "ranges", "cpu", tmp_path))
