"""The measuring child: plans rebuilt from JSON, errors handed over, outputs checked."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.support.fake_plan import FakePlan, LatentTiling

from mla_var3.core.errors import (
    BadArgument,
    KernelFailed,
    MachineCannot,
    MlaError,
    NoUsableData,
    UnreadableFile,
)
from mla_var3.core.locate import find
from mla_var3.measure import worker
from mla_var3.measure.worker_spec import plan_of, read_spec, spec_for, write_spec

ROOT = Path(__file__).parent.parent.parent


def through_json(plan: Any, folder: Path, **more: Any) -> Any:
    spec = spec_for(plan, "event", "cpu", folder, **more)
    return plan_of(read_spec(write_spec(spec, folder / "job.json")))


def test_a_plan_of_a_module_comes_back_with_problem_and_tilings(tmp_path: Path) -> None:
    plan = FakePlan(b=3, s=5, causal=True, dtype="fp16").with_tilings(
        {"latent": LatentTiling(tile_m=128, latency=None)}
    )
    assert through_json(plan, tmp_path) == plan
    spec = spec_for(plan, "ranges", "cuda:0", tmp_path, bench_runs=3, uuid="GPU-1")
    assert spec.plan == "tests.support.fake_plan:FakePlan"
    assert spec.search_path == (str(ROOT),)
    assert (spec.params["b"], spec.params["dtype"], spec.bench_runs) == (3, "fp16", 3)
    assert spec.tilings == {"latent": {"tile_m": 128, "latency": None}}


def test_a_plan_of_a_file_comes_back(tmp_path: Path) -> None:
    file = ROOT / "examples" / "control" / "copy_torch.py"
    plan = find(f"{file}:Copy")(mib=3)
    spec = spec_for(plan, "event", "cpu", tmp_path)
    assert spec.plan == f"{file}:Copy"
    assert through_json(plan, tmp_path) == plan


def test_a_plan_of_the_registry_comes_back(tmp_path: Path) -> None:
    plan = find("flash_mla", None, "torch")(b=1, t=64)
    assert through_json(plan, tmp_path) == plan


@dataclass(frozen=True, kw_only=True)
class WithFault(FakePlan):
    fault: str = ""


def test_a_plan_that_no_child_can_rebuild_is_refused(tmp_path: Path) -> None:
    class Local(FakePlan):
        pass

    with pytest.raises(BadArgument, match="Local is defined inside a function"):
        spec_for(Local(), "event", "cpu", tmp_path)
    spec_for(WithFault(), "event", "cpu", tmp_path)
    with pytest.raises(BadArgument, match=r"WithFault.fault is set but no problem\(...\) field"):
        spec_for(WithFault(fault="x"), "event", "cpu", tmp_path)


@pytest.mark.parametrize("content", [b"", b"{}", b'{"plan": 3}', b"\xff"])
def test_a_damaged_job_is_no_usable_data(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "job.json").write_bytes(content)
    with pytest.raises(NoUsableData, match=r"job\.json is no job"):
        read_spec(tmp_path / "job.json")
    assert worker.main([str(tmp_path / "job.json")]) == 5
    assert worker.main([]) == 2


@pytest.mark.parametrize(
    "error",
    [
        BadArgument("a"),
        MachineCannot("b; do c"),
        KernelFailed("d"),
        NoUsableData("e"),
        UnreadableFile("EMPTY", "f"),
        MlaError("g"),
    ],
)
def test_an_error_of_the_child_is_raised_by_its_parent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: MlaError
) -> None:
    def fail(spec: object) -> None:
        raise error

    monkeypatch.setattr(worker, "task", fail)
    job = write_spec(spec_for(FakePlan(), "event", "cpu", tmp_path), tmp_path / "job.json")
    assert worker.main([str(job)]) == error.exit_code
    with pytest.raises(MlaError) as raised:
        worker.raise_error(tmp_path)
    assert str(raised.value) == str(error)
    if not isinstance(error, UnreadableFile):
        assert type(raised.value) is type(error)


def test_a_fault_of_the_device_is_the_kernels_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(spec: object) -> None:
        raise RuntimeError("CUDA error: misaligned address\nhint")

    monkeypatch.setattr(worker, "task", fail)
    job = write_spec(spec_for(FakePlan(), "event", "cpu", tmp_path), tmp_path / "job.json")
    assert worker.main([str(job)]) == 4
    with pytest.raises(KernelFailed, match="misaligned address"):
        worker.raise_error(tmp_path)


def test_no_error_is_raised_where_none_was_reported(tmp_path: Path) -> None:
    worker.raise_error(tmp_path)
    (tmp_path / worker.ERROR).write_text("{")
    with pytest.raises(NoUsableData, match="damaged"):
        worker.raise_error(tmp_path)


def test_the_worker_imports_no_profiler(tmp_path: Path) -> None:
    from tests.measure.test_child import run

    code = (
        "import sys; sys.path[:0] = sys.argv[1:]; import mla_var3.measure.worker;"
        "print([m for m in sys.modules if m.partition('.')[0] in "
        "('torch', 'triton', 'cuda', 'ncu_report', 'rich', 'filelock', 'nvtx')])"
    )
    package = str(Path(worker.__file__).parents[2])
    site = str(Path(msgspec.__file__).parents[1])
    done = run(tmp_path, sys.executable, "-I", "-S", "-c", code, package, site)
    assert done.tail == ("[]",)
