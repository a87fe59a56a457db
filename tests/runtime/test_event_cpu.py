"""Event mode for real, on this CPU, in a child of its own: needs torch."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.measure.test_child import wait_until_gone

from mla_var3.core.locate import find
from mla_var3.core.timing import load_timing
from mla_var3.measure.gpu_lock import CPU, holder
from mla_var3.render.contract_grammar import parse
from mla_var3.runtime.measuring import MeasureOptions
from mla_var3.runtime.profiling.event import event_profile_plan

pytest.importorskip("torch", reason="torch is not installed here")
pytestmark = pytest.mark.kernel

ROOT = Path(__file__).parent.parent.parent
SHORT = {
    "warm_up_busy_s": 0.02,
    "warm_up_limit_s": 0.3,
    "window_s": 0.01,
    "least_busy_s": 0.0,
    "least_samples": 20.0,
    "limit_s": 1.0,
}


@pytest.fixture(autouse=True)
def own_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_attention_is_timed_end_to_end(tmp_path: Path) -> None:
    plan = find("flash_mla", None, "torch")(b=1, h=4, s=2, t=256)
    result = event_profile_plan(
        plan, tmp_path / "p", bench_runs=15, options=MeasureOptions(device="cpu", settings=SHORT)
    )
    whole = result.profile.end_to_end
    assert whole is not None
    timing = load_timing(result.out_dir / "timing.json")
    samples = timing.series.samples_ns
    assert len(samples) == 15
    assert whole.value("duration") == sorted(samples)[7]
    assert timing.series.stop == "count"
    assert timing.floor.ns < 1e5 < min(samples)
    flops = 2 * 1 * 4 * 2 * 256 * (512 + 64 + 512)
    assert whole.value("model_flops") == flops
    assert whole.value("achieved_tflops") == pytest.approx(flops / sorted(samples)[7] / 1e3)
    sheet = parse((result.out_dir / "contract.md").read_text())
    assert sheet.root_cause.startswith("from the model: ")
    assert [row.stage for row in sheet.stages] == ["flash_mla"]
    assert (
        "torch runs kernels that are compiled already"
        in (result.profile.stages[0].missing["registers"])
    )


def test_a_killed_command_leaves_no_child_and_no_lock(tmp_path: Path) -> None:
    code = (
        "import sys; from tests.support.cpu_plans import Doubled\n"
        "from mla_var3.runtime.profiling.event import event_profile_plan\n"
        f"event_profile_plan(Doubled(fault='sleeps'), {str(tmp_path / 'p')!r})"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 60
    while (found := holder(CPU)) is None and time.monotonic() < end:
        time.sleep(0.05)
    assert found is not None and found.pid == parent.pid
    time.sleep(1.0)  # the child is importing torch, or asleep in its kernel
    parent.send_signal(signal.SIGKILL)
    parent.wait(10)
    wait_until_gone(str(tmp_path))
    assert holder(CPU) is None
    assert not (tmp_path / "p").exists()
