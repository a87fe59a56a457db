"""Timings of an invented run, as the measuring child would write them."""

from collections.abc import Sequence
from typing import Any

from mla_var3.core.monitor import Held, Monitor, Reading
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


def monitored(**more: Any) -> Timing:
    """A power-limited matmul as the protocol sees it: 1602.4 µs at 1392 MHz, 1391 in bursts at
    1605; NVML every 20 ms, the cap active for 93 % of the sustained second.
    """
    spread = [1602.4e3 + 1e3 * (at % 11 - 5) for at in range(640)]
    end = 1.1e9
    fields: dict[str, Any] = {
        "series": series(
            spread,
            stop="converged",
            wall_ns=end,
            windows_ns=((0.0, end),),
            mhz=(1365.0, 1392.0, 1392.0, 1392.0, 1425.0) * 128,
            held=Held(counted_ns=end, by_ns={"sw power cap": 0.93 * end}, energy_j=765.0),
        ),
        "burst": series(
            [1391e3] * 90,
            regime="burst",
            stop="time limit",
            wall_ns=1e9,
            windows_ns=tuple((1.5e9 + at * 1e8, 1.52e9 + at * 1e8) for at in range(10)),
            mhz=(1605.0,) * 90,
            held=Held(counted_ns=1e9, by_ns={"sw power cap": 0.02e9}),
        ),
        "monitor": Monitor(
            source="nvml",
            period_ms=20.0,
            readings=tuple(
                Reading(2e7 * at, 1395.0, 3201.0, 61.0, 698.0, 690.0, 4) for at in range(1, 126)
            ),
            counters="nvml fields",
        ),
        "clock": Clock(
            source="in-band",
            sensor="nvml",
            readings=640,
            sm_mhz=1392.0,
            memory_mhz=3201.0,
            max_sm_mhz=1980.0,
            temperature_c=61.0,
            power_w=698.0,
            reasons=("sw power cap",),
            locked=False,
        ),
        "power_limit_w": 700.0,
        "kernels": {"nvjet_tst_256x152": 1},
        "missing": {},
    }
    return gpu_timing(spread, **fields | more)


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
