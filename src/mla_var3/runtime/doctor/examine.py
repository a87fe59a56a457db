"""All probes in the order of the screen, and what their answers allow."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from mla_var3 import conf
from mla_var3.core import artifacts
from mla_var3.core.doctor import Check, Findings, Step
from mla_var3.core.errors import BadArgument, MachineCannot
from mla_var3.measure.gpus import Gpu, cuda_devices
from mla_var3.runtime.doctor import compilers, device, place, profilers
from mla_var3.runtime.doctor.probing import Machine


def examine(
    word: str = "",
    devices: Path | None = None,
    on_step: Callable[[str], None] | None = None,
    root: Path = artifacts.PROFILES,
) -> Findings:
    """Probe this machine; `word` names the GPU (`cuda:1`), `devices` a user's table of peaks.

    Raises `BadArgument` for a word that is no device, `MachineCannot` for one that is not there.
    """
    with tempfile.TemporaryDirectory(prefix="mla-doctor-") as folder:
        machine = Machine(
            gpu=_gpu(word), folder=Path(folder), root=root, devices=devices, on_step=on_step
        )
        found = (
            device.gpu(machine),
            *device.peaks(machine),
            profilers.counters(machine),
            profilers.nsys(machine),
            profilers.others(),
            device.clocks(machine),
            compilers.torch(machine),
            *compilers.compilers(machine),
            place.disk(machine),
            place.locks(machine),
        )
    return conclude(found)


def conclude(checks: tuple[Check, ...]) -> Findings:
    """What works with such findings."""
    needed: list[str] = conf.table("doctor")["job"]
    bad = [one.name for one in checks if one.name in needed and one.state in ("FIX", "n/a")]
    return Findings(
        checks=checks,
        main_job=not bad,
        hindered_by=tuple(dict.fromkeys(bad)),
        works=() if not bad else _works(checks),
    )


def _works(checks: tuple[Check, ...]) -> tuple[Step, ...]:
    """Commands that do work, from what does most to what always works."""
    fit = {one.name for one in checks if one.state in ("ok", "warn")}
    steps = []
    if {"GPU", "torch"} <= fit:
        steps.append(("mla run KERNEL --prof_type=event", "times end to end, without counters"))
        nsys = "mla run KERNEL --prof_type=nsys"
        traced = nsys if "nsys" in fit else f"{nsys} --collector=kineto"
        steps.append((traced, "what ran when, and on which stream"))
    if "compilers" in fit:
        static = "mla run flash_mla v1 --prof_type=static --target=h200"
        steps.append((static, "registers, spills, predicted time"))
    if {"compilers", "torch"} <= fit:
        check = "mla run flash_mla v1 --b=1 --h=4 --s=3 --t=200 --check"
        steps.append((check, "numerics, in the interpreter"))
    if "torch" in fit:
        torch = "mla run flash_mla --language=torch --b=1 --h=8 --s=4 --t=1024"
        steps.append((torch, "a profile of the torch version"))
    steps.append(("mla diagnose FILE.ncu-rep", "a report recorded elsewhere"))
    return tuple(Step(command=command, gives=gives) for command, gives in steps)


def _gpu(word: str) -> Gpu | None:
    gpus = cuda_devices()
    if word in ("", "cuda"):
        return gpus[0] if gpus else None
    kind, _, number = word.partition(":")
    if kind != "cuda" or not number.isdigit():
        raise BadArgument(f"--device={word}: no such device; cuda:0")
    found = next((gpu for gpu in gpus if gpu.index == int(number)), None)
    if found is None:
        there = ", ".join(f"cuda:{gpu.index} {gpu.name}" for gpu in gpus) or "none"
        raise MachineCannot(f"--device={word}: no such CUDA device here (there is {there})")
    return found
