"""`mla doctor` on invented machines: fake tools on a search path, a GPU that is made up."""

import json
import lzma
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support import fake_ncu, fake_nsys

from mla_var3 import conf
from mla_var3.cli import main as cli
from mla_var3.core.comparison_verdict import Effect, ShapeVerdict
from mla_var3.core.doctor import Check
from mla_var3.core.errors import KernelFailed, MachineCannot, Unreliable
from mla_var3.core.record import Metric, Profile, Stage
from mla_var3.measure import gpu_lock, ncu_probe, noise_floor, probe_kernel, profilers
from mla_var3.measure.gpus import Gpu
from mla_var3.measure.ncu_metrics import MetricSet
from mla_var3.measure.ncu_run import NcuRun
from mla_var3.render.doctor import render_findings
from mla_var3.runtime.doctor import compilers, device, examine, noise, place
from mla_var3.runtime.doctor import profilers as profiler_probes
from mla_var3.runtime.doctor.probing import Machine, failed

EXAMPLES = Path(__file__).parents[2] / "examples"
H200 = Gpu(index=0, name="NVIDIA H200", capability="9.0", uuid="GPU-1c0f", sm_count=132)
SMI = """#!{python}
import sys
words = " ".join(sys.argv[1:])
with open({calls!r}, "a") as file:
    file.write(words + "\\n")
if "--query-compute-apps" in words:
    print({processes!r}, end="")
elif "driver_version" in words:
    print("580.159.04")
elif "clocks.sm" in words:
    print("1755, 3201, 1980, 50, 300.0")
else:
    print({reasons!r})
"""
UNLOCKED = "Not Active, Not Active, Not Active, Not Active, Not Active, Not Active"
LOCKED = "Not Active, Not Active, Not Active, Not Active, Not Active, Active"


