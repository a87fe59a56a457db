"""The counters of annotation mode give every recorded kernel the class that all counters give."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.fake_report import FakeLaunch, copy_of, profile_of

from mla_var3.analyse.diagnose import diagnose
from mla_var3.core.device import load_devices
from mla_var3.measure.ncu_metrics import annotation, metric_set

NAMES = frozenset(metric_set("GH100", ("bf16", "fp16", "fp32", "fp8")).names)
RECORDINGS = ("zoo_a", "zoo_b", "attention_full", "cutile_mla", "torch_ops", "triton_ops")


def reduced(launch: FakeLaunch) -> FakeLaunch:
    """What ncu would have recorded of the launch in annotation mode: no rules, no source."""
    few = launch.edited()
    few.metrics = {
        name: metric
        for name, metric in launch.metrics.items()
        if name in NAMES or name.startswith(annotation().given)
    }
    few.rules, few.lines, few.sources = [], {}, {}
    return few


@pytest.mark.parametrize("name", RECORDINGS)
def test_class_cause_and_confidence_stay(name: str, recording: Callable[[str], Path]) -> None:
    launches = copy_of(recording(name))
    device = load_devices().find("NVIDIA H200")
    full = diagnose(profile_of(*launches), device)
    few = diagnose(profile_of(*map(reduced, launches)), device)
    found = [(d.stage, d.bound, d.cause, d.confidence) for d in few.stages]
    assert found == [(d.stage, d.bound, d.cause, d.confidence) for d in full.stages]
    assert not any(d.bound == "Unknown" for d in few.stages)
