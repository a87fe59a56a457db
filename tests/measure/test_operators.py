"""The table of operators on this CPU, and the rates that it is held against: needs torch."""

import statistics
import time
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from tests.support.cpu_plans import Doubled

from mla_var3.core.errors import BadArgument
from mla_var3.core.locate import find
from mla_var3.core.operators import CpuPeaks, load_operators
from mla_var3.measure.operators import operators_of, run_operators
from mla_var3.measure.worker_spec import spec_for

PEAKS = CpuPeaks(
    cpu="A CPU", threads=1, torch="0", date="2026-12-01", cache_bytes=1, cache_set_bytes=1,
    cache_gbps=2.0, dram_gbps=1.0, matmul_tflops={"fp32": 1.0},
)  # fmt: skip


def event(key: str, self_us: float, count: int, flops: float = 0) -> SimpleNamespace:
    return SimpleNamespace(key=key, self_cpu_time_total=self_us, count=count, flops=flops)


def test_rows_are_of_one_run_longest_first() -> None:
    events = [
        event("aten::mm", 30.0, 4, 8e6),
        event("aten::copy_", 50.0, 10),
        event("aten::view", 0.0, 3),
        event("ProfilerStep#1", 90.0, 2),
    ]
    rows = operators_of(events, 2)
    assert [(row.name, row.self_ns, row.calls, row.flops) for row in rows] == [
        ("aten::copy_", 25_000.0, 5.0, 0.0),
        ("aten::mm", 15_000.0, 2.0, 4e6),
    ]


def test_many_operators_are_summed_beyond_thirty() -> None:
    rows = operators_of([event(f"op{n}", 100.0 - n, 1) for n in range(40)], 1)
    assert len(rows) == 31 and rows[-1].name == "others (10)"
    assert rows[-1].self_ns == sum(1e3 * (100.0 - n) for n in range(30, 40))


def test_the_rates_are_measured_once_and_kept(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed here")
    from mla_var3.measure.cpu_peaks import FILE, cpu_peaks
    from mla_var3.measure.timing_cpu import cpu_name

    calls = []

    def measure() -> CpuPeaks:
        calls.append(1)
        return msgspec.structs.replace(
            PEAKS, cpu=cpu_name(), threads=torch.get_num_threads(), torch=str(torch.__version__)
        )

    (tmp_path / FILE).write_text("{ damaged")
    first = cpu_peaks(tmp_path, measure)
    assert cpu_peaks(tmp_path, measure) == first and calls == [1]
    (tmp_path / FILE).write_bytes(msgspec.json.encode((PEAKS,)))  # another CPU's
    assert cpu_peaks(tmp_path, measure) == first and calls == [1, 1]
    kept = msgspec.json.decode((tmp_path / FILE).read_bytes(), type=tuple[CpuPeaks, ...])
    assert [peaks.cpu for peaks in kept] == [first.cpu, "A CPU"]


@pytest.mark.kernel
def test_the_operators_of_attention(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="torch is not installed here")
    monkeypatch.setattr("mla_var3.measure.operators.cpu_peaks", lambda: PEAKS)
    monkeypatch.setattr("mla_var3.measure.operators.TIMED_S", 0.1)
    monkeypatch.setattr("mla_var3.measure.operators.PROFILED_S", 0.05)
    plan = find("flash_mla", None, "torch")(b=1, h=2, s=2, t=128)
    run_operators(spec_for(plan, "operators", "cpu", tmp_path))
    table = load_operators(tmp_path / "operators.json")
    # q [1,2,2,576], Z and K_rope [1,128,576], o [1,2,2,512], two bytes each
    assert table.working_set_bytes == 2 * (4 * 576 + 128 * 576 + 4 * 512)
    (stage,) = table.stages
    assert stage.stage == "flash_mla" and len(stage.samples_ns) >= 5
    found = {operator.name: operator for operator in stage.operators}
    products = sum(found[name].flops for name in ("aten::bmm", "aten::mm") if name in found)
    assert products == 2 * 1 * 2 * 2 * 128 * (512 + 64 + 512)
    assert "aten::_softmax" in found
    assert stage.operators == tuple(sorted(stage.operators, key=lambda o: -o.self_ns))


def test_a_gpu_has_ncu_instead(tmp_path: Path) -> None:
    with pytest.raises(BadArgument, match="a GPU has ncu"):
        run_operators(spec_for(Doubled(), "operators", "cuda:0", tmp_path))


@pytest.mark.kernel
def test_a_stage_takes_as_long_as_in_a_plain_loop() -> None:
    """Legs there and back, warm on both sides: the median of their ratios is within 5 %."""
    torch = pytest.importorskip("torch", reason="torch is not installed here")
    from mla_var3.core.plan import stages_of
    from mla_var3.measure.launch import launch_stage
    from mla_var3.measure.timing_cpu import CpuTimer

    plan = find("flash_mla", None, "torch")(b=1, h=4, s=4, t=512)
    (kernel,) = stages_of(plan.plan(*plan.prepare_inputs("cpu", 0)))
    assert kernel.launch is not None
    launch, timer = kernel.launch, CpuTimer(lambda: launch_stage(kernel), 1 << 20)

    def ours() -> float:
        return statistics.median(timer.start(6, "warm"))

    def plain() -> float:
        samples = []
        for _ in range(6):
            begin = time.perf_counter_ns()
            launch()
            samples.append(time.perf_counter_ns() - begin)
        return statistics.median(samples)

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        ours(), plain()
        ratios: list[float] = []
        for _ in range(30):
            first, second, third, fourth = ours(), plain(), plain(), ours()
            ratios += [first / second, fourth / third]
    finally:
        torch.set_num_threads(threads)
    assert statistics.median(ratios) == pytest.approx(1.0, abs=0.05)
