"""A plan as one device runs it: its stages, grids and splits may follow the number of SMs."""

from mla_var3.core.device import load_devices
from mla_var3.core.params import check_tilings
from mla_var3.core.plan import KernelPlan
from mla_var3.core.target import Target, of_driver
from mla_var3.measure.gpus import Gpu, cuda_devices


def plan_on(plan: KernelPlan, gpu: Gpu | None) -> KernelPlan:
    """The plan for a GPU's SMs (None: a CPU). Raises `BadArgument` for what cannot run there.

    Where nobody tells the SMs, the tilings are judged by the measuring child, which sees them.
    """
    plan.validate()
    sms = target_of_gpu(gpu).sm_count if gpu is not None else None
    made = plan.for_sms(sms)
    if gpu is None or sms is not None:
        check_tilings(made)
    return made


def target_of_gpu(gpu: Gpu) -> Target:
    """The GPU with its entry in the table of devices, found by its exact name."""
    return of_driver(gpu.name, gpu.capability, load_devices(), gpu.sm_count)


def gpu_of(device: str) -> Gpu | None:
    """The GPU of `cuda:N`; None for a CPU."""
    return next((gpu for gpu in cuda_devices() if device == f"cuda:{gpu.index}"), None)
