"""`--check`: one run of a plan against its float32 reference, with outputs poisoned before.

The reference is computed before the run: a kernel that spoils its inputs cannot spoil it too.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from mla_var3.core.errors import BadArgument
from mla_var3.core.plan import Kernel, KernelPlan, Runnable, Sample, Tensor, stages_of
from mla_var3.core.record import Check
from mla_var3.measure.check_compare import Bounds, Comparison, bounds_for, compare
from mla_var3.measure.check_cost import refuse_slow_cpu
from mla_var3.measure.check_poison import poison, unwritten
from mla_var3.measure.check_sample import choose_sample, place, take
from mla_var3.measure.launch import run_plan


def check_plan(plan: KernelPlan, device: str, seed: int, sample: Sample | None = None) -> Check:
    """Run the plan on fresh inputs of `seed` and compare; errors as fractions.

    `sample` are the parts to compare (see `SAMPLE_AXES`); None: all, or as many as the reference
    computes in a second or two. Raises `MachineCannot` for a CPU run over a minute.
    """
    plan.validate()
    if not device.startswith("cuda"):
        refuse_slow_cpu(plan)
    inputs = plan.prepare_inputs(device, seed)
    runnable = plan.plan(*inputs)
    expected = expect(plan, runnable, inputs, device, seed, sample)
    return check_runnable(runnable, inputs, expected)


class Expected(NamedTuple):
    """What a run on inputs of `seed` must give: the reference of the parts in `sample`."""

    plan: KernelPlan
    """Whose reference it is."""
    reference: Tensor
    sample: Sample | None
    device: str
    seed: int


def expect(
    plan: KernelPlan,
    runnable: Runnable,
    inputs: tuple[Tensor, ...],
    device: str,
    seed: int,
    sample: Sample | None = None,
) -> Expected:
    """What a plan, and any other of the same problem, must give for these inputs."""
    if sample is None:
        shape = tuple(_result_of(stages_of(runnable)).shape)
        sample = choose_sample(plan, shape, device, seed)
    return Expected(plan, _reference(plan, inputs, sample), sample, device, seed)


def check_runnable(runnable: Runnable, inputs: tuple[Tensor, ...], expected: Expected) -> Check:
    """Run once, with outputs poisoned before, and compare."""
    stages = stages_of(runnable)
    result = _result_of(stages)
    poison(stages, inputs)
    run_plan(runnable, expected.device)
    plan, sample = expected.plan, expected.sample
    scope = f"{_scope(plan, result, sample)}; seed {expected.seed}, {expected.device}"
    return judge(plan, result, expected.reference, sample, bounds_for(result.dtype), scope)


def judge(
    plan: KernelPlan,
    result: Tensor,
    reference: Tensor,
    sample: Sample | None,
    bounds: Bounds,
    scope: str = "",
) -> Check:
    """The verdict on a result that was poisoned before the run. `scope` says what was compared."""
    if not reference.isfinite().all():
        raise BadArgument("--check: the reference itself is not finite, so nothing can be judged")
    faults = _missing_numbers(plan, result)
    compared = result if sample is None else take(plan, result, sample)
    if compared.shape != reference.shape:
        sizes = f"result {list(compared.shape)}, reference {list(reference.shape)}"
        return Check(passed=False, detail="; ".join([f"shapes differ: {sizes}", *faults, scope]))
    errors = compare(compared, reference)
    faults += _excess(plan, errors, bounds, sample, result.ndim)
    return Check(
        passed=not faults and errors.passes(bounds),
        relative_error=_finite(errors.relative_error),
        worst_row=_finite(errors.worst_row),
        detail="; ".join([*faults, scope]),
    )


def _result_of(stages: Sequence[Kernel]) -> Tensor:
    """The first output of the last stage."""
    if not stages or not stages[-1].outputs:
        name = stages[-1].name if stages else "(none)"
        raise BadArgument(f"--check: the last stage, {name}, names no outputs to compare")
    return stages[-1].outputs[0]


def _reference(plan: KernelPlan, inputs: tuple[Tensor, ...], sample: Sample | None) -> Tensor:
    """The reference in full float32: TF32 would cost it 1e-3."""
    import torch

    precision = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        if sample is None:
            return plan.reference_fn(*inputs)
        return plan.reference_sample(sample, *inputs)
    finally:
        torch.set_float32_matmul_precision(precision)


def _missing_numbers(plan: KernelPlan, result: Tensor) -> list[str]:
    """What the whole result lacks, sampled or not: elements never written, and computed NaN."""
    never = unwritten(result)
    faults = _count(plan, never, "never written")
    return faults + _count(plan, result.isnan() & ~never, "NaN")


def _count(plan: KernelPlan, mask: Tensor, what: str) -> list[str]:
    number = int(mask.sum())
    if not number:
        return []
    first = tuple(int(index) for index in mask.nonzero()[0])
    where = place(plan, first, None, mask.ndim)
    return [f"{number} of {mask.numel()} elements {what}, the first at {where}"]


def _excess(
    plan: KernelPlan, errors: Comparison, bounds: Bounds, sample: Sample | None, ndim: int
) -> list[str]:
    """The errors beyond their bounds, in words."""
    faults = []
    if errors.relative_error > bounds.relative_error:
        faults.append(f"relative error {errors.relative_error:.2g} > {bounds.relative_error:g}")
    if errors.worst_row > bounds.worst_row:
        where = place(plan, errors.at, sample, ndim)
        faults.append(f"row {where}: error {errors.worst_row:.2g} > {bounds.worst_row:g}")
    return faults


def _scope(plan: KernelPlan, result: Tensor, sample: Sample | None) -> str:
    """What was compared: everything, or how many parts of how many."""
    if sample is None:
        return f"all {result.numel()} elements compared"
    names = ", ".join(plan.SAMPLE_AXES)
    parts = math.prod(result.shape[axis] for axis in plan.SAMPLE_AXES.values())
    return f"{len(sample)} of {parts} ({names}) compared, all rows of each"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
