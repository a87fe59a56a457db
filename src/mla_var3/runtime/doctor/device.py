"""The GPU, its peaks in the table, and its clocks. Nothing is changed: the driver is only asked."""

import os
import shutil

from mla_var3.core.device import Devices, check_peak, load_devices
from mla_var3.core.doctor import Check
from mla_var3.measure.clocks import driver_version, other_processes, read_clocks, run_tool
from mla_var3.runtime.doctor.probing import Advice, Machine, check

LOCK = "bash scripts/lock-gpu-clock.sh before profiling, scripts/reset-gpu-clock.sh after it"
INTERLEAVED = "compare versions interleaved (mla compare)"


def gpu(machine: Machine) -> Check:
    """Which GPU a kernel would be measured on, its driver, and whether others use it."""
    found = machine.gpu
    if found is None:
        fix = "run on a machine with an NVIDIA GPU and its driver (in a container: --gpus all)"
        return check("GPU", "FIX", "none: no CUDA driver, or no device it shows", Advice(fix))
    path = machine.environment.get("PATH")
    driver = driver_version(found.uuid, path)
    others = other_processes(found.uuid, path)
    words = [found.name, f"driver {driver}" if driver else "driver not told (no nvidia-smi)"]
    if others is None:
        return check("GPU", "ok", f"{', '.join(words)}, whether it is shared is not told")
    if others:
        told = f"{', '.join(words)}, {others} other process{'es' if others > 1 else ''} on it"
        return check("GPU", "warn", told, Advice("end them: times of a shared GPU mean little"))
    return check("GPU", "ok", f"{', '.join(words)}, not shared")


def peaks(machine: Machine) -> tuple[Check, ...]:
    """Whether the table's dense peaks agree with SMs × rate × clock, and knows this GPU."""
    table = load_devices(machine.devices)
    found = [
        check("peaks", "FIX", f"{told.device}: {told.text}", Advice(_peak_fix(table, told.device)))
        for told in table.doubtful()
    ]
    known = table.find(machine.gpu.name) if machine.gpu else None
    if machine.gpu is not None and known is None:
        text = f"{machine.gpu.name} is not in the device table: no roofline, no percent of a peak"
        found.append(check("peaks", "warn", text, Advice("add it with --devices FILE (README)")))
    if found:
        return tuple(found)
    if known is not None and "bf16" in known.peaks:
        text = check_peak(known, "bf16").text
        return (check("peaks", "ok", f"{text}, dense"),)
    checked = f"all of {len(table)} devices agree with SMs × rate × clock, or cannot be checked"
    return (check("peaks", "ok", checked),)


def _peak_fix(table: Devices, name: str) -> str:
    device = table.find(name)
    origin = device.origin if device else "the table"
    return f"correct it in {origin}: dense TFLOP/s, and the clock that it assumes"


def clocks(machine: Machine) -> Check:
    """Whether the clocks are locked, and whether the user may lock them."""
    found = machine.gpu
    if found is None:
        return check("clocks", "n/a", "no GPU")
    told = read_clocks(found.uuid, machine.environment.get("PATH"))
    if told.locked:
        return check("clocks", "ok", "locked")
    state = "not locked" if told.locked is False else "lock not told"
    if told.locked is None:
        state += f" ({next(iter(told.missing.values()), 'no answer')})"
    right = _right(machine)
    if right:
        return check("clocks", "warn", f"{state}; {right}", Advice(LOCK, INTERLEAVED))
    text = f"{state}, and you may not lock them here"
    return check("clocks", "warn", text, Advice(INTERLEAVED))


def _right(machine: Machine) -> str:
    """Why locking may work; empty: it will not. Only asked, never tried."""
    path = machine.environment.get("PATH")
    if os.geteuid() == 0:
        return "you are root, so locking may work (not tried)"
    sudo, smi = shutil.which("sudo", path=path), shutil.which("nvidia-smi", path=path)
    if sudo and smi and not run_tool([sudo, "-n", "-l", smi])[0]:
        return "sudo lets you run nvidia-smi, so locking may work (not tried)"
    return ""
