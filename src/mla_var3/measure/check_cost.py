"""What a check costs on the CPU, and a smaller problem where that is over a minute."""

import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

from mla_var3.conf import table
from mla_var3.core.errors import BadArgument, MachineCannot
from mla_var3.core.locate import kernel_name
from mla_var3.core.params import problem_text
from mla_var3.core.plan import DTYPE_BYTES, KernelPlan, stages_of

PROBE = 384
"""Rows and columns of the product that the CPU's rate is measured with: some milliseconds."""


def refuse_slow_cpu(plan: KernelPlan, rate: float | None = None, calls: int = 1) -> None:
    """Raise `MachineCannot`, with the estimate and a smaller problem, for a run over the limit.

    `rate` is the CPU's float32 matmul rate in FLOP/s; None: measured. It is run `calls` times.
    """
    limit = table("check")["cpu"]["limit_seconds"]
    seconds = estimate_cpu_seconds(plan, rate, calls)
    if seconds <= limit:
        return
    name = kernel_name(type(plan))
    smaller = smaller_problem(plan, lambda p: estimate_cpu_seconds(p, rate, calls) <= limit / 2)
    advice = "run it on a GPU: --device=cuda"
    if smaller is not None:
        about = estimate_cpu_seconds(smaller, rate, calls)
        advice = f"try {changed_options(plan, smaller)} (about {_spoken(about)}), or --device=cuda"
    raise MachineCannot(
        f"{name} at {problem_text(plan)} would take about {_spoken(seconds)} on this CPU "
        f"(limit {limit} s): {advice}"
    )


def estimate_cpu_seconds(plan: KernelPlan, rate: float | None = None, calls: int = 1) -> float:
    """Seconds for inputs, runs of every stage and the sampled reference on this CPU."""
    figures = table("check")["cpu"]
    effective = (rate or matmul_rate()) * figures["matmul_share"]
    width = DTYPE_BYTES.get(getattr(plan, "dtype", "fp32"), 4)
    running = 0.0
    here = plan.for_sms(None)  # what `plan` makes for tensors of a CPU
    for kernel in stages_of(here.plan_empty()):
        if kernel.cpu_seconds is not None:
            running += kernel.cpu_seconds
            continue
        elements = kernel.cost.bytes / width
        running += kernel.cost.flops / effective + elements * figures["seconds_per_element"]
    whole = plan._algorithmic_flops_bytes()
    making = whole.read_bytes / width * figures["seconds_per_input_element"]
    judging = min(reference_seconds(plan, "cpu"), reference_budget("cpu"))
    return float(calls * running + making + judging)


def reference_seconds(plan: KernelPlan, device: str) -> float:
    """Estimated seconds of the whole float32 reference on a kind of device."""
    rates = table("check")["reference"][device.partition(":")[0]]
    cost = plan._algorithmic_flops_bytes()
    width = DTYPE_BYTES.get(getattr(plan, "dtype", "fp32"), 4)
    elements = cost.bytes / width
    return float(cost.flops / rates["flops_per_second"] + elements / rates["elements_per_second"])


def reference_budget(device: str) -> float:
    """Seconds that a reference may take on a kind of device, beyond which it is sampled."""
    return float(table("check")["reference"][device.partition(":")[0]]["seconds"])


def smaller_problem(
    plan: KernelPlan, is_small_enough: Callable[[KernelPlan], bool]
) -> KernelPlan | None:
    """The problem with sizes halved, the one furthest from its floor first, until small enough."""
    floors = plan.SHRINK or {
        field.name: 1 for field in plan.problem_fields() if type(getattr(plan, field.name)) is int
    }
    while not is_small_enough(plan):
        halved = _halved(plan, floors)
        if halved is None:
            return None
        plan = halved
    return plan


def changed_options(plan: KernelPlan, other: KernelPlan) -> str:
    """The options that make `other` of `plan`: `--b=16 --t=2048`."""
    pairs = ((f.name, getattr(other, f.name)) for f in plan.problem_fields())
    return " ".join(f"--{name}={value}" for name, value in pairs if value != getattr(plan, name))


@cache
def matmul_rate() -> float:
    """float32 FLOP/s of this CPU in a small product, best of three."""
    import torch

    a, b = torch.rand(PROBE, PROBE), torch.rand(PROBE, PROBE)
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        torch.mm(a, b)
        best = min(best, time.perf_counter() - start)
    return float(2 * PROBE**3 / best)


def _halved(plan: KernelPlan, floors: Any) -> KernelPlan | None:
    """The plan with one size halved that may be; None when none may."""
    for name in sorted(floors, key=lambda n: -getattr(plan, n) / floors[n]):
        value = getattr(plan, name)
        if value <= floors[name]:
            continue
        smaller = replace(plan, **{name: max(floors[name], value // 2)})
        try:
            smaller.validate()
        except BadArgument:
            continue
        return smaller
    return None


def _spoken(seconds: float) -> str:
    """`8 s`, `94 s`, `12 min`, `3.4 h`."""
    if seconds < 180:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
