"""Annotation mode for real, on this CPU, in children of their own: needs torch."""

import json
import os
from pathlib import Path

import pytest
from tests.runtime.test_event_cpu import SHORT

from mla_var3.core.locate import find
from mla_var3.core.operators import load_operators
from mla_var3.core.stats import median
from mla_var3.core.timing import load_timing
from mla_var3.measure import worker_run
from mla_var3.measure.child import ChildResult
from mla_var3.measure.gpu_lock import CPU, holder
from mla_var3.measure.worker_spec import WorkerSpec
from mla_var3.render.annotation_screen import AnnotationRequest
from mla_var3.render.contract_grammar import parse
from mla_var3.runtime.annotation_reports import screen
from mla_var3.runtime.diagnosing import diagnose_file
from mla_var3.runtime.profiling import annotation_cpu, event
from mla_var3.runtime.profiling.annotation import AnnotationOptions, annotation_profile_plan
from mla_var3.runtime.reporting import make_reports

pytest.importorskip("torch", reason="torch is not installed here")
pytestmark = pytest.mark.kernel


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_attention_on_this_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run_worker(spec: WorkerSpec, limit_s: float) -> ChildResult:
        own = holder(CPU)
        held.append((spec.task, own.pid if own else None))
        return worker_run.run_worker(spec, limit_s)

    held: list[tuple[str, int | None]] = []
    for recipe in (annotation_cpu, event):
        monkeypatch.setattr(recipe, "run_worker", run_worker)
    plan = find("flash_mla", None, "torch")(b=1, h=4, s=2, t=256)
    options = AnnotationOptions(device="cpu", settings=SHORT)
    result = annotation_profile_plan(plan, bench_runs=15, options=options)
    assert held == [("event", os.getpid()), ("operators", os.getpid())]
    folder = result.out_dir
    table, timing = load_operators(folder / "operators.json"), load_timing(folder / "timing.json")
    (stage,) = result.profile.stages
    assert stage.value("duration") == median(timing.series.samples_ns)
    assert stage.value("duration_warm") == median(table.stages[0].samples_ns)
    flops = 2 * 4 * 2 * 256 * (512 + 64 + 512)
    whole = result.profile.end_to_end
    assert whole is not None
    rate = flops / median(timing.series.samples_ns) / 1e3
    assert whole.value("achieved_tflops") == pytest.approx(rate)
    assert whole.value("peak_tflops") == table.peaks.best_tflops[1] == stage.value("peak_tflops")
    kept = json.loads((tmp_path / "cache" / "mla_var3" / "cpu-peaks.json").read_text())
    assert kept[0]["dram_gbps"] == table.peaks.dram_gbps > 0.5
    assert set(table.peaks.matmul_tflops) == {"fp32", "bf16", "fp16"}
    assert table.peaks.cache_gbps >= table.peaks.dram_gbps

    sheet = parse((folder / "contract.md").read_text())
    assert sheet.root_cause.startswith("from the model: ")
    text = screen(diagnose_file(folder), folder, AnnotationRequest(folder="out"))
    assert "warm cache: cache" in text and "aten::bmm" in text
    assert "of the roofline at this CPU's own rates" in text
    assert "clocks not locked" not in text
    report = (folder / "report.md").read_text()
    for part in ("## Operators of flash", "## Rates of this CPU", "matmul fp32", "plots/roofline"):
        assert part in report
    assert str(tmp_path) not in report
    for name, content in make_reports(folder).files().items():
        assert (folder / name).read_bytes() == content, name
