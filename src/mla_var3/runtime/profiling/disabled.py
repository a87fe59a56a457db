"""`--prof_type=disabled`: run a plan once, or check it against its reference. Nothing is stored."""

from mla_var3.core.errors import KernelFailed
from mla_var3.core.locate import is_installed, kernel_name, missing_package
from mla_var3.core.plan import KernelPlan
from mla_var3.core.record import Check
from mla_var3.runtime.on_device import gpu_of, plan_on


def run_once(plan: KernelPlan, device: str, seed: int = 0) -> None:
    """Run every stage once on fresh inputs of `seed`; raises what goes wrong.

    `MachineCannot` for a CPU run that is estimated over a minute.
    """
    _prepare(plan, device)
    from mla_var3.measure.check_cost import refuse_slow_cpu
    from mla_var3.measure.launch import run_plan

    if not device.startswith("cuda"):
        refuse_slow_cpu(plan)
    run_plan(plan.plan(*plan.prepare_inputs(device, seed)), device)


def check_once(plan: KernelPlan, device: str, seed: int = 0) -> Check:
    """Run once and compare with the float32 reference; errors are fractions of 1."""
    _prepare(plan, device)
    from mla_var3.measure.check import check_plan

    return check_plan(plan, device, seed)


def failed(plan: KernelPlan, check: Check) -> KernelFailed:
    """The error of a check that did not pass."""
    name = f"{kernel_name(type(plan))} {plan.VERSION}"
    return KernelFailed(f"CHECK_FAILED {name}: {check.detail}")


def _prepare(plan: KernelPlan, device: str) -> None:
    plan_on(plan, gpu_of(device))
    if not is_installed("torch"):
        raise missing_package("torch")
