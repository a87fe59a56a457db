"""Several plans on one problem in one process: the same inputs, own outputs, all of them right."""

import json
from collections.abc import Callable, Sequence
from typing import NamedTuple

from mla_var3.core import stats
from mla_var3.core.errors import BadArgument, KernelFailed, MlaError, NotComparable
from mla_var3.core.plan import KernelPlan, Tensor
from mla_var3.core.timing import Machine
from mla_var3.measure import timing
from mla_var3.measure.check import Expected, check_runnable, expect
from mla_var3.measure.check_cost import matmul_rate, refuse_slow_cpu
from mla_var3.measure.events import EventTimer
from mla_var3.measure.inband import InBandClock
from mla_var3.measure.kernel_count import count_kernels
from mla_var3.measure.leg_clock import InBandLegs, cycles_on
from mla_var3.measure.timing import Settings
from mla_var3.measure.timing_cpu import CpuLoad, CpuTimer
from mla_var3.measure.worker_event import machine_of
from mla_var3.measure.worker_prepare import (
    Prepared,
    bind,
    check_outputs,
    make_inputs,
    on_device,
    poison_outputs,
)
from mla_var3.measure.worker_spec import WorkerSpec, plan_of

PROBE_NS = 2e7
"""A side is called for so long to learn what a call of it takes."""
MOST_PROBES = 200


class Sides(NamedTuple):
    """Plans that have been run once each and gave what they must."""

    prepared: tuple[Prepared, ...]
    errors: tuple[float, ...]
    """Relative error of each output against the reference, 0..1."""
    machine: Machine
    checksums: tuple[int, ...]
    """Of the inputs."""
    names: tuple[str, ...]
    """What errors call them."""
    device: str

    def again(self) -> Prepared:
        """A second build of the first, with outputs of its own."""
        first = self.prepared[0]
        return bind(first.plan, first.inputs, self.device)


def prepare_sides(spec: WorkerSpec, calls: int) -> Sides:
    """The job's plan and its rivals on the inputs of the first, each checked against its reference.

    `calls` of each will be made at least. Raises `NotComparable` where they take other inputs,
    `KernelFailed` for a wrong result.
    """
    names = spec.labels or tuple(f"plan {at + 1}" for at in range(1 + len(spec.rivals)))
    made = (plan_of(spec), *map(plan_of, spec.rivals))
    plans = [on_device(plan, spec.device) for plan in made]
    if not spec.device.startswith("cuda"):
        for plan in plans:
            refuse_slow_cpu(plan, matmul_rate(), calls * len(plans))
    first = plans[0]
    inputs = make_inputs(first, spec.device, spec.seed)
    for plan, name in zip(plans[1:], names[1:], strict=True):
        _same_inputs(plan, name, inputs, spec, names[0])
    before = checksums(inputs)
    prepared = [
        _bound(plan, inputs, name, spec.device) for plan, name in zip(plans, names, strict=True)
    ]
    expected = expect(first, prepared[0].runnable, inputs, spec.device, spec.seed)
    errors = tuple(
        _checked(side, name, expected, before) for side, name in zip(prepared, names, strict=True)
    )
    machine = machine_of(spec, with_peaks=False)
    return Sides(tuple(prepared), errors, machine, before, names, spec.device)


class Timers(NamedTuple):
    """One a plan, all alike."""

    timers: tuple[EventTimer | CpuTimer, ...]
    flush_bytes: int
    clock: InBandLegs | None
    no_clock: str
    """Why there is none."""


def timers_of(
    prepared: Sequence[Prepared], spec: WorkerSpec, by: Settings, machine: Machine
) -> Timers:
    """Times each from its first launch to the end of its last stage: its span."""
    flush = int(by["flush_caches"] * machine.flush_cache_bytes)
    found = cycles_on(spec.device, machine.sm_count)
    cycles, no_clock = (None, found) if isinstance(found, str) else (found, "")
    timers = tuple(_timer(each.run, flush, spec.device, cycles) for each in prepared)
    return Timers(timers, flush, InBandLegs() if cycles else None, no_clock)


def _timer(
    run: Callable[[], None], flush_bytes: int, device: str, cycles: InBandClock | None
) -> EventTimer | CpuTimer:
    if not device.startswith("cuda"):
        return CpuTimer(run, flush_bytes)
    import torch

    return EventTimer(run, flush_bytes, torch, cycles)


