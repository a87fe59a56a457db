"""A timeline for real, on this CPU, by torch's own profiler in a child: needs torch."""

import json
import socket
from pathlib import Path
from statistics import median

import pytest

from mla_var3.core import artifacts
from mla_var3.core.errors import MachineCannot
from mla_var3.core.locate import find
from mla_var3.core.timeline import Timeline, load_timeline
from mla_var3.runtime.profiling.nsys import NsysOptions, nsys_profile_plan
from mla_var3.runtime.reporting import make_reports

pytest.importorskip("torch", reason="torch is not installed here")
pytestmark = pytest.mark.kernel

SECRET = "hunter2-s3cr3t-t0k3n"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("API_TOKEN", SECRET)


def spans(timeline: Timeline, stage: str, inside: str) -> list[int]:
    """First to last operation in each range of a stage inside those of one name: by brute force."""
    named = [(timeline.names[one.name], one) for one in timeline.ranges]
    outer = [one for name, one in named if name == inside]
    found = []
    for name, one in named:
        held = any(o.start <= one.start and (one.end or 0) <= (o.end or 0) for o in outer)
        if name != stage or not held:
            continue
        own = [
            operation
            for operation in timeline.operations
            if operation.stream == one.thread and one.start <= operation.start < (one.end or 0)
        ]
        found.append(max(o.end for o in own) - min(o.start for o in own))
    return found


def test_a_concurrent_plan_on_this_cpu(tmp_path: Path) -> None:
    plan = find("demo_concurrent", None, "torch")(n=192, rows=64)
    result = nsys_profile_plan(plan, bench_runs=3, options=NsysOptions(device="cpu"))
    folder, profile = result.out_dir, result.profile
    timeline = load_timeline(folder / artifacts.SPANS)
    assert (profile.mode, profile.status, timeline.collector) == ("nsys", "OK", "kineto")
    outermost = [timeline.names[one.name] for one in timeline.ranges]
    assert [outermost.count(name) for name in ("warm-up", "solo", "iteration")] == [1, 1, 3]
    for stage in profile.stages:
        seen = spans(timeline, stage.name, "iteration")
        assert len(seen) == 3 and stage.value("duration") == median(seen)
        alone = spans(timeline, stage.name, "solo")
        assert len(alone) == 5 and stage.value("duration_solo") == median(alone)
    assert [stage.name for stage in profile.stages] == ["matmul", "copy", "join"]
    assert {timeline.shape_of(o).kind for o in timeline.operations} == {"cpu"}
    names = {timeline.shape_of(o).name for o in timeline.operations}
    assert {"aten::matmul", "aten::copy_", "aten::add_"} <= names
    assert "torch.profiler, kineto" in (profile.environment.capture_tool or "")
    assert any("one after the other" in text for text in profile.warnings)
    assert timeline.plan is not None and timeline.plan.stages == ("matmul", "copy", "join")
    assert timeline.plan.groups == ()  # nothing of it is meant to overlap here

    assert "kineto" in (folder / "report.md").read_text()
    assert not (folder / artifacts.KINETO_TRACE).exists()
    hidden = [SECRET, "API_TOKEN", str(tmp_path), f'"{socket.gethostname()}"']
    for path in folder.rglob("*"):
        for word in hidden if path.is_file() else ():
            assert word.encode() not in path.read_bytes(), (path.name, word)
    assert json.loads((folder / artifacts.PARAMS).read_text())["n"] == 192
    for name, content in make_reports(folder).files().items():
        assert (folder / name).read_bytes() == content, name


def test_nsys_is_not_replaced_silently_on_a_cpu() -> None:
    plan = find("demo_concurrent", None, "torch")(n=64, rows=64)
    options = NsysOptions(device="cpu", collector="nsys")
    with pytest.raises(MachineCannot, match="--collector=kineto records its operators"):
        nsys_profile_plan(plan, options=options)
    assert not Path("out").exists()
