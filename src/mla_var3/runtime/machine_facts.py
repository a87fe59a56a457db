"""What must be equal of a machine before two times may stand side by side, as its driver tells."""

from typing import NamedTuple

from mla_var3.core.comparison import Conditions
from mla_var3.core.device import load_devices
from mla_var3.core.plan import KernelPlan
from mla_var3.core.timing import Machine
from mla_var3.measure.clocks import driver_version, other_processes, power_limit_w, read_clocks
from mla_var3.measure.gpu_lock import CPU
from mla_var3.measure.gpus import Gpu
from mla_var3.measure.noise_floor import load_floor
from mla_var3.measure.timing_record import whole_kernel
from mla_var3.runtime.measuring import MeasureOptions

DISTRIBUTION = "normal"
"""Of the random inputs of all plans (`prepare_inputs`)."""


class MachineFacts(NamedTuple):
    """Of a GPU; of a CPU (`gpu` is None) nothing is asked. None: the driver does not tell."""

    gpu: Gpu | None = None
    driver: str | None = None
    power_limit_w: float | None = None
    locked: bool | None = None
    shared: bool | None = None
    """Other processes compute on it."""


def facts_of(gpu: Gpu | None) -> MachineFacts:
    """Ask the driver, before our own child computes."""
    if gpu is None:
        return MachineFacts()
    others = other_processes(gpu.uuid)
    return MachineFacts(
        gpu=gpu,
        driver=driver_version(gpu.uuid),
        power_limit_w=power_limit_w(gpu.uuid),
        locked=read_clocks(gpu.uuid).locked,
        shared=None if others is None else others > 0,
    )


def conditions_on(
    facts: MachineFacts, machine: Machine | None, options: MeasureOptions
) -> Conditions:
    """The conditions of a run on it, without the problem and the timer."""
    name = machine.device if machine else facts.gpu.name if facts.gpu else None
    return Conditions(
        tool="event",
        gpu=name,
        power_limit_w=facts.power_limit_w,
        driver_major=facts.driver.partition(".")[0] if facts.driver else None,
        cache=options.cache,
        regime="sustained",
        clocks={True: "locked", False: "not locked", None: None}[facts.locked],
        seed=options.seed,
        distribution=DISTRIBUTION,
    )


def is_memory_bound(plan: KernelPlan, gpu: Gpu | None) -> bool | None:
    """Whether the plan's own work meets the roof of the memory first; None: peaks not known."""
    device = load_devices().find(gpu.name) if gpu else None
    cost = plan._algorithmic_flops_bytes()
    if device is None or not cost.bytes:
        return None
    if not cost.flops:
        return True
    peak = next((p for name, p in device.peaks.items() if name == _dtype(plan)), None)
    return None if peak is None else cost.flops / cost.bytes < 1e3 * peak.tflops / device.dram_gbps


def _dtype(plan: KernelPlan) -> str:
    return whole_kernel(plan).compute_dtype


def machine_floor_pct(facts: MachineFacts) -> float | None:
    """What A against A showed on this machine (`mla doctor --noise`), in percent; None: never."""
    floor = load_floor(facts.gpu.uuid if facts.gpu else CPU, facts.driver, facts.locked)
    return floor.pct if floor else None