def smi(folder: Path, processes: str = "", reasons: str = UNLOCKED) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    tool = folder / "nvidia-smi"
    facts = {"processes": processes, "reasons": reasons, "calls": str(folder / "calls.txt")}
    tool.write_text(SMI.format(python=sys.executable, **facts))
    tool.chmod(0o755)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Machine]:
    """A machine whose tools lie in `bin`; its cache and its store are its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    work = tmp_path / "work"
    work.mkdir()

    def make(gpu: Gpu | None = H200, path: str = "", **more: object) -> Machine:
        search = path or str(tmp_path / "bin")
        return Machine(
            gpu=gpu, folder=work, root=tmp_path / "out", environment={"PATH": search}, **more
        )

    return make


def test_a_gpu_with_its_driver_and_its_other_users(
    machine: Callable[..., Machine], tmp_path: Path
) -> None:
    smi(tmp_path / "bin")
    found = device.gpu(machine())
    assert (found.state, found.text) == ("ok", "NVIDIA H200, driver 580.159.04, not shared")
    smi(tmp_path / "bin", processes="4711\n4712\n")
    found = device.gpu(machine())
    assert found.state == "warn" and "2 other processes on it" in found.text and found.fix
    assert device.gpu(machine(gpu=None)).state == "FIX"


UNTOLD = ", ".join(["[N/A]"] * 6)


@pytest.mark.parametrize(
    ("root", "reasons", "told"),
    [
        (True, UNLOCKED, ("warn", "you are root", "scripts/lock-gpu-clock.sh")),
        (False, UNLOCKED, ("warn", "you may not lock them here", "mla compare")),
        (False, LOCKED, ("ok", "locked", "")),
        (False, UNTOLD, ("warn", "lock not told", "mla compare")),
    ],
)
def test_clocks_are_asked_for_and_never_changed(
    machine: Callable[..., Machine],
    monkeypatch: pytest.MonkeyPatch,
    root: bool,
    reasons: str,
    told: tuple[str, str, str],
) -> None:
    probed = machine()
    smi(Path(probed.environment["PATH"]), reasons=reasons)
    monkeypatch.setattr(os, "geteuid", lambda: 0 if root else 1000)
    found = device.clocks(probed)
    state, words, fix = told
    assert found.state == state and words in found.text and fix in found.fix
    calls = (Path(probed.environment["PATH"]) / "calls.txt").read_text()
    assert "query" in calls
    for change in ("-lgc", "--lock-gpu-clocks", "-rgc", "-pm", "-ac", "-pl"):
        assert change not in calls.split()


def devices(path: Path, tflops: float) -> Path:
    """The device of the README, with a dense bf16 peak of so many TFLOP/s at 1830 MHz."""
    entry = {
        "chip": "GH100", "compute_capability": "9.0", "sm_count": 132, "dram_gbps": 4800,
        "peaks": {"bf16": {"tflops": tflops, "clock_mhz": 1830}}, "memory_gb": 141,
        "l2_bytes": 52428800, "shared_memory_per_sm_bytes": 233472,
        "shared_memory_per_block_bytes": 232448, "registers_per_sm": 65536,
        "clock_boost_mhz": 1830, "clock_max_mhz": 1980,
    }  # fmt: skip
    table = {"format": "mla_var3/devices", "schema_version": 1, "devices": {"Mine": entry}}
    path.write_text(json.dumps(table))
    return path


@pytest.mark.parametrize(
    ("tflops", "words"),
    [(1979.0, "looks like the sparse figure"), (1100.0, "+11.2%"), (989.5, "")],
)
def test_a_peak_that_contradicts_the_device_is_flagged(
    machine: Callable[..., Machine], tmp_path: Path, tflops: float, words: str
) -> None:
    """H17: 132 SMs × 4096 FLOP/cycle × 1.83 GHz = 989.4 TFLOP/s dense."""
    found = device.peaks(machine(devices=devices(tmp_path / "mine.json", tflops)))
    assert [one.state for one in found] == (["FIX"] if words else ["ok"])
    assert words in found[0].text and bool(found[0].fix) == bool(words)
    if words:
        assert found[0].text.startswith("Mine: bf16") and "mine.json" in found[0].fix


def test_an_unknown_product_has_no_peaks(machine: Callable[..., Machine]) -> None:
    other = Gpu(index=0, name="NVIDIA H900", capability="9.0")
    (found,) = device.peaks(machine(gpu=other))
    assert found.state == "warn" and "NVIDIA H900 is not in the device table" in found.text


def test_counters_are_read_of_one_kernel(
    machine: Callable[..., Machine], tmp_path: Path, recording: Callable[[str], Path]
) -> None:
    fake = fake_ncu.handing_out(tmp_path / "bin", recording("zoo_a"))
    found = profiler_probes.counters(machine())
    assert found.state == "ok"
    assert found.text.startswith("readable by ncu 2025.3.1 (probe kernel: 3 metrics in ")
    (call,) = [words for words in fake.calls if "--export" in words]
    assert call[call.index("--metrics") + 1] == ",".join(conf.table("doctor")["metrics"])
    assert call[-4:] == [sys.executable, "-m", "mla_var3.measure.probe_kernel", "0"]
    assert "--launch-count" in call


def test_a_missing_permission_is_said_with_its_fix(
    machine: Callable[..., Machine], tmp_path: Path
) -> None:
    text = ("ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance "
            "Counters on the target device 0.")  # fmt: skip
    fake_ncu.FakeNcu(tmp_path / "bin", f"print({text!r}); sys.exit(1)")
    found = profiler_probes.counters(machine())
    assert found.state == "FIX" and "no permission" in found.text
    assert "NVreg_RestrictProfilingToAdminUsers=0" in found.fix + found.text


def test_another_profiler_that_holds_the_counters(
    machine: Callable[..., Machine], tmp_path: Path
) -> None:
    text = ("Profiling failed because a driver resource was unavailable. Ensure that no other tool "
            "(like DCGM) is concurrently collecting profiling data.")  # fmt: skip
    fake_ncu.FakeNcu(tmp_path / "bin", f"print({text!r}); sys.exit(1)")
    found = profiler_probes.counters(machine())
    assert found.state == "FIX" and "dcgmi profile --pause" in found.fix


def test_an_ncu_that_reads_nothing_is_not_ok(
    machine: Callable[..., Machine], tmp_path: Path
) -> None:
    """ncu runs and says yes, and leaves no report."""
    fake_ncu.FakeNcu(tmp_path / "bin", "sys.exit(0)")
    assert profiler_probes.counters(machine()).state == "FIX"


def test_a_counter_without_a_value_is_not_ok(
    machine: Callable[..., Machine], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part of a GPU (MIG): ncu records the time, and one counter is not there."""
    fake_ncu.FakeNcu(tmp_path / "bin", "sys.exit(1)")
    metrics = {"duration": Metric(900, "ns", "ncu", "gpu__time_duration.sum"),
               "cycles_active": Metric(12.0, "cycle", "ncu", "sm__cycles_active.avg")}  # fmt: skip
    stage = Stage(
        name="k", kernel="k", launch=0, metrics=metrics, missing={"dram": "not on this part"}
    )
    recorded = NcuRun(Profile(mode="ncu", status="OK", stages=(stage,)), MetricSet((), {}), 1.0)
    monkeypatch.setattr(ncu_probe, "record_ranges", lambda *words: recorded)
    found = profiler_probes.counters(machine())
    assert found.state == "FIX" and "dram: not on this part" in found.text


