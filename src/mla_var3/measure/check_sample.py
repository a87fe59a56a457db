"""Which parts of a result are compared where the whole reference would take too long."""

import math
import random

from mla_var3.core.plan import KernelPlan, Sample, Tensor
from mla_var3.measure.check_cost import reference_budget, reference_seconds


def choose_sample(
    plan: KernelPlan, shape: tuple[int, ...], device: str, seed: int
) -> Sample | None:
    """Parts that fit the reference's time, first and last of each axis always; None: everything."""
    sizes = [shape[axis] for axis in plan.SAMPLE_AXES.values()]
    parts = math.prod(sizes)
    seconds = reference_seconds(plan, device)
    budget = reference_budget(device)
    if not plan.SAMPLE_AXES or seconds <= budget:
        return None
    affordable = int(parts * budget / seconds)
    return spread_sample(sizes, affordable, seed)


def spread_sample(sizes: list[int], count: int, seed: int) -> Sample:
    """The corners, then random parts up to `count`, in order; the same for the same seed."""
    corners = _corners(sizes)
    parts = math.prod(sizes)
    drawn = random.Random(seed).sample(range(parts), min(parts, max(count, len(corners))))
    chosen = set(corners)
    for number in drawn:
        if len(chosen) >= count:
            break
        chosen.add(_part(number, sizes))
    return tuple(sorted(chosen))


def take(plan: KernelPlan, result: Tensor, sample: Sample) -> Tensor:
    """The sampled parts of a result, one after the other on a new first axis."""
    import torch

    axes = list(plan.SAMPLE_AXES.values())
    index = torch.tensor(sample, device=result.device).unbind(1)
    return result.movedim(axes, list(range(len(axes))))[index]


def place(plan: KernelPlan, at: tuple[int, ...], sample: Sample | None, ndim: int) -> str:
    """The place in the result that an index means: `b=1 h=3 axis1=0`.

    `at` is an index of the result, or of `take(...)` where there is a sample.
    """
    names = {axis: name for name, axis in plan.SAMPLE_AXES.items()}
    axes = list(range(ndim))
    if sample is not None:
        sampled = list(plan.SAMPLE_AXES.values())
        axes = sampled + [axis for axis in axes if axis not in sampled]
        at = (*sample[at[0]], *at[1:])
    found = sorted(zip(axes, at, strict=False))
    return " ".join(f"{names.get(axis, f'axis{axis}')}={index}" for axis, index in found)


def _corners(sizes: list[int]) -> Sample:
    corners: list[tuple[int, ...]] = [()]
    for size in sizes:
        corners = [(*corner, end) for corner in corners for end in sorted({0, size - 1})]
    return tuple(corners)


def _part(number: int, sizes: list[int]) -> tuple[int, ...]:
    part = []
    for size in reversed(sizes):
        number, index = divmod(number, size)
        part.append(index)
    return tuple(reversed(part))
