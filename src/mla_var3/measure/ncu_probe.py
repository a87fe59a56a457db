"""Whether ncu can read counters here: one empty kernel under it, and the values that come back."""

import sys
import time
from pathlib import Path
from typing import NamedTuple

from mla_var3 import conf
from mla_var3.core.errors import NoUsableData
from mla_var3.measure.ncu_command import NcuJob
from mla_var3.measure.ncu_metrics import MetricSet
from mla_var3.measure.ncu_run import Tool, record_ranges

REPORT = "probe.ncu-rep"


class CountersRead(NamedTuple):
    """A probe that worked."""

    metrics: int
    tool: str | None
    """`ncu 2025.3.1`."""
    seconds: float


def probe_counters(tool: Tool, index: int, folder: Path) -> CountersRead:
    """Profile one empty kernel on device `index`; log and report lie in `folder`.

    Raises what a run of ncu raises, and `NoUsableData` where it ran and a counter has no value.
    """
    begin = time.monotonic()
    words = conf.table("doctor")
    names = tuple(words["metrics"])
    job = NcuJob(
        program=(sys.executable, "-m", "mla_var3.measure.probe_kernel", str(index)),
        stages=(),
        metrics=names,
        report=folder / REPORT,
        launches=1,
    )
    profile = record_ranges(tool, job, MetricSet(names, {})).profile
    stage = profile.stages[0]
    empty = [key for key in words["needed"] if stage.value(key) is None]
    if empty:
        reasons = ", ".join(f"{key}: {stage.missing.get(key, 'no value')}" for key in empty)
        raise NoUsableData(
            f"ncu ran, but read not all counters ({reasons}); take a whole GPU (no part, no vGPU), "
            "meanwhile --prof_type=event needs none"
        )
    seconds = time.monotonic() - begin
    return CountersRead(len(names), profile.environment.capture_tool, seconds)