def hold_alike(timers: Sequence[EventTimer | CpuTimer], calls: list[float], by: Settings) -> str:
    """Hold the stream before each sample of all sides where one of them needs it; in words."""
    on_gpu = [timer for timer in timers if isinstance(timer, EventTimer)]
    if not on_gpu:
        return "one call after the other on this thread"
    hosts = [timer.host_ns() for timer in on_gpu]
    pairs = zip(calls, hosts, strict=False)
    if not any(timing.needs_hold(call, host, by) for call, host in pairs):
        return "one call a sample; the flush gives the host time to queue it"
    hold = timing.hold_ns(max(hosts), by)
    if any(timer.counts_cycles for timer in on_gpu):
        hold += by["hold_stamp_ns"]
    for timer in on_gpu:
        timer.hold(hold)
    return f"a spin kernel of {hold / 1e3:.0f} µs holds the stream before each sample"


def call_ns(timer: EventTimer | CpuTimer) -> float:
    """About what a call takes, once it is warm."""
    once = max(timer.calls(1), 1.0)
    count = int(max(1, min(MOST_PROBES, PROBE_NS / once)))
    return stats.median([timer.calls(count) / count for _ in range(3)])


def poison_sides(prepared: Sequence[Prepared]) -> list[tuple[tuple[str, Tensor], ...]]:
    """Fill the outputs of all sides before they are timed."""
    return [poison_outputs(side) for side in prepared]


def check_sides(sides: Sides, poisoned: list[tuple[tuple[str, Tensor], ...]]) -> tuple[str, ...]:
    """Doubts about what was written while it was timed; `KernelFailed` where a side wrote nothing,
    or wrote into what both read.
    """
    doubts: list[str] = []
    for side, pattern, name in zip(sides.prepared, poisoned, sides.names, strict=True):
        try:
            doubts += [f"{name}: {doubt}" for doubt in check_outputs(side, pattern)]
        except KernelFailed as error:
            raise KernelFailed(f"{name}: {error}") from error
    if checksums(sides.prepared[0].inputs) != sides.checksums:
        raise KernelFailed("the inputs changed while the sides were timed: one writes into them")
    return tuple(doubts)


def launches_of(timers: Sequence[EventTimer | CpuTimer]) -> tuple[int | None, ...]:
    """Kernels in one call of each, after all timing; None where they are not counted."""
    return tuple(
        sum(count_kernels(timer.once).kernels.values()) or None
        if isinstance(timer, EventTimer)
        else None
        for timer in timers
    )


def crowd(device: str, load: CpuLoad, by: Settings) -> tuple[str, ...]:
    """A doubt where other processes used the CPU that was timed."""
    others = None if device.startswith("cuda") else load.others_pct()
    if others is None or others <= by["shared_pct"]:
        return ()
    return (f"shared CPU: others used {others:.0f} % of its cores",)


def checksums(inputs: Sequence[Tensor]) -> tuple[int, ...]:
    """A sum of the bits of each input tensor: the same only where nothing was written."""
    import torch

    views = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    return tuple(
        int(x.contiguous().view(views[x.element_size()]).sum(dtype=torch.int64))
        for x in inputs
        if hasattr(x, "element_size") and x.element_size() in views
    )


def _same_inputs(
    plan: KernelPlan, name: str, inputs: tuple[Tensor, ...], spec: WorkerSpec, first: str
) -> None:
    """Raise where a plan would take other tensors than the first: both would do other work."""
    own = make_inputs(plan, spec.device, spec.seed)
    described = [[_described(x) for x in each] for each in (inputs, own)]
    del own
    if described[0] != described[1]:
        texts = (json.dumps(each).replace('"', "") for each in described)
        raise NotComparable(
            f"not comparable: {first} and {name} take other inputs, {next(texts)} and {next(texts)}"
        )


def _described(x: Tensor) -> str:
    if not hasattr(x, "shape"):
        return str(x)
    return f"{'x'.join(map(str, x.shape))} {str(x.dtype).removeprefix('torch.')}"


def _bound(plan: KernelPlan, inputs: tuple[Tensor, ...], name: str, device: str) -> Prepared:
    try:
        return bind(plan, inputs, device)
    except MlaError as error:
        error.args = (f"{name}: {error}",)
        raise


def _checked(side: Prepared, name: str, expected: Expected, before: tuple[int, ...]) -> float:
    """Its relative error. The reference was computed before anything ran."""
    try:
        check = check_runnable(side.runnable, side.inputs, expected)
    except BadArgument as error:
        raise BadArgument(f"{name}: {error}") from error
    except MlaError as error:
        error.args = (f"{name}: {error}",)
        raise
    if checksums(side.inputs) != before:
        raise KernelFailed(f"{name} writes into its inputs, which all sides share")
    if not check.passed:
        raise KernelFailed(f"{name} gives wrong results: {check.detail}")
    return check.relative_error or 0.0
