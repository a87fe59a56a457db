"""Runs what a plan launches, once: on CUDA with streams and events, on the CPU in order."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

from mla_var3.core.errors import KernelFailed, MachineCannot, MlaError
from mla_var3.core.plan import ConcurrentKernels, Kernel, Runnable, stages_of

Around = Callable[[str], AbstractContextManager[Any]]
"""Opens something around the launch of a stage, by its name: a range for a profiler."""


def run_plan(runnable: Runnable, device: str) -> None:
    """Run every stage once and wait for the end. Stages of `ConcurrentKernels` overlap on CUDA."""
    if not device.startswith("cuda"):
        launch_in_order(runnable)
        return
    import torch

    with torch.cuda.device(device):
        enqueue(runnable)
        try:
            torch.cuda.synchronize()
        except RuntimeError as error:
            # A fault on the device shows only when it is waited for; which stage is not told.
            raise _failure("a stage", error) from error


def enqueue(runnable: Runnable, around: Around = nullcontext) -> None:
    """Put every stage on the current CUDA device, in the caller's stream's order, without waiting.

    Concurrent stages get streams of their own, forked from and joined to the caller's by events.
    """
    if isinstance(runnable, ConcurrentKernels) and runnable.streams > 1:
        _fork_and_join(runnable, around)
    else:
        launch_in_order(runnable, around)


def launch_in_order(runnable: Runnable, around: Around = nullcontext) -> None:
    """Launch every stage, one after the other, on torch's current stream or on the CPU."""
    for kernel in stages_of(runnable):
        with around(kernel.name):
            launch_stage(kernel)


def launch_stage(kernel: Kernel) -> None:
    """Launch one stage on torch's current stream; what goes wrong is one line naming the stage."""
    if kernel.launch is None:
        raise ValueError(f"stage {kernel.name} has no tensors: it comes from plan_empty()")
    try:
        kernel.launch()
    except MlaError:
        raise
    except Exception as error:
        raise _failure(f"stage {kernel.name}", error) from error


def _fork_and_join(runnable: ConcurrentKernels, around: Around) -> None:
    import torch

    caller = torch.cuda.current_stream()
    count = min(runnable.streams, len(runnable.stages))
    streams = _side_streams(torch.cuda.current_device(), count)
    fork = caller.record_event()
    for stream in streams:
        stream.wait_event(fork)
    for number, kernel in enumerate(runnable.stages):
        with torch.cuda.stream(streams[number % len(streams)]), around(kernel.name):
            launch_stage(kernel)
    for stream in streams:
        caller.wait_event(stream.record_event())
    for kernel in runnable.after:
        with around(kernel.name):
            launch_stage(kernel)


@cache
def _side_streams(device: int, count: int) -> tuple[Any, ...]:
    """Streams of a device, the same each time: libraries keep a workspace for every stream."""
    import torch

    return tuple(torch.cuda.Stream(device) for _ in range(count))


def _failure(what: str, error: Exception) -> MlaError:
    """The error as one line; out of memory is the machine's limit, all else the kernel's fault."""
    first_line = (str(error).strip().splitlines() or [""])[0]
    if type(error).__name__ == "OutOfMemoryError":
        return MachineCannot(f"{what}: not enough memory on the device: {first_line}")
    return KernelFailed(f"{what} failed: {type(error).__name__}: {first_line}")
