"""`mla run` with a pretended GPU and a fake ncu: what a person sees where the counters fail."""

import sys
from pathlib import Path

import msgspec
import pytest
from tests.support.fake_ncu import FakeNcu, handing_out
from tests.support.timings import gpu_timing

from mla_var3.cli import main as cli
from mla_var3.core import artifacts
from mla_var3.core.timing import save_timing
from mla_var3.measure import tool_faults
from mla_var3.measure.gpus import Gpu
from mla_var3.measure.worker_event import RESULT, Compiled
from mla_var3.runtime.store import stored_profiles

Capture = pytest.CaptureFixture[str]
GPU = Gpu(0, "NVIDIA H200", "9.0", "GPU-1", sm_count=132)
PLAN = "tests.support.range_plans:RangesPlan"
CHILD = (
    "import json, shutil, sys; from pathlib import Path\n"
    "to = json.loads(Path(sys.argv[1]).read_text())['out_dir']\n"
    "for file in Path(sys.argv[2]).iterdir(): shutil.copy(file, to)\n"
)
TRACEBACK = (
    'Traceback (most recent call last):\\n  File "app.py", line 3, in <module>\\n'
    "RuntimeError: CUDA error: unspecified launch failure\\n"
)
PERMISSION = (
    "print('==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU '\n"
    "      'Performance Counters on the target device 0.')\n"
    f"print('''{TRACEBACK}''')\n"
    "print('==ERROR== The application returned an error code (1).')\n"
    "sys.exit(1)"
)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with an H200 whose event part gives 2402 µs; the folder that tools lie in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "tool"))
    monkeypatch.setattr(tool_faults, "place_here", lambda: "")
    for module in ("cli.run", "cli.run_refusals", "runtime.measuring", "runtime.on_device"):
        monkeypatch.setattr(f"mla_var3.{module}.cuda_devices", lambda: (GPU,))
    monkeypatch.setattr("mla_var3.runtime.measuring.is_installed", lambda language: True)
    ready = tmp_path / "ready"
    ready.mkdir()
    save_timing(gpu_timing([2.402e6] * 100), ready / artifacts.TIMING)
    (ready / RESULT).write_bytes(msgspec.json.encode(Compiled()))
    monkeypatch.setattr(
        "mla_var3.measure.worker_run.worker_command",
        lambda job: [sys.executable, "-c", CHILD, str(job), str(ready)],
    )
    return tmp_path / "tool"


@pytest.mark.parametrize(
    ("body", "code", "begins", "tells"),
    [
        (
            PERMISSION,
            3,
            "mla: ncu has no permission to read the GPU's performance counters (ERR_NVGPUCTRPERM)",
            ["NVreg_RestrictProfilingToAdminUsers=0", "--cap-add=SYS_ADMIN", "--prof_type=event"],
        ),
        (
            "print('==ERROR== Cuda driver is not compatible with Nsight Compute.')\n"
            "print('==ERROR== Failed to load Nsight Compute CUDA modules.')\nsys.exit(11)",
            3,
            "mla: this ncu is newer than driver 580.159.03 allows",
            ["--prof_type=event"],
        ),
        (
            "print('==WARNING== No kernels were profiled.')",
            5,
            "mla: ncu profiled no kernel (filter: fa/ copy/ mm/)",
            ["another process"],
        ),
    ],
    ids=["no permission", "ncu too new", "no kernels"],
)
def test_a_failure_is_one_line_with_its_code_and_keeps_the_time(
    machine: Path, capfd: Capture, body: str, code: int, begins: str, tells: list[str]
) -> None:
    FakeNcu(machine, body)
    assert cli.main(["run", PLAN]) == code
    out, err = capfd.readouterr()
    assert out == ""
    assert err.count("\n") == 1 and "Traceback" not in err
    assert err.startswith(begins)
    (stored,) = stored_profiles(artifacts.PROFILES)
    kept = (artifacts.PROFILES / stored.folder).as_posix()
    assert stored.status == "PARTIAL"
    for words in (*tells, f"; timed, and kept without counters: {kept}\n"):
        assert words in err
    assert cli.main(["report", kept]) == 0
    out, _ = capfd.readouterr()
    assert "PARTIAL   no counters: " in out and "total     2402.0 µs end to end" in out


def test_with_counters_it_ends_well(machine: Path, capfd: Capture, recording) -> None:  # type: ignore[no-untyped-def]
    handing_out(machine, recording("attention_full"))
    assert cli.main(["run", PLAN]) == 0
    out, err = capfd.readouterr()
    assert err == ""
    assert out.startswith("ranges v1 · triton · b=128 bfloat16 · NVIDIA H200 (cuda:0)")
    shown = out.partition("\nnext ")[0].splitlines()  # then commands, which are not wrapped
    assert "PARTIAL" not in out and max(map(len, shown)) <= 100
