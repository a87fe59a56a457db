"""A plan made ready in the measuring child: inputs, tensors, and one call of all its stages."""

from collections.abc import Callable
from dataclasses import dataclass

from mla_var3.core.errors import KernelFailed, MachineCannot
from mla_var3.core.locate import is_installed, missing_package
from mla_var3.core.params import check_tilings
from mla_var3.core.plan import Kernel, KernelPlan, Runnable, Tensor, stages_of
from mla_var3.measure.check_cost import matmul_rate, refuse_slow_cpu
from mla_var3.measure.check_poison import PATTERNS, unwritten
from mla_var3.measure.launch import enqueue, launch_in_order
from mla_var3.measure.worker_spec import WorkerSpec, plan_of

CALLS_AT_LEAST = 4
"""A timed CPU run calls the plan at least so often: the limit of a minute is for all of them."""


@dataclass(frozen=True)
class Prepared:
    """What a task runs. `run` puts one call of every stage on the current stream."""

    plan: KernelPlan
    inputs: tuple[Tensor, ...]
    runnable: Runnable
    run: Callable[[], None]

    @property
    def stages(self) -> tuple[Kernel, ...]:
        return stages_of(self.runnable)


def prepare(spec: WorkerSpec) -> Prepared:
    """Rebuild the plan, make inputs of the seed and bind its stages to them.

    Raises `MachineCannot` without torch, for a device that is not there, for a CPU run that is
    estimated over a minute, and where memory does not suffice.
    """
    plan = on_device(plan_of(spec), spec.device)
    if not spec.device.startswith("cuda"):
        refuse_slow_cpu(plan, matmul_rate() / CALLS_AT_LEAST)
    return bind(plan, make_inputs(plan, spec.device, spec.seed), spec.device)


def on_device(plan: KernelPlan, device: str) -> KernelPlan:
    """The plan as the device runs it, which becomes torch's current one.

    Raises `MachineCannot` without torch and for a device that is not there, `BadArgument` for a
    tiling that cannot run there.
    """
    if not is_installed("torch"):
        raise missing_package("torch")
    import torch

    if device.startswith("cuda"):
        index = int(device.partition(":")[2] or 0)
        if not torch.cuda.is_available() or index >= torch.cuda.device_count():
            raise MachineCannot(f"torch sees no {device} here")
        torch.cuda.set_device(index)
        plan = plan.for_sms(torch.cuda.get_device_properties(index).multi_processor_count)
    check_tilings(plan)
    return plan


def make_inputs(plan: KernelPlan, device: str, seed: int) -> tuple[Tensor, ...]:
    """Seeded inputs on the device; `MachineCannot` where memory does not suffice."""
    try:
        return plan.prepare_inputs(device, seed)
    except RuntimeError as error:
        raise _unmade(error) from error


def bind(plan: KernelPlan, inputs: tuple[Tensor, ...], device: str) -> Prepared:
    """The plan's stages on inputs that may not be its own, with outputs that are.

    On a CPU concurrent stages run one after the other.
    """
    try:
        runnable = plan.plan(*inputs)
    except RuntimeError as error:
        raise _unmade(error) from error
    run = enqueue if device.startswith("cuda") else launch_in_order
    return Prepared(plan, inputs, runnable, lambda: run(runnable))


def _unmade(error: RuntimeError) -> MachineCannot | KernelFailed:
    first = (str(error).strip().splitlines() or [""])[0]
    if type(error).__name__ == "OutOfMemoryError" or "memory" in first.lower():
        return MachineCannot(f"not enough memory for the inputs: {first}")
    return KernelFailed(f"the plan cannot be made: {type(error).__name__}: {first}")


def poison_outputs(prepared: Prepared) -> tuple[tuple[str, Tensor], ...]:
    """Fill the outputs that can be told apart from the inputs; those, with their stage's name."""
    import torch

    taken = {x.untyped_storage().data_ptr() for x in prepared.inputs if hasattr(x, "shape")}
    poisoned = []
    for kernel in prepared.stages:
        for tensor in kernel.outputs:
            pattern = PATTERNS.get(str(tensor.dtype))
            if pattern is None or tensor.untyped_storage().data_ptr() in taken:
                continue
            view = torch.int16 if tensor.element_size() == 2 else torch.int32
            tensor.view(view).fill_(pattern)
            poisoned.append((kernel.name, tensor))
    return tuple(poisoned)


def check_outputs(prepared: Prepared, poisoned: tuple[tuple[str, Tensor], ...]) -> tuple[str, ...]:
    """Doubts about what was written. Raises `KernelFailed` where a stage wrote nothing.

    The plan's result must be written whole; of other outputs some elements may be padding.
    """
    last = prepared.stages[-1]
    result = last.outputs[0] if last.outputs else None
    doubts = []
    for name, tensor in poisoned:
        never = int(unwritten(tensor).sum())
        whole = tensor is result
        if never and (whole or never == tensor.numel()):
            raise KernelFailed(
                f"CHECK_FAILED stage {name}: {never} of {tensor.numel()} elements of its output "
                "were never written while it was timed; see it with --check"
            )
        if whole and bool(tensor.isnan().any()):
            doubts.append(f"the result of {name} holds NaN: try --check")
    if not any(tensor is result for _, tensor in poisoned):
        doubts.append("the result was not checked: it is no output that could be poisoned before")
    return tuple(doubts)
