"""Counts the kernels that one call of a plan launches, with torch's profiler, after the timing.

Never before: a profiler that was loaded once slows the launches that follow.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from mla_var3.core.errors import MlaError
from mla_var3.measure.kineto_reader import read_kineto

SESSIONS = 2
"""The first session of a process may stay empty."""

Record = Callable[[Callable[[], None]], bytes]
"""Runs something under a profiler; its trace."""


class KernelCount(NamedTuple):
    """Kernels by name and how often, or why they were not counted."""

    kernels: dict[str, int]
    missing: str = ""


def count_kernels(run: Callable[[], None], record: Record | None = None) -> KernelCount:
    """Launches of one call; `run` puts it on the stream and waits for it."""
    try:
        for _ in range(SESSIONS):
            trace = (record or _record)(run)
            timeline = read_kineto(trace, "torch", on_gpu=True)
            shapes = [timeline.shapes[operation.shape] for operation in timeline.operations]
            names = [shape.name for shape in shapes if shape.kind == "kernel"]
            if names:
                return KernelCount({name: names.count(name) for name in dict.fromkeys(names)})
    except (MlaError, RuntimeError, ImportError) as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        return KernelCount({}, f"torch's profiler failed: {first[:200]}")
    return KernelCount({}, "torch's profiler saw no kernel: another profiler may hold CUPTI")


def _record(run: Callable[[], None]) -> bytes:
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as recorded:
        run()
    with tempfile.TemporaryDirectory(prefix="mla-") as folder:
        trace = Path(folder) / "trace.json"
        recorded.export_chrome_trace(str(trace))
        return trace.read_bytes()
