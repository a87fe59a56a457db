"""What the system tells of a CPU: caches, name, and the load of other processes."""

import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from mla_var3.core import stats
from mla_var3.core.timing import CacheState
from mla_var3.measure.timing_cpu import (
    DEFAULT_CACHE_BYTES,
    CpuLoad,
    CpuTimer,
    cpu_name,
    last_level_cache_bytes,
)


def test_the_last_cache_is_the_largest(tmp_path: Path) -> None:
    for index, size in enumerate(("32K", "32K", "512K", "32768K")):
        (tmp_path / f"index{index}").mkdir()
        (tmp_path / f"index{index}" / "size").write_text(f"{size}\n")
    assert last_level_cache_bytes(tmp_path) == 32 << 20
    (tmp_path / "index3" / "size").write_text("36M\n")
    assert last_level_cache_bytes(tmp_path) == 36 << 20


def test_a_system_that_tells_no_caches_has_a_guess(tmp_path: Path) -> None:
    assert last_level_cache_bytes(tmp_path) == DEFAULT_CACHE_BYTES
    (tmp_path / "index0").mkdir()
    (tmp_path / "index0" / "size").write_text("unknown\n")
    assert last_level_cache_bytes(tmp_path) == DEFAULT_CACHE_BYTES


def test_the_name_of_the_cpu(tmp_path: Path) -> None:
    info = tmp_path / "cpuinfo"
    info.write_text("processor\t: 0\nmodel name\t: AMD EPYC 9754 128-Core Processor\n")
    assert cpu_name(info) == "AMD EPYC 9754 128-Core Processor"
    assert cpu_name(tmp_path / "none") == "CPU"


def test_the_load_of_others_is_all_that_is_busy_without_us(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 400 ticks 120 were idle and 20 waited: 260 busy, 60 of them ours: 50 % are others'."""
    tick = os.sysconf("SC_CLK_TCK")
    stat, spent = tmp_path / "stat", [10.0]
    monkeypatch.setattr("os.times", lambda: os.times_result((spent[0], 0.0, 0.0, 0.0, 0.0)))
    stat.write_text("cpu 1000 0 200 5000 100 0 0 0 0 0\ncpu0 1\n")
    load = CpuLoad(stat)
    stat.write_text("cpu 1200 0 260 5120 120 0 0 0 0 0\ncpu0 1\n")
    spent[0] += 60 / tick
    assert load.others_pct() == pytest.approx(50.0)


def test_a_system_that_tells_no_load(tmp_path: Path) -> None:
    assert CpuLoad(tmp_path / "none").others_pct() is None
    (tmp_path / "stat").write_text("cpu 1 2\n")
    assert CpuLoad(tmp_path / "stat").others_pct() is None


@pytest.mark.kernel
def test_a_sample_is_what_a_plain_loop_takes() -> None:
    """Legs there and back, the cache warm on both sides: the median of their ratios is within 5 %.

    Both legs of a round see the same moment of a machine that others use too.
    """
    torch = pytest.importorskip("torch", reason="torch is not installed here")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        a, b, c = torch.rand(256, 256), torch.rand(256, 256), torch.empty(256, 256)

        def run() -> None:
            torch.mm(a, b, out=c)

        timer = CpuTimer(run, 1 << 20)

        def ours() -> float:
            return stats.median(timer.read(timer.start(10, "warm")))

        def plain() -> float:
            samples = []
            for _ in range(10):
                begin = time.perf_counter_ns()
                run()
                samples.append(float(time.perf_counter_ns() - begin))
            return stats.median(samples)

        ratios = []
        for _ in range(30):
            first, second, third, fourth = ours(), plain(), plain(), ours()
            ratios += [first / second, fourth / third]
    finally:
        torch.set_num_threads(threads)
    assert stats.median(ratios) == pytest.approx(1.0, rel=0.05)


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("cache", "before"),
    [("cold", ["write", "read"]), ("cold, written only", ["write"]), ("warm", [])],
)
def test_the_flush_is_of_whole_size_and_not_timed(
    monkeypatch: pytest.MonkeyPatch, cache: CacheState, before: list[str]
) -> None:
    def clock() -> int:
        log.append("clock")
        return 100 * len(log)

    pytest.importorskip("torch", reason="torch is not installed here")
    log: list[str] = []
    timer = CpuTimer(lambda: log.append("call"), 1 << 20)
    assert timer._written.nbytes == timer._read.nbytes == 1 << 20
    monkeypatch.setattr(timer, "_written", SimpleNamespace(fill_=lambda value: log.append("write")))
    monkeypatch.setattr(timer, "_torch", SimpleNamespace(sum=lambda values: log.append("read")))
    monkeypatch.setattr("mla_var3.measure.timing_cpu.time.perf_counter_ns", clock)
    assert timer.start(1, cache) == [200.0]
    assert log == [*before, "clock", "call", "clock"]
