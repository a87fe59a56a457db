"""The recipe of event mode with a stand-in for the measuring child: files, record, failures."""

import json
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
from tests.support.fake_plan import FakePlan
from tests.support.timings import cpu_timing, gpu_timing, monitored

from mla_var3.core import artifacts
from mla_var3.core.errors import (
    BadArgument,
    KernelFailed,
    MachineCannot,
    MlaError,
    NoUsableData,
    OutOfTime,
    Unreliable,
)
from mla_var3.core.locate import find
from mla_var3.core.plan import CompiledStage, Cost, Kernel, Tiling, problem
from mla_var3.core.record_file import load_profile
from mla_var3.core.timing import Clock, Timing, WarmUp, load_timing, save_timing
from mla_var3.measure.gpus import Gpu
from mla_var3.measure.worker_event import Compiled
from mla_var3.measure.worker_run import worker_environment
from mla_var3.render.contract_grammar import parse
from mla_var3.runtime.measuring import MeasureOptions, kept_on_failure
from mla_var3.runtime.profiling.event import event_profile_plan
from mla_var3.runtime.reporting import make_reports
from mla_var3.runtime.store import stored_profiles

UUID = "GPU-1c0f0000-0000-0000-0000-000000000000"
H200 = Gpu(0, "NVIDIA H200", "9.0", UUID)
PLAN = FakePlan(b=32, s=16)
COMPILED = CompiledStage(
    arch="sm_90",
    files=("latent.sass",),
    registers=168,
    spill_bytes=0,
    static_shared_bytes=156216,
    dynamic_shared_bytes=0,
    threads=384,
    opcodes={"HGMMA.64x64x16.F32.BF16": 2},
)
WORKER = """
import json, shutil, sys
from pathlib import Path
job = json.loads(Path(sys.argv[1]).read_text())
for file in Path(sys.argv[2]).glob("*.json"):
    shutil.copy(file, job["out_dir"])
print("job", job["device"], job["uuid"], job["compile_for"], job["bench_runs"], job["cache"])
{script}
"""

Child = Callable[..., None]


@dataclass(frozen=True, kw_only=True)
class OneStage(FakePlan):
    """The same problem in one stage of 5e11 FLOP."""

    KERNEL = "one"
    flops: float = problem(5e11, "work", "FLOP")

    def plan_empty(self) -> Kernel:  # type: ignore[override]
        return Kernel(
            name="latent", tiling=Tiling(), cost=Cost(self.flops, 1e8, 0.0), grid=(256, 32, 1)
        )


