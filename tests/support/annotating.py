"""An annotation run of a pretended H200: invented event times, and a prepared report for ncu."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from tests.support.fake_ncu import FakeNcu
from tests.support.timings import gpu_timing

from mla_var3.core import artifacts
from mla_var3.core.timing import Timing, save_timing
from mla_var3.measure.gpus import Gpu
from mla_var3.measure.worker_event import RESULT, Compiled
from mla_var3.runtime.profiling.annotation import AnnotationOptions, TimePlan

UUID = "GPU-1c0f0000-0000-0000-0000-000000000000"
H200 = Gpu(0, "NVIDIA H200", "9.0", UUID)
SAMPLES = tuple(2.40e6 + 1e3 * (number % 5) for number in range(100))
"""Median 2402 µs."""


def timed(samples: Sequence[float] = SAMPLES, **more: Any) -> TimePlan:
    """What stands for the timing child: writes its two files."""

    def time_plan(plan: Any, gpu: Any, folder: Path, bench_runs: Any, options: Any) -> Timing:
        timing = gpu_timing(samples, **more)
        save_timing(timing, folder / artifacts.TIMING)
        (folder / RESULT).write_bytes(msgspec.json.encode(Compiled()))
        return timing

    return time_plan


def options(ncu: FakeNcu, **more: Any) -> AnnotationOptions:
    """Options that lead to a fake ncu and to invented times."""
    fields: dict[str, Any] = {
        "gpu": H200,
        "environment": ncu.environment,
        "time_plan": timed(),
    }
    return AnnotationOptions(**fields | more)
