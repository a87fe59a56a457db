"""The rates of this CPU, measured once and kept in a user folder: copies and matrix products."""

import contextlib
import os
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from mla_var3.core.operators import CpuPeaks
from mla_var3.measure.timing_cpu import cpu_name, last_level_cache_bytes, measured_peaks

FILE = "cpu-peaks.json"
MOST_KEPT = 20
BYTES = 4
CACHE_SHARE = 8
"""A copy of so small a part of the last cache level stays inside it, also where others use it."""
MATMUL = 512
"""Side of the products of narrow types: some CPUs take seconds for a large one."""
LIMIT_S = 0.2
NARROW = {"bf16": "bfloat16", "fp16": "float16"}

Measure = Callable[[], CpuPeaks]


def peaks_folder(environment: Mapping[str, str] = os.environ) -> Path | None:
    """The user's folder for such figures; None where there is no home."""
    home = environment.get("HOME")
    cache = environment.get("XDG_CACHE_HOME") or (f"{home}/.cache" if home else None)
    return Path(cache) / "mla_var3" if cache else None


def cpu_peaks(folder: Path | None = None, measure: Measure | None = None) -> CpuPeaks:
    """The kept rates of this CPU, thread count and torch version; measured where there are none."""
    import torch

    place = peaks_folder() if folder is None else folder
    own = (cpu_name(), torch.get_num_threads(), str(torch.__version__))
    kept = _read(place / FILE) if place is not None else ()
    for peaks in kept:
        if (peaks.cpu, peaks.threads, peaks.torch) == own:
            return peaks
    found = (measure or measure_peaks)()
    if place is not None:
        _write(place, (found, *kept)[:MOST_KEPT])
    return found


def measure_peaks() -> CpuPeaks:
    """Measure all rates now, in about two seconds."""
    import torch

    cache = last_level_cache_bytes()
    large = measured_peaks(cache)
    products = {"fp32": large["matmul_fp32_tflops"]}
    products |= {short: _matmul_tflops(getattr(torch, name)) for short, name in NARROW.items()}
    size = max(cache // CACHE_SHARE, 1 << 20)
    return CpuPeaks(
        cpu=cpu_name(),
        threads=torch.get_num_threads(),
        torch=str(torch.__version__),
        date=datetime.now(UTC).date().isoformat(),
        cache_bytes=cache,
        cache_set_bytes=size,
        cache_gbps=max(_copy_gbps(size), large["dram_gbps"]),
        dram_gbps=large["dram_gbps"],
        matmul_tflops=products,
    )


def _copy_gbps(working_set: int) -> float:
    """The better of a copy and a read of a working set, source and target together."""
    import torch

    source = torch.ones(working_set // 2 // BYTES)
    target = torch.ones(working_set // 2 // BYTES)
    copied = working_set / _best_ns(lambda: target.copy_(source))
    read = working_set / 2 / _best_ns(lambda: torch.sum(source))
    return max(copied, read)


def _matmul_tflops(dtype: Any) -> float:
    import torch

    a = torch.ones(MATMUL, MATMUL, dtype=dtype)
    b = torch.ones(MATMUL, MATMUL, dtype=dtype)
    product = torch.empty(MATMUL, MATMUL, dtype=dtype)
    return 2 * MATMUL**3 / _best_ns(lambda: torch.mm(a, b, out=product)) / 1e3


def _best_ns(run: Callable[[], Any]) -> float:
    """The shortest of the runs that fit the time limit, at least two."""
    run()
    end = time.perf_counter() + LIMIT_S
    best, count = float("inf"), 0
    while count < 2 or (time.perf_counter() < end and count < 200):
        begin = time.perf_counter_ns()
        run()
        best = min(best, float(time.perf_counter_ns() - begin))
        count += 1
    return best


def _read(file: Path) -> tuple[CpuPeaks, ...]:
    """What is kept; a file that cannot be read is measured anew."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=tuple[CpuPeaks, ...])
    except (OSError, msgspec.MsgspecError):
        return ()


def _write(place: Path, peaks: tuple[CpuPeaks, ...]) -> None:
    """Replace the file whole; a folder that cannot be written keeps nothing."""
    with contextlib.suppress(OSError):
        place.mkdir(parents=True, exist_ok=True)
        part = place / f".{FILE}-{os.getpid()}"
        part.write_bytes(msgspec.json.format(msgspec.json.encode(peaks), indent=1) + b"\n")
        part.replace(place / FILE)