@pytest.fixture
def child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Child:
    """`child(timing, script)`: the child writes that timing and then runs the script."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("mla_var3.runtime.measuring.cuda_devices", lambda: (H200,))
    monkeypatch.setattr("mla_var3.runtime.measuring.is_installed", lambda language: True)
    ready = tmp_path / "ready"
    ready.mkdir()

    def prepare(timing: Timing | None, script: str = "", compiled: Compiled | None = None) -> None:
        if timing is not None:
            save_timing(timing, ready / artifacts.TIMING)
            found = compiled or Compiled({"latent": COMPILED}, {"combine": "no tileiras here"})
            (ready / "worker.json").write_bytes(msgspec.json.encode(found))
        code = WORKER.format(script=script)
        monkeypatch.setattr(
            "mla_var3.measure.worker_run.worker_command",
            lambda job: [sys.executable, "-c", code, str(job), str(ready)],
        )

    return prepare


def test_the_files_have_the_names_of_the_specification(child: Child, tmp_path: Path) -> None:
    child(gpu_timing([1000e3] * 200))
    result = event_profile_plan(PLAN, tmp_path / "p", bench_runs=200)
    files = {p.relative_to(result.out_dir).as_posix() for p in result.out_dir.rglob("*.*")}
    assert files == {
        "params.json",
        "profile.json",
        "timing.json",
        "worker.log",
        "report.md",
        "contract.md",
        "contract.json",
        "tiling/latent.json",
        "tiling/latent/autotuning.json",
        "tiling/combine.json",
        "tiling/combine/autotuning.json",
    }
    log = (result.out_dir / "worker.log").read_text()
    assert log == f"job cuda:0 {UUID} sm_90 200 cold\n"
    params = json.loads((result.out_dir / "params.json").read_text())
    assert (params["b"], params["s"], params["device"]) == (32, 16, "NVIDIA H200")


def test_a_secret_of_ours_does_not_reach_the_child(
    child: Child, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_TOKEN", "s3cr3t")
    monkeypatch.setenv("CUDA_HOME", "/opt/cuda")
    script = "import os; print(sorted(os.environ), os.environ['CUDA_HOME'])"
    child(gpu_timing([1000e3] * 200), script)
    result = event_profile_plan(PLAN, tmp_path / "p")
    log = (result.out_dir / "worker.log").read_text()
    assert "'PATH'" in log and log.endswith(" /opt/cuda\n")
    assert "MY_TOKEN" not in log
    assert "MY_TOKEN" not in worker_environment()


def test_a_pipeline_is_timed_as_a_whole(child: Child, tmp_path: Path) -> None:
    """5.84e11 FLOP in 1 ms are 584 TFLOP/s of 989.5."""
    child(gpu_timing([1000e3] * 200))
    profile = event_profile_plan(PLAN, tmp_path / "p").profile
    whole = profile.end_to_end
    assert whole is not None
    assert whole.value("duration") == 1000e3
    assert whole.value("achieved_tflops") == pytest.approx(584.115552256)
    assert whole.value("roofline_share") == pytest.approx(100 * 584.115552256 / 989.5)
    assert whole.value("sm_clock") == 1620e6
    assert whole.value("cycles") == pytest.approx(1.62e6)
    latent, combine = profile.stages
    for stage in (latent, combine):
        assert stage.value("duration") is None
        assert "stage times come from annotation" in stage.missing["duration"]
    assert latent.value("registers") == 168
    assert combine.missing["registers"] == "no tileiras here"
    assert profile.environment.device == "NVIDIA H200"
    assert profile.environment.clocks_locked is False
    assert load_profile(tmp_path / "p") == profile


def test_every_sample_is_kept(child: Child, tmp_path: Path) -> None:
    samples = [1000e3 + ns for ns in range(300)]
    child(gpu_timing(samples))
    whole = event_profile_plan(PLAN, tmp_path / "p").profile.end_to_end
    assert whole is not None
    tenths = statistics.quantiles(samples, n=10, method="inclusive")
    shown = [whole.value(f"duration{which}") for which in ("", "_p10", "_p90", "_min")]
    assert shown == [tenths[4], tenths[0], tenths[8], 1000e3]
    assert load_timing(tmp_path / "p" / "timing.json").series.samples_ns == tuple(samples)
    assert (tmp_path / "p" / "profile.json").stat().st_size < 8192 + 2 * 8192


def test_the_contract_has_the_whole_with_its_duration(child: Child, tmp_path: Path) -> None:
    child(gpu_timing([1000e3] * 200))
    result = event_profile_plan(PLAN, tmp_path / "p")
    sheet = parse((result.out_dir / "contract.md").read_text())
    assert [(row.stage, row.duration_us) for row in sheet.stages] == [
        ("latent", "n/a"),
        ("combine", "n/a"),
        ("end to end", "1000.0"),
    ]
    assert sheet.bottleneck == "Compute"
    assert sheet.root_cause.startswith("from the model: the FLOPs need 590.3 µs at the peak")


def test_the_only_stage_has_the_time_of_the_whole(child: Child, tmp_path: Path) -> None:
    child(gpu_timing([1000e3] * 200))
    result = event_profile_plan(OneStage(), tmp_path / "p")
    assert result.profile.stages[0].value("duration") == 1000e3
    sheet = parse((result.out_dir / "contract.md").read_text())
    assert [(row.stage, row.duration_us) for row in sheet.stages] == [("latent", "1000.0")]


def test_reports_can_be_made_again_from_the_files(child: Child, tmp_path: Path) -> None:
    child(gpu_timing([1000e3] * 200))
    event_profile_plan(PLAN, tmp_path / "p")
    for name, content in make_reports(tmp_path / "p").files().items():
        assert (tmp_path / "p" / name).read_bytes() == content


def test_an_impossible_rate_is_exit_5_and_leaves_no_profile(child: Child, tmp_path: Path) -> None:
    child(gpu_timing([500e3] * 200))
    with pytest.raises(NoUsableData, match="IMPOSSIBLE 1168 TFLOP/s is 118 % of the") as error:
        event_profile_plan(PLAN, tmp_path / "p")
    assert error.value.exit_code == 5
    assert not (tmp_path / "p").exists()
    assert (tmp_path / ".incomplete-p" / "timing.json").exists()


def test_on_a_cpu_an_impossible_rate_is_a_note(child: Child, tmp_path: Path) -> None:
    child(cpu_timing([1e6] * 200))
    plan = _torch_plan()
    result = event_profile_plan(plan, tmp_path / "p", options=MeasureOptions(device="cpu"))
    assert result.profile.warnings[0].startswith("IMPOSSIBLE")
    assert result.profile.environment.device == "A CPU"


def _torch_plan():  # type: ignore[no-untyped-def]
    return find("flash_mla", None, "torch")(b=1, h=8, s=4, t=1024)


def test_a_driver_that_does_not_tell_of_a_lock_is_not_answered_for(
    child: Child, tmp_path: Path
) -> None:
    silent = Clock(source="nvidia-smi", sm_mhz=1620.0, missing={"reasons": "not told"})
    child(gpu_timing([1000e3] * 200, clock=silent))
    result = event_profile_plan(PLAN, tmp_path / "p")
    assert result.profile.environment.clocks_locked is None
    report = (result.out_dir / "report.md").read_text()
    assert "NVIDIA H200 · lock of clocks not told" in report
    assert "1.62 GHz (nvidia-smi, once in the run); lock of clocks not told" in report
    assert "- not told whether the clocks are locked: times of separate runs may" in report


def test_a_launch_bound_run_has_no_percent_of_peak(child: Child, tmp_path: Path) -> None:
    child(gpu_timing([10e3] * 200))
    result = event_profile_plan(OneStage(flops=1e9), tmp_path / "p")
    report = (result.out_dir / "report.md").read_text()
    assert "launch-bound: the timer's floor of 2.1 µs is 21 % of the median" in report
    assert result.profile.end_to_end is not None
    assert result.profile.end_to_end.value("roofline_share") is None


@pytest.mark.parametrize(
    ("script", "kind", "why"),
    [
        ("import time; time.sleep(60)", OutOfTime, "did not end within 1 s and was stopped"),
        ("raise SystemExit(7)", KernelFailed, "ended with code 7: job cuda:0"),
        (
            "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
            KernelFailed,
            "was ended by SIGSEGV; it said: job cuda:0",
        ),
        (
            "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
            KernelFailed,
            "was ended by SIGKILL: out of memory?",
        ),
        ("raise TypeError('odd')", MlaError, "the measuring child failed: TypeError: odd"),
        (
            "Path(job['out_dir'], 'worker-error.json').write_text("
            '\'{"kind": "MachineCannot", "message": "not enough memory"}\'); sys.exit(3)',
            MachineCannot,
            "not enough memory",
        ),
        (
            "Path(job['out_dir'], 'timing.json').unlink()",
            NoUsableData,
            "the measuring child wrote no timing.json",
        ),
    ],
)
def test_a_child_that_fails_is_one_line_and_no_profile(
    child: Child, tmp_path: Path, script: str, kind: type[MlaError], why: str
) -> None:
    child(gpu_timing([1000e3] * 200), f"sys.stdout.flush(); {script}")
    limit = 1.0 if kind is OutOfTime else 20.0
    root = tmp_path / "out" / "event" / "k" / "params"
    with pytest.raises(kind) as error:
        event_profile_plan(PLAN, root / "p", options=MeasureOptions(limit_s=limit))
    assert why in str(error.value)
    assert "; kept: " in str(error.value)
    assert not (root / "p").exists()
    kept = root / ".incomplete-p" / "worker.log"
    assert kept.read_text().startswith("job cuda:0")
    assert stored_profiles(tmp_path / "out") == []


def test_the_device_of_another_process_is_said(
    child: Child, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mla_var3.runtime.profiling.event.other_processes", lambda uuid: 2)
    child(gpu_timing([1000e3] * 200))
    result = event_profile_plan(PLAN, tmp_path / "p")
    assert any(text.startswith("shared GPU") for text in result.profile.warnings)
    assert load_timing(tmp_path / "p" / "timing.json").shared_gpu is True


def test_what_is_refused_before_anything_runs(child: Child, tmp_path: Path) -> None:
    concurrent = find("demo_concurrent", None, "torch")()
    cases: list[tuple[object, dict[str, object], type[MlaError], str]] = [
        (concurrent, {}, BadArgument, "2 streams: event times one stream only; --prof_type=nsys"),
        (PLAN, {"bench_runs": 0}, BadArgument, "--bench_runs=0"),
        (PLAN, {"options": MeasureOptions(device="cpu")}, MachineCannot, "needs a CUDA GPU"),
        (PLAN, {"options": MeasureOptions(device="cuda:3")}, MachineCannot, "no cuda:3 here"),
        (PLAN, {"options": MeasureOptions(device="tpu")}, BadArgument, "no device 'tpu'"),
        (PLAN, {"version": "v9"}, BadArgument, "plan of its own"),
    ]
    for plan, words, kind, why in cases:
        with pytest.raises(kind, match=why):
            event_profile_plan(plan, tmp_path / "p", **words)  # type: ignore[arg-type]
    assert not (tmp_path / "p").exists()


def test_where_it_goes_without_out_dir(
    child: Child, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    child(gpu_timing([1000e3] * 200))
    parts = event_profile_plan(PLAN).out_dir.parts
    params = "b32_s16_t4096_h128_d128_k512_p64_bf16"
    assert parts[:5] == ("out", "profiles", "event", "fake_v1", params)


def test_a_log_that_says_no_more_than_the_error_is_not_kept(tmp_path: Path) -> None:
    (tmp_path / "worker.log").write_text("not enough memory\n")
    for text, kept in (("not enough memory", False), ("something else", True)):
        with pytest.raises(MachineCannot, match=text):
            with kept_on_failure(tmp_path, tmp_path / "p", ()):
                raise MachineCannot(text)
        assert (tmp_path / ".incomplete-p").exists() == kept


def strict(child: Child, folder: Path, timing: Timing) -> Unreliable:
    child(timing)
    with pytest.raises(Unreliable) as error:
        event_profile_plan(PLAN, folder, options=MeasureOptions(strict=True))
    return error.value


def test_strict_refuses_a_run_that_cannot_be_relied_on_and_keeps_it(
    child: Child, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mla_var3.runtime.profiling.event.other_processes", lambda uuid: 1)
    monkeypatch.setattr("mla_var3.runtime.profiling.event.locked_to_mhz", lambda uuid: 1700.0)
    unsettled = WarmUp(calls=9, busy_ns=5e9, settled=False)
    error = strict(child, tmp_path / "p", gpu_timing([1000e3] * 200, warm_up=unsettled))
    assert error.exit_code == 6
    assert str(error) == (
        "measurement unreliable (--strict): not settled, lock not held, shared GPU; stored: "
        f"{tmp_path / 'p'}"
    )
    assert load_profile(tmp_path / "p").status == "OK"
    clock = load_timing(tmp_path / "p" / "timing.json").clock
    assert clock is not None and (clock.lock_mhz, clock.lock_held) == (1700.0, False)


def test_strict_lets_a_quiet_run_pass(child: Child, tmp_path: Path) -> None:
    child(gpu_timing([1000e3] * 200))
    result = event_profile_plan(PLAN, tmp_path / "p", options=MeasureOptions(strict=True))
    assert result.profile.status == "OK"


def test_the_figures_of_the_protocol_are_in_the_record(child: Child, tmp_path: Path) -> None:
    child(monitored())
    whole = event_profile_plan(PLAN, tmp_path / "p").profile.end_to_end
    assert whole is not None
    for key, value in {
        "sm_clock": 1392e6,
        "sm_clock_p5": 1365e6,
        "sm_clock_p95": 1425e6,
        "cycles": 1602.4e3 * 1392 / 1e3,
        "cap_active": 93.0,
        "power": 698.0,
        "power_average": 690.0,
        "power_limit": 700.0,
        "launches": 1,
        "burst_duration": 1391e3,
        "burst_samples": 90,
        "burst_sm_clock": 1605e6,
        "burst_tflops": 584.115552256e3 / 1391,
    }.items():
        assert whole.value(key) == pytest.approx(value), key
    low, high = whole.value("duration_low"), whole.value("duration_high")
    assert low is not None and high is not None and low <= 1602.4e3 <= high
    assert (tmp_path / "p" / "profile.json").stat().st_size < 8192 + 2 * 8192


def test_a_baseline_shows_how_many_kernels_it_is(child: Child, tmp_path: Path) -> None:
    """TileGym issue 82: the baseline was six kernels that nobody mentioned."""
    child(gpu_timing([1000e3] * 200, kernels={"mm": 2, "softmax": 4}))
    result = event_profile_plan(PLAN, tmp_path / "p")
    report = (result.out_dir / "report.md").read_text()
    assert "| kernels | 6 in one call: 2 × mm, 4 × softmax |" in report


def test_the_regime_reaches_the_child(child: Child, tmp_path: Path) -> None:
    child(gpu_timing([1000e3] * 200), 'print("regime", job["regime"])')
    result = event_profile_plan(PLAN, tmp_path / "p", options=MeasureOptions(regime="burst"))
    assert "regime burst" in (result.out_dir / "worker.log").read_text()
