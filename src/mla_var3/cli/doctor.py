"""`mla doctor`: what works on this machine, found by doing it, and the fix of what does not."""

import dataclasses
import sys
from pathlib import Path

import msgspec

from mla_var3.cli.arguments import parse
from mla_var3.cli.console import say, show
from mla_var3.cli.options import option
from mla_var3.core.errors import MachineCannot
from mla_var3.render.doctor import refusal, render_findings


@dataclasses.dataclass(frozen=True)
class Doctor:
    """Probe GPU, counters, profilers, compilers, clocks, disk and locks; say how to fix each.

    Nothing is changed: clocks are only asked for.
    """

    device: str = option(
        "", "the GPU to probe, such as cuda:1", metavar="DEVICE", shown="default: the first"
    )
    noise: bool = option(
        False,
        "also measure A against A (about a minute) and store it as this machine's noise floor",
    )
    devices: str = option(
        "",
        "your own table of device peaks, checked too",
        metavar="FILE",
        shown="default: the built-in table only",
    )
    json: bool = option(False, "the findings as JSON instead of the screen")


def run(argv: list[str]) -> int:
    """Print the findings; returns 0. Raises `MachineCannot` where the main job cannot be done."""
    options = parse(Doctor, "doctor", argv)
    from mla_var3.runtime.doctor.examine import examine

    told = say if sys.stderr.isatty() else None
    devices = Path(options.devices) if options.devices else None
    found = examine(
        options.device, devices, (lambda what: told(f"probing {what}")) if told else None
    )
    if options.noise:
        from mla_var3.runtime.doctor.noise import measure_noise

        gpus = any(one.name == "GPU" and one.state != "FIX" for one in found.checks)
        device = (options.device or "cuda:0") if gpus else "cpu"
        found = msgspec.structs.replace(found, noise=measure_noise(device, say))
    if options.json:
        show(msgspec.json.encode(found).decode() + "\n")
    else:
        show(render_findings(found))
    if not found.main_job:
        raise MachineCannot(refusal(found))
    return 0
