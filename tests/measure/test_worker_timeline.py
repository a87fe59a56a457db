"""The task for collectors of spans: what lies inside which range, and a collector that is empty."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.support.fake_plan import FakePlan

from mla_var3.core.errors import BadArgument, KernelFailed, NoUsableData
from mla_var3.core.plan import ConcurrentKernels, Runnable
from mla_var3.core.timeline import load_timeline
from mla_var3.measure import launch, worker_timeline
from mla_var3.measure.worker_prepare import Prepared
from mla_var3.measure.worker_spec import WorkerSpec, spec_for
from mla_var3.measure.worker_timeline import run_timeline, runs


class Log(list[str]):
    """Everything that the device was asked for, in order."""

    def torch(self) -> SimpleNamespace:
        @contextmanager
        def stream(which: SimpleNamespace) -> Iterator[None]:
            self.append(f"on {which.name}")
            yield
            self.append("off")

        def made(name: str) -> SimpleNamespace:
            ignored = lambda *_: None  # noqa: E731
            return SimpleNamespace(name=name, record_event=ignored, wait_event=ignored)

        names = iter(("s0", "s1"))
        nvtx = SimpleNamespace(
            range_push=lambda name: self.append(f"<{name}"),
            range_pop=lambda: self.append(">"),
        )
        cuda = SimpleNamespace(
            nvtx=nvtx,
            synchronize=lambda: self.append("wait"),
            stream=stream,
            Stream=lambda device: made(next(names)),
            current_stream=lambda: made("caller"),
            current_device=lambda: 0,
        )
        return SimpleNamespace(cuda=cuda, __version__="2.11.0")


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Iterator[Log]:
    launch._side_streams.cache_clear()
    log = Log()
    monkeypatch.setitem(sys.modules, "torch", log.torch())
    monkeypatch.setattr(worker_timeline, "compile_stages", lambda *_: log.append("compile"))
    using(monkeypatch, log, lambda stages: replace(FakePlan().plan_empty(), stages=stages))
    yield log
    launch._side_streams.cache_clear()


def using(monkeypatch: pytest.MonkeyPatch, log: Log, runnable: object) -> None:
    """Let the child prepare what `runnable` makes of stages that write into the log."""

    def prepare(spec: WorkerSpec) -> Prepared:
        stages = tuple(
            replace(kernel, launch=partial(log.append, kernel.name))
            for kernel in FakePlan().plan_empty().stages
        )
        made: Runnable = runnable(stages)  # type: ignore[operator]
        return Prepared(FakePlan(), (), made, lambda: log.append("call"))

    monkeypatch.setattr(worker_timeline, "prepare", prepare)


def job(folder: Path, device: str = "cuda:0", **more: object) -> WorkerSpec:
    return spec_for(FakePlan(), "timeline", device, folder, **more)


WARM_UP = ["<warm-up", *["latent", "combine"] * 3, "wait", ">"]
ALONE = ["<latent", "latent", ">", "wait", "<combine", "combine", ">", "wait"]
CALL = ["<iteration", "<latent", "latent", ">", "<combine", "combine", ">", ">"]


@pytest.mark.parametrize(("bench_runs", "calls"), [(None, 5), (2, 2)])
def test_stages_alone_are_waited_for_and_iterations_are_not(
    log: Log, tmp_path: Path, bench_runs: int | None, calls: int
) -> None:
    run_timeline(job(tmp_path, bench_runs=bench_runs))
    assert log == [
        *WARM_UP,
        *("<solo", *ALONE * runs("solo_runs"), ">"),
        *CALL * calls,
        "wait",
        "compile",
    ]
    assert (runs("warm_up_calls"), runs("iterations")) == (3, 5)


def test_concurrent_stages_run_on_their_streams_inside_their_ranges(
    log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    using(monkeypatch, log, lambda stages: ConcurrentKernels(stages, streams=2))
    run_timeline(job(tmp_path, bench_runs=1))
    begin = log.index("<iteration")
    assert log[begin : log.index("compile")] == [
        "<iteration",
        *("on s0", "<latent", "latent", ">", "off"),
        *("on s1", "<combine", "combine", ">", "off"),
        ">",
        "wait",
    ]
    # Alone they are on the caller's stream, and nothing else runs.
    assert log[len(WARM_UP) :][0] != "on s0"
    solo = log[log.index("<solo") : begin]
    assert "on s0" not in solo and solo.count("wait") == 2 * runs("solo_runs")


def test_a_fault_of_the_device_is_the_kernels(
    log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise RuntimeError("CUDA error: misaligned address")

    monkeypatch.setattr(sys.modules["torch"].cuda, "synchronize", fail)
    with pytest.raises(KernelFailed, match="misaligned address"):
        run_timeline(job(tmp_path))


def test_nsys_is_not_asked_about_a_cpu(tmp_path: Path) -> None:
    with pytest.raises(BadArgument, match="on a CPU the collector is kineto"):
        run_timeline(job(tmp_path, "cpu"))


NOTHING = '{"traceEvents": []}'
KERNEL = (
    '{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 5.5, '
    '"dur": 2.25, "args": {"device": 0, "context": 1, "stream": 7, "correlation": 3}}]}'
)


@pytest.mark.parametrize(("sessions", "sees"), [([KERNEL], 1), ([NOTHING, KERNEL], 2)])
def test_an_empty_first_session_is_tried_once_more(
    log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sessions: list[str], sees: int
) -> None:
    left = list(sessions)
    monkeypatch.setattr(
        worker_timeline, "_profiled", lambda run, on_gpu, trace: trace.write_text(left.pop(0))
    )
    run_timeline(job(tmp_path, collector="kineto"))
    (kernel,) = load_timeline(tmp_path / "spans.json").operations
    assert (kernel.start, kernel.end) == (0, 2250)
    assert left == [] and len(sessions) == sees


def test_a_collector_that_stays_empty_is_no_result(
    log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[Path] = []

    def nothing(run: object, on_gpu: bool, trace: Path) -> None:
        tried.append(trace)
        trace.write_text(NOTHING)

    monkeypatch.setattr(worker_timeline, "_profiled", nothing)
    with pytest.raises(NoUsableData, match="recorded no operation, twice") as caught:
        run_timeline(job(tmp_path, collector="kineto"))
    assert caught.value.exit_code == 5
    assert len(tried) == 2
    assert not (tmp_path / "spans.json").exists()
