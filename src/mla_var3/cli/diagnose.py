"""`mla diagnose FILE…`: what limits each kernel, on one screen, as JSON or as the contract."""

import dataclasses
from pathlib import Path

import msgspec

from mla_var3.cli.arguments import parse
from mla_var3.cli.console import show
from mla_var3.cli.main import fail
from mla_var3.cli.options import option, positional
from mla_var3.cli.progress import Progress
from mla_var3.core.errors import BadArgument, MlaError, UnreadableFile
from mla_var3.render.contract_sheet import to_markdown
from mla_var3.render.machine import render_json
from mla_var3.runtime.diagnosing import Diagnosed, compiled, diagnose_file
from mla_var3.runtime.report_makers import Shown
from mla_var3.runtime.reporting import contract_of, screen_of

TOP = 10
"""Kernels that fit one screen."""


@dataclasses.dataclass(frozen=True)
class Diagnose:
    """What limits each kernel of a recorded report: why, where in the source, what to try."""

    files: tuple[str, ...] = positional(
        ".ncu-rep (also .xz, .gz), ncu --csv export, profile folder or profile.json",
        metavar="FILE…",
        shown="one or more",
    )
    json: bool = option(False, "one JSON document a file and line (mla schema diagnosis)")
    contract: bool = option(False, "the Profiler Output Contract; with --json its twin")
    kernel: str = option(
        "", "only kernels whose name matches", metavar="REGEX", shown="default: all"
    )
    top: int = option(
        0,
        "show the N longest kernels, sum the others",
        metavar="N",
        shown="default: 10 kernels",
    )
    devices: str = option(
        "",
        "your own table of device peaks, in the form of conf/devices.json",
        metavar="FILE",
        shown="default: the built-in table only",
    )


def run(argv: list[str]) -> int:
    """Diagnose each file; returns the exit code of the first that failed."""
    options = parse(Diagnose, "diagnose", argv)
    if not options.files:
        raise BadArgument("give at least one FILE: mla diagnose report.ncu-rep")
    if options.top < 1 and "--top" in " ".join(argv):
        raise BadArgument(f"--top needs a whole number from 1 on, not {options.top}")
    if options.top and (options.json or options.contract):
        raise BadArgument(
            "--top is for the screen; --json and --contract choose kernels by --kernel=REGEX"
        )
    if options.kernel:
        compiled(options.kernel)
    code = 0
    for position, file in enumerate(options.files):
        if position and not options.json:
            show("\n")
        failure = _one(file, options)
        code = code or failure
    return code


def _one(file: str, options: Diagnose) -> int:
    """Show one file; returns its exit code."""
    devices = Path(options.devices) if options.devices else None
    try:
        with Progress(Path(file).name, "kernels") as progress:
            read = diagnose_file(Path(file), options.kernel or None, devices, progress.update)
        show(_text(read, file, options))
        if read.profile.fault == "TRUNCATED":
            raise UnreadableFile("TRUNCATED", read.profile.failure.partition(" ")[2])
    except MlaError as error:
        return fail(error, Path(file).name)
    return 0


def _text(read: Diagnosed, file: str, options: Diagnose) -> str:
    if options.contract:
        contract = contract_of(read, Path(file))
        if options.json:
            return msgspec.json.encode(contract).decode() + "\n"
        return to_markdown(contract)
    if options.json:
        return render_json(read.profile, read.diagnosis, read.title, read.device)
    mode = read.profile.mode
    if options.top and mode != "ncu":
        raise BadArgument(f"--top is for reports; this profile of {mode} shows all its stages")
    place = Path(file) if Path(file).is_dir() else Path(file).parent
    shown = Shown(place.as_posix(), (_next(read, file),), options.top or TOP)
    return screen_of(read, Path(file), shown)


def _next(read: Diagnosed, file: str) -> tuple[str, str]:
    """The command that leads on. A file typed with its full path is named without directories."""
    typed = Path(file).name if Path(file).is_absolute() else file
    name = typed if len(typed) <= 60 and " " not in typed else "FILE"
    if read.stored:
        return f"mla diagnose {name} --contract", "gives the contract"
    return f"mla import {name}", "stores report and contract"