def test_a_busy_gpu_is_not_probed(
    machine: Callable[..., Machine], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = fake_ncu.FakeNcu(tmp_path / "bin", "sys.exit(1)")
    monkeypatch.setattr(profiler_probes, "limit", lambda name: 0.1)
    probed = machine()
    with gpu_lock.gpu_lock(H200.uuid):
        found = profiler_probes.counters(probed)
        locks = place.locks(probed)
    assert found.state == "warn" and f"process {os.getpid()}" in found.text
    assert not fake.calls_file.exists()
    assert locks.state == "warn" and "GPU held by process" in locks.text
    assert place.locks(probed).state == "ok"


def test_nsys_records_and_imports(machine: Callable[..., Machine], tmp_path: Path) -> None:
    path = f"{tmp_path / 'bin'}:/usr/bin:/bin"
    timeline = tmp_path / "probe.sqlite"
    timeline.write_bytes(lzma.decompress((EXAMPLES / "concurrent.sqlite.xz").read_bytes()))
    fake = fake_nsys.handing_out(tmp_path / "bin", timeline)
    found = profiler_probes.nsys(machine(path=path))
    assert found.state == "ok" and "records and imports (probe kernel: " in found.text
    assert len(fake.calls("profile")) == len(fake.calls("export")) == 1


def test_an_importer_without_its_library(machine: Callable[..., Machine], tmp_path: Path) -> None:
    path = f"{tmp_path / 'bin'}:/usr/bin:/bin"
    says = (
        "Path(str(out) + '.qdstrm').write_text('raw')\n"
        "print('QdstrmImporter: error while loading shared libraries: libdw.so.1: cannot open "
        "shared object file: No such file or directory')\nsys.exit(1)"
    )
    fake_nsys.FakeNsys(tmp_path / "bin", profile=says)
    importer = tmp_path / "bin" / "host-linux-x64" / "QdstrmImporter"
    importer.parent.mkdir()
    importer.write_text("")
    found = profiler_probes.nsys(machine(path=path))
    assert found.state == "FIX" and "libdw.so.1 is missing" in found.text
    assert found.fix == "apt-get install libdw1, or dnf install elfutils-libs"
    assert found.until_then == "--collector=kineto needs no nsys"


def test_without_the_tools(machine: Callable[..., Machine], tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    found = profiler_probes.counters(machine(gpu=None))
    assert (found.state, "install Nsight Compute" in found.fix) == ("FIX", True)
    found = profiler_probes.nsys(machine(gpu=None))
    assert (found.state, found.until_then) == ("warn", "--collector=kineto")


def test_other_profilers_are_known_by_their_processes(tmp_path: Path) -> None:
    for pid, name in ((7, "nv-hostengine"), (12, "python3"), (300, "ncu")):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "comm").write_text(f"{name}\n")
    (tmp_path / "self").mkdir()
    found = profilers.other_profilers(tmp_path)
    assert found is not None
    assert [(one.pid, one.name) for one in found] == [(7, "nv-hostengine"), (300, "ncu")]
    assert "dcgmi profile --pause" in found[0].advice
    assert profilers.other_profilers(tmp_path / "nothing") is None


def test_disk_by_writing_there(
    machine: Callable[..., Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    probed = machine()
    for free, state in ((61e9, "ok"), (3e9, "warn"), (1e8, "FIX")):
        usage = (100e9, 100e9 - free, free)
        monkeypatch.setattr(place.shutil, "disk_usage", lambda p, u=usage: _usage(u))
        found = place.disk(probed)
        assert (found.state, found.text) == (state, f"{free / 1e9:.3g} GB free")
        assert bool(found.fix) == (state != "ok")


class _usage:
    def __init__(self, values: tuple[float, float, float]) -> None:
        self.total, self.used, self.free = values


@pytest.mark.kernel
def test_compilers_compile_a_kernel(machine: Callable[..., Machine]) -> None:
    pytest.importorskip("cuda.tile")
    found = compilers.compilers(machine(gpu=None, path=os.environ["PATH"]))
    assert found[0].name == "compilers" and found[0].state == "ok", found[0]


def test_a_compiler_that_fails_is_not_ok(
    machine: Callable[..., Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compilers, "is_installed", lambda name: name == "cutile")
    monkeypatch.setattr(compilers, "_STATIC", ("run", "no-such-kernel"))
    found = compilers.compilers(machine(gpu=None, path=os.environ["PATH"]))
    assert found[0].state == "FIX" and "no-such-kernel" in found[0].text
    assert "mla_var3[cutile]" in found[0].fix


def test_the_probe_kernel_is_text_for_any_gpu() -> None:
    assert ".target sm_75\n" in probe_kernel.ptx((9, 0)) and ".target sm_50\n" in probe_kernel.ptx(
        (7, 0)
    )
    assert f".entry {probe_kernel.NAME}()" in probe_kernel.ptx((12, 0))


def everything(**states: str) -> tuple[Check, ...]:
    names = ("GPU", "counters", "nsys", "torch", "compilers", "disk", "locks")
    return tuple(
        Check(name=name, state=states.get(name, "ok"), text=f"{name} text", fix="do it")  # type: ignore[arg-type]
        for name in names
    )


def test_a_machine_that_does_the_main_job() -> None:
    found = examine.conclude(everything(nsys="FIX"))
    assert found.main_job and found.works == () and found.hindered_by == ()
    text = render_findings(found)
    assert text.endswith("The main job works here. One thing to fix.\n")
    assert "FIX   nsys          nsys text → do it" in text


@pytest.mark.parametrize(
    ("states", "commands"),
    [
        ({"counters": "FIX"}, ["--prof_type=event", "--prof_type=nsys", "static", "--check",
                               "--language=torch", "mla diagnose"]),
        ({"GPU": "FIX", "counters": "n/a"}, ["static", "--check", "--language=torch",
                                             "mla diagnose"]),
        ({"GPU": "FIX", "torch": "FIX", "compilers": "FIX"}, ["mla diagnose"]),
    ],
)  # fmt: skip
def test_what_works_where_the_main_job_does_not(
    states: dict[str, str], commands: list[str]
) -> None:
    found = examine.conclude(everything(**states))
    assert not found.main_job and list(found.hindered_by) == list(states)
    assert len(found.works) == len(commands)
    for step, word in zip(found.works, commands, strict=True):
        assert word in step.command
    text = render_findings(found)
    assert max(map(len, text.splitlines())) <= 100
    assert f"cannot be done here: {', '.join(states)}. What works on this machine:" in " ".join(
        text.split()
    )


def test_an_error_is_taken_apart_into_what_and_what_to_do() -> None:
    error = MachineCannot(
        "counters are closed: for administrators; run as root, meanwhile use event"
    )
    found = failed("counters", error)
    assert (found.text, found.fix, found.until_then) == (
        "counters are closed: for administrators", "run as root", "use event",
    )  # fmt: skip


def test_the_command_ends_with_3_and_says_what_works(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    findings = examine.conclude(everything(GPU="FIX"))
    monkeypatch.setattr(examine, "examine", lambda *words: findings)
    assert cli.main(["doctor"]) == 3
    seen = capfd.readouterr()
    assert "FIX   GPU           GPU text → do it" in seen.out and "mla diagnose" in seen.out
    assert seen.err == ("mla: the main job cannot be done here: GPU; what works stands "
                        "above\n")  # fmt: skip
    assert cli.main(["doctor", "--json"]) == 3
    told = json.loads(capfd.readouterr().out)
    assert (told["format"], told["main_job"]) == ("mla_var3/doctor", False)
    assert told["checks"][0]["fix"] == "do it" and len(told["works"]) == 4
    monkeypatch.setattr(examine, "examine", lambda *words: examine.conclude(everything()))
    assert cli.main(["doctor"]) == 0


def test_a_device_that_is_not_there(capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor", "--device=cuda:7"]) == 3
    assert "no such CUDA device here" in capfd.readouterr().err
    assert cli.main(["doctor", "--device=tpu"]) == 2


def aa(low: float, high: float) -> Callable[..., ShapeVerdict]:
    effect = Effect(change_pct=0.1, low_pct=low, high_pct=high, level_pct=99.0, n=12)
    return lambda kernel, problem, device: ShapeVerdict(word="no change", time=effect)


def test_the_noise_floor_is_the_larger_end_and_is_found_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(noise, "is_installed", lambda name: True)
    ends = iter([aa(-0.4, 0.7), aa(-1.3, 0.2)])
    lines = noise.measure_noise("cpu", measure=lambda *words: next(ends)(*words))
    assert [line.rpartition("within ")[2] for line in lines[:2]] == ["0.70 %", "1.30 %"]
    floor = noise_floor.load_floor("cpu", None, None)
    assert floor is not None and floor.pct == 1.3
    assert floor.kernels == {"flash_attention": 0.7, "flash_mla": 1.3}


def test_a_floor_holds_for_its_gpu_driver_and_lock_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    floor = noise_floor.Floor(pct=1.5, measured="2026-12-01", kernels={"k": 1.5})
    noise_floor.save_floor("GPU-1", "580.1", False, floor)
    other = noise_floor.Floor(pct=0.5, measured="2026-12-01", kernels={"k": 0.5})
    noise_floor.save_floor("GPU-1", "580.1", True, other)
    assert noise_floor.load_floor("GPU-1", "580.1", False) == floor
    assert noise_floor.load_floor("GPU-1", "580.1", True) == other
    for key in (("GPU-2", "580.1", False), ("GPU-1", "590.1", False), ("GPU-1", "580.1", None)):
        assert noise_floor.load_floor(*key) is None
    noise_floor.floor_file().write_text("{ damaged")
    assert noise_floor.load_floor("GPU-1", "580.1", False) is None


def test_a_noise_run_that_fails_stores_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(noise, "is_installed", lambda name: True)
    failed_run = ShapeVerdict(word="failed", detail="wrong results")
    with pytest.raises(KernelFailed, match="wrong results"):
        noise.measure_noise("cpu", measure=lambda *words: failed_run)
    with pytest.raises(Unreliable):
        noise.measure_noise("cpu", measure=lambda *words: ShapeVerdict(word="unreliable"))
    assert not noise_floor.floor_file().exists()
