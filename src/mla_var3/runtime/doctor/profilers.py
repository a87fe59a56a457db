"""ncu, nsys and whatever else profiles: each is run on one kernel, where there is a GPU."""

import sys
from pathlib import Path

from mla_var3.core.doctor import Check
from mla_var3.core.errors import MachineCannot, MlaError, OutOfTime
from mla_var3.measure.clocks import driver_version
from mla_var3.measure.gpu_lock import gpu_lock
from mla_var3.measure.gpus import Gpu
from mla_var3.measure.ncu_command import find_ncu
from mla_var3.measure.ncu_probe import probe_counters
from mla_var3.measure.ncu_run import Tool
from mla_var3.measure.nsys_command import NsysJob, find_nsys, version_command
from mla_var3.measure.nsys_importer import importer_advice
from mla_var3.measure.nsys_run import NsysTool, record_timeline
from mla_var3.measure.profilers import other_profilers
from mla_var3.runtime.doctor.probing import Advice, Machine, check, failed, last_line, limit, run

KINETO = "--collector=kineto"


def counters(machine: Machine) -> Check:
    """Whether ncu reads counters: it profiles one empty kernel."""
    try:
        ncu = find_ncu(machine.environment)
    except MachineCannot as error:
        return failed("counters", error)
    if machine.gpu is None:
        return check("counters", "n/a", "ncu is here, and no GPU to read counters of")
    machine.step("ncu on one kernel")
    tool = Tool(
        ncu=ncu,
        environment=machine.environment,
        limit_s=limit("probe_s"),
        driver=driver_version(machine.gpu.uuid, machine.environment.get("PATH")) or "",
    )
    try:
        with _held(machine.gpu):
            read = probe_counters(tool, machine.gpu.index, machine.folder)
    except _Busy as busy:
        return check("counters", "warn", f"not probed: {busy}", Advice("ask again when it ended"))
    except MlaError as error:
        return failed("counters", error)
    took = f"{read.metrics} metrics in {read.seconds:.1f} s"
    text = f"readable by {read.tool or 'ncu'} (probe kernel: {took})"
    return check("counters", "ok", text)


def nsys(machine: Machine) -> Check:
    """Whether nsys records and imports: one kernel where there is a GPU, else its libraries."""
    try:
        tool = find_nsys(machine.environment)
    except MachineCannot as error:
        text, _, _ = str(error).partition(": ")
        return check("nsys", "warn", text, Advice("install Nsight Systems", KINETO))
    if machine.gpu is None:
        return _without_gpu(machine, tool)
    machine.step("nsys on one kernel")
    job = NsysJob(
        program=(sys.executable, "-m", "mla_var3.measure.probe_kernel", str(machine.gpu.index)),
        report=machine.folder / "probe.nsys-rep",
    )
    how = NsysTool(nsys=tool, environment=machine.environment, limit_s=limit("probe_s"))
    try:
        with _held(machine.gpu):
            seen = record_timeline(how, job)
    except _Busy as busy:
        return check("nsys", "warn", f"not probed: {busy}", Advice("ask again when it ended"))
    except MlaError as error:
        return failed("nsys", error)
    took = f"probe kernel: {seen.seconds:.1f} s"
    name = seen.environment.capture_tool or "nsys"
    return check("nsys", "ok", f"{name} records and imports ({took})")


def _without_gpu(machine: Machine, tool: Path) -> Check:
    started = run(machine, version_command(tool), limit("probe_s"), "nsys-version.log")
    if started.returncode:
        advice = Advice("install the whole of Nsight Systems", KINETO)
        return check("nsys", "FIX", f"does not start: {last_line(started)}", advice)
    missing = importer_advice(tool, "").removeprefix(": ")
    if missing:
        found = failed("nsys", MachineCannot(f"importer: {missing}"))
        return check("nsys", "FIX", found.text, Advice(found.fix, KINETO))
    return check("nsys", "ok", "starts, and its importer finds its libraries; no GPU to record")


def others() -> Check:
    """Other programs that hold counters."""
    found = other_profilers()
    if found is None:
        return check("profilers", "n/a", "processes cannot be listed here")
    if not found:
        return check("profilers", "ok", "no DCGM and no other profiler is seen from here")
    names = ", ".join(f"{one.name} ({one.pid})" for one in found)
    advice = "; ".join(dict.fromkeys(one.advice for one in found))
    return check("profilers", "warn", f"{names} may hold the counters", Advice(advice))


class _Busy(Exception):
    """Another profiling holds the GPU; its words say who."""


class _held:
    """The lock of a GPU for one probe."""

    def __init__(self, gpu: Gpu) -> None:
        self._lock = gpu_lock(gpu.uuid or f"cuda-{gpu.index}", limit_s=limit("wait_s"))

    def __enter__(self) -> None:
        try:
            self._lock.__enter__()
        except OutOfTime as error:
            raise _Busy(str(error).partition(";")[0]) from None

    def __exit__(self, *error: object) -> None:
        self._lock.__exit__(None, None, None)
