"""Order of launches on the CPU, streams and events on CUDA (with a torch that only keeps a log)."""

import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from mla_var3.core.errors import BadArgument, KernelFailed, MachineCannot
from mla_var3.core.plan import ConcurrentKernels, Cost, Kernel, KernelPipeline, Runnable, Tiling
from mla_var3.measure import launch
from mla_var3.measure.launch import enqueue, launch_stage, run_plan


def stage(name: str, launch: Callable[[], None] | None) -> Kernel:
    return Kernel(name, Tiling(), Cost(0, 0, 0), (), launch=launch)


def logging(log: list[str], *names: str) -> tuple[Kernel, ...]:
    return tuple(stage(name, lambda name=name: log.append(name)) for name in names)


def runnables(log: list[str]) -> list[tuple[Runnable, str]]:
    a, b, c = logging(log, "a", "b", "c")
    return [
        (a, "a"),
        (KernelPipeline((c, a, b)), "cab"),
        (ConcurrentKernels((b, a), after=(c,)), "bac"),
        (ConcurrentKernels((a, b), after=(c,), streams=1), "abc"),
    ]


@pytest.mark.parametrize("which", range(4))
def test_stages_run_in_order_on_the_cpu(which: int) -> None:
    log: list[str] = []
    runnable, order = runnables(log)[which]
    run_plan(runnable, "cpu")
    assert "".join(log) == order


class Stream:
    """A CUDA stream that writes down what it is told."""

    made = 0

    def __init__(self, log: list[str], name: str) -> None:
        self.log, self.name = log, name

    def record_event(self) -> str:
        self.log.append(f"{self.name} records")
        return f"event of {self.name}"

    def wait_event(self, event: str) -> None:
        self.log.append(f"{self.name} waits for {event}")


@pytest.fixture
def cuda_log(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Log of a stand-in for torch.cuda."""
    launch._side_streams.cache_clear()
    log: list[str] = []
    names = iter(("s0", "s1", "s2"))

    @contextmanager
    def using(stream: Any) -> Iterator[None]:
        log.append(f"on {getattr(stream, 'name', stream)}")
        yield
        log.append("off")

    cuda = types.SimpleNamespace(
        device=using,
        stream=using,
        Stream=lambda device: Stream(log, next(names)),
        current_device=lambda: 1,
        current_stream=lambda: Stream(log, "caller"),
        synchronize=lambda: log.append("synchronize"),
    )
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(cuda=cuda))
    yield log
    launch._side_streams.cache_clear()


def test_concurrent_stages_fork_from_the_caller_and_join_it(cuda_log: list[str]) -> None:
    a, b, c = logging(cuda_log, "a", "b", "c")
    run_plan(ConcurrentKernels((a, b), after=(c,)), "cuda:1")
    assert cuda_log == [
        "on cuda:1",
        "caller records",
        "s0 waits for event of caller",
        "s1 waits for event of caller",
        *("on s0", "a", "off"),
        *("on s1", "b", "off"),
        "s0 records",
        "caller waits for event of s0",
        "s1 records",
        "caller waits for event of s1",
        "c",
        "synchronize",
        "off",
    ]


@pytest.mark.parametrize(
    ("streams", "expected"),
    [
        (2, "on s0 <a a a> off on s1 <b b b> off <c c c>"),
        (1, "<a a a> <b b b> <c c c>"),
    ],
)
def test_what_opens_around_a_stage_holds_its_launch_alone(
    cuda_log: list[str], streams: int, expected: str
) -> None:
    @contextmanager
    def around(name: str) -> Iterator[None]:
        cuda_log.append(f"<{name}")
        yield
        cuda_log.append(f"{name}>")

    a, b, c = logging(cuda_log, "a", "b", "c")
    enqueue(ConcurrentKernels((a, b), after=(c,), streams=streams), around)
    assert " ".join(line for line in cuda_log if "event" not in line and "rec" not in line) == (
        expected
    )


@pytest.mark.parametrize("which", [0, 1, 3])
def test_what_is_not_concurrent_stays_on_the_callers_stream(
    cuda_log: list[str], which: int
) -> None:
    runnable, order = runnables(cuda_log)[which]
    run_plan(runnable, "cuda")
    assert cuda_log == ["on cuda", *order, "synchronize", "off"]


def test_more_stages_than_streams_take_turns(cuda_log: list[str]) -> None:
    stages = logging(cuda_log, "a", "b", "c")
    run_plan(ConcurrentKernels(stages), "cuda")
    placed = [line for line in cuda_log if line.startswith("on s") or line in "abc"]
    assert placed == ["on s0", "a", "on s1", "b", "on s0", "c"]


def test_the_streams_of_a_device_are_kept(cuda_log: list[str]) -> None:
    for _ in range(2):
        run_plan(ConcurrentKernels(logging(cuda_log, "a", "b")), "cuda")
    placed = [line for line in cuda_log if line.startswith("on s")]
    assert placed == ["on s0", "on s1", "on s0", "on s1"]


class OutOfMemoryError(RuntimeError):
    """Named as torch's."""


def raising(error: Exception) -> Callable[[], None]:
    def raises() -> None:
        raise error

    return raises


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (ValueError("bad\nlong"), KernelFailed, "stage x failed: ValueError: bad"),
        (RuntimeError(), KernelFailed, "stage x failed: RuntimeError: "),
        (
            OutOfMemoryError("tried 9 GB"),
            MachineCannot,
            "stage x: not enough memory on the device: tried 9 GB",
        ),
        (BadArgument("--tile=3"), BadArgument, "--tile=3"),
    ],
)
def test_failures_are_one_line(error: Exception, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as caught:
        launch_stage(stage("x", raising(error)))
    assert str(caught.value) == text


def test_a_fault_that_shows_late_is_a_kernel_failure(
    cuda_log: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    late = raising(RuntimeError("CUDA error: an illegal memory access"))
    monkeypatch.setattr(sys.modules["torch"].cuda, "synchronize", late)
    with pytest.raises(KernelFailed, match="a stage failed: RuntimeError: CUDA error"):
        run_plan(logging(cuda_log, "a")[0], "cuda")


def test_a_stage_without_tensors_is_a_defect_of_the_caller() -> None:
    with pytest.raises(ValueError, match="plan_empty"):
        run_plan(stage("x", None), "cpu")
