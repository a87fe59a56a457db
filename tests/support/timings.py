"""Timings of an invented run, as the measuring child would write them."""

from collections.abc import Sequence
from typing import Any

from mla_var3.core.timing import Clock, Floor, Machine, Series, Timing, WarmUp
from mla_var3.measure import timing

H200 = Machine(
    device="NVIDIA H200",
    capability="9.0",
    sm_count=132,
    flush_cache_bytes=62914560,
    driver="580.159.03",
    versions={"torch": "2.11.0"},
)
CPU = Machine(
    device="A CPU",
    flush_cache_bytes=32 << 20,
    threads=2,
    peaks={"matmul_fp32_tflops": 0.05, "dram_gbps": 20.0},
)
CLOCK = Clock(
    source="nvidia-smi",
    sm_mhz=1620.0,
    max_sm_mhz=1980.0,
    power_w=698.2,
    reasons=("sw power cap",),
    locked=False,
)


def series(samples: Sequence[float], **more: Any) -> Series:
    """Samples in ns, taken one after the other."""
    fields = {"cache": "cold", "stop": "count", "wall_ns": 2.0 * sum(samples)}
    return Series(samples_ns=tuple(samples), **fields | more)


def gpu_timing(samples: Sequence[float], **more: Any) -> Timing:
    """A run on an H200 that settled; `more` replaces any field."""
    fields: dict[str, Any] = {
        "machine": H200,
        "seed": 0,
        "timer": "CUDA events",
        "queueing": "one call a sample; the flush gives the host time to queue it",
        "flush": "126 MB written, then 126 MB of a second buffer read, before each sample",
        "settings": timing.settings("cuda:0"),
        "warm_up": WarmUp(calls=1000, busy_ns=1.2e9, settled=True, window_ns=(1e6, 1e6, 1e6)),
        "floor": Floor(nothing_ns=1500.0, empty_ns=2100.0),
        "series": series(samples),
        "host_ns": 20_000.0,
        "clock": CLOCK,
        "shared_gpu": False,
        "missing": {"burst regime": "comes with a later version"},
    }
    return Timing(**fields | more)


def cpu_timing(samples: Sequence[float], **more: Any) -> Timing:
    """A run on a CPU of 50 GFLOP/s and 20 GB/s."""
    fields: dict[str, Any] = {
        "machine": CPU,
        "timer": "perf_counter_ns",
        "settings": timing.settings("cpu"),
        "host_ns": None,
        "clock": None,
        "shared_gpu": None,
        "missing": {"clock": "the clock of a CPU is not read"},
    }
    return gpu_timing(samples, **fields | more)
