"""Times one call of a torch plan on the CPU with its monotonic clock, and that CPU's own rates."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mla_var3.core.timing import CacheState

BYTES = 4
DEFAULT_CACHE_BYTES = 32 << 20
MATMUL = 1024
REPEATS = 5
_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class CpuTimer:
    """A `Timer` of `perf_counter_ns`. `run` runs the plan once."""

    name = "perf_counter_ns"

    def __init__(self, run: Callable[[], None], flush_bytes: int) -> None:
        import torch

        self._torch = torch
        self._run = run
        size = flush_bytes // BYTES
        self._written = torch.empty(size, dtype=torch.int32)
        self._read = torch.zeros(size, dtype=torch.float32)

    def now(self) -> float:
        return float(time.perf_counter_ns())

    def calls(self, count: int) -> float:
        begin = time.perf_counter_ns()
        for _ in range(count):
            self._run()
        return float(time.perf_counter_ns() - begin)

    def start(self, count: int, cache: CacheState) -> list[float]:
        return [self._sample(self._run, cache) for _ in range(count)]

    def read(self, batch: list[float]) -> list[float]:
        return batch

    def floor(self, count: int) -> tuple[list[float], list[float]]:
        nothing = []
        for _ in range(count):
            begin = time.perf_counter_ns()
            nothing.append(float(time.perf_counter_ns() - begin))
        return nothing, [self._sample(lambda: None, "warm") for _ in range(count)]

    def _sample(self, run: Callable[[], None], cache: CacheState) -> float:
        if cache != "warm":
            self._written.fill_(1)
        if cache == "cold":
            self._torch.sum(self._read)
        begin = time.perf_counter_ns()
        run()
        return float(time.perf_counter_ns() - begin)


def last_level_cache_bytes(caches: Path = _CACHES) -> int:
    """Size of the largest cache of a core; a guess of 32 MB where the system does not tell."""
    sizes = []
    for file in caches.glob("index*/size"):
        word = file.read_text(encoding="ascii", errors="replace").strip()
        if word[:-1].isdigit() and word[-1:] in _UNITS:
            sizes.append(int(word[:-1]) * _UNITS[word[-1]])
    return max(sizes, default=DEFAULT_CACHE_BYTES)


def cpu_name(info: Path = Path("/proc/cpuinfo")) -> str:
    """The model as the kernel names it, or `CPU`."""
    try:
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name" and value.strip():
                return value.strip()
    except OSError:
        pass
    return "CPU"


class CpuLoad:
    """How much of all cores other processes use from now on, beside this one."""

    def __init__(self, stat: Path = Path("/proc/stat")) -> None:
        self._stat = stat
        self._begin = self._look()

    def others_pct(self) -> float | None:
        """Their share of all cores since the beginning; None: not told here, or too short."""
        end = self._look()
        if self._begin is None or end is None:
            return None
        busy, every, own = (after - before for after, before in zip(end, self._begin, strict=True))
        return 100.0 * max(0.0, busy - own) / every if every > 0 else None

    def _look(self) -> tuple[float, float, float] | None:
        """Seconds of all cores: busy, in all, and ours."""
        try:
            words = self._stat.read_text(encoding="ascii").split("\n")[0].split()[1:9]
            ticks = [int(word) / os.sysconf("SC_CLK_TCK") for word in words]
        except (OSError, ValueError):
            return None
        if len(ticks) < 5:
            return None
        spent = os.times()
        return sum(ticks) - ticks[3] - ticks[4], sum(ticks), spent.user + spent.system


def measured_peaks(cache_bytes: int) -> dict[str, float]:
    """float32 matmul in TFLOP/s and DRAM in GB/s (the better of copy and read), best of five."""
    import torch

    a, b = torch.rand(MATMUL, MATMUL), torch.rand(MATMUL, MATMUL)
    product = torch.empty(MATMUL, MATMUL)
    matmul = _best_ns(lambda: torch.mm(a, b, out=product))
    size = 2 * cache_bytes // BYTES
    source, copy = torch.ones(size), torch.ones(size)
    copied = 2 * size * BYTES / _best_ns(lambda: copy.copy_(source))
    read = size * BYTES / _best_ns(lambda: torch.sum(source))
    return {"matmul_fp32_tflops": 2 * MATMUL**3 / matmul / 1e3, "dram_gbps": max(copied, read)}


def _best_ns(run: Callable[[], Any]) -> float:
    run()
    best = float("inf")
    for _ in range(REPEATS):
        begin = time.perf_counter_ns()
        run()
        best = min(best, float(time.perf_counter_ns() - begin))
    return best
