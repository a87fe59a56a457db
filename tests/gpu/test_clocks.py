"""Clock and monitor on a real GPU: cycles of a spin of known length, and what looking costs."""

from pathlib import Path
from typing import Any

import pytest

from mla_var3.core.locate import find, is_installed
from mla_var3.core.regime import rows_of
from mla_var3.core.timing import Timing, load_timing
from mla_var3.measure.gpus import cuda_devices
from mla_var3.runtime.measuring import MeasureOptions
from mla_var3.runtime.profiling.event import event_profile_plan

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not cuda_devices() or not is_installed("torch"), reason="no GPU here"),
]
CONTROL = Path(__file__).parents[2] / "examples" / "control"
MOST_COST_PCT = 0.5


def matmul(folder: Path, **more: Any) -> Timing:
    """cuBLAS 8192³ in bf16, end to end."""
    plan = find(f"{CONTROL / 'matmul_torch.py'}:Matmul")()
    result = event_profile_plan(plan, folder / "p", options=MeasureOptions(**more))
    return load_timing(result.out_dir / "timing.json")


def test_a_spin_of_so_many_cycles_is_counted_as_so_many() -> None:
    """torch's spin kernel waits for a number of cycles: time by events times the clock in band."""
    import torch

    from mla_var3.measure.events import EventTimer
    from mla_var3.measure.inband import InBandClock

    torch.cuda.synchronize()  # the clock needs the context that this makes
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    cycles = 5_000_000
    clock = InBandClock(torch, sms)
    timer = EventTimer(lambda: torch.cuda._sleep(cycles), 1 << 20, torch, clock)
    for _ in range(3):
        batch = timer.start(20, "warm")
        samples = timer.read(batch)
    pairs = zip(samples, timer.mhz_of(batch), strict=True)
    counted = sorted(ns * mhz / 1e3 for ns, mhz in pairs if mhz is not None)
    assert len(counted) == 20
    assert counted[10] == pytest.approx(cycles, rel=0.01)


def test_bursts_run_at_a_higher_clock_and_take_as_many_cycles(tmp_path: Path) -> None:
    rows = rows_of(matmul(tmp_path))
    if len(rows) == 1:
        pytest.skip("the power limit did not hold this GPU back")
    sustained, burst = rows
    assert sustained.clock_mhz is not None and burst.clock_mhz is not None
    assert burst.median_ns < sustained.median_ns
    assert burst.clock_mhz > sustained.clock_mhz
    assert burst.cycles == pytest.approx(sustained.cycles, rel=0.03)


def test_looking_costs_less_than_half_a_percent(tmp_path: Path) -> None:
    timing = matmul(tmp_path, settings={"monitor_quads": 30.0})
    if timing.monitor is None or not timing.monitor.readings:
        pytest.skip("nobody looks at this GPU")
    cost = timing.monitor.overhead
    assert cost is not None
    assert cost.low_pct < MOST_COST_PCT, cost
    assert abs(cost.pct) < MOST_COST_PCT, cost


def test_one_matmul_is_one_kernel(tmp_path: Path) -> None:
    assert matmul(tmp_path, settings={"limit_s": 2.0}).launches == 1
