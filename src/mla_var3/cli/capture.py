"""`mla capture-command ncu|nsys -- PROGRAM …`: the line that records a program of one's own."""

import dataclasses
import shlex
from pathlib import Path
from typing import get_args

from mla_var3.cli.arguments import nearest, parse
from mla_var3.cli.console import say, show
from mla_var3.cli.options import option, positional
from mla_var3.core.device import load_devices
from mla_var3.core.errors import BadArgument
from mla_var3.core.target import find_target
from mla_var3.measure.gpus import cuda_devices
from mla_var3.measure.ncu_capture import (
    DTYPES,
    Capture,
    Counters,
    capture_command,
    metric_names,
    report_name,
)
from mla_var3.measure.nsys_command import NsysJob, nsys_command
from mla_var3.measure.occupancy import known_capabilities
from mla_var3.runtime.diagnosing import compiled

TOOLS = ("ncu", "nsys")


@dataclasses.dataclass(frozen=True)
class CaptureCommand:
    """Print the line that records a program of your own so that mla diagnose reads it best.

    The program and its arguments stand after --.

    ncu: counters of each launch; nsys: what ran when, on which stream.

    All options but --report are of ncu.
    """

    tool: str = positional("ncu", metavar="TOOL", shown="default: ncu", default="ncu")
    kernel: str = option(
        "", "only kernels whose name matches", metavar="REGEX", shown="default: all"
    )
    launch_skip: int = option(
        0,
        "matching launches that pass before the first is recorded: warm-up",
        metavar="N",
        shown="default: 0 launches",
    )
    launch_count: int = option(
        0, "launches recorded, each replayed 13 to 45 times", metavar="N", shown="default: all"
    )
    nvtx: str = option(
        "",
        "only launches inside this NVTX push/pop range; outer/inner for a nested one",
        metavar="RANGE",
        shown="default: everywhere",
    )
    counters: str = option(
        "full",
        "full: all, with source; annotation: those of the annotation mode, a third of the time",
        metavar="SET",
        shown="default: full",
    )
    target: str = option(
        "",
        "the GPU, h200 or sm_90: adds the FLOP counters of its chip, for the roofline",
        metavar="GPU",
        shown="default: the first GPU here, if any",
    )
    dtypes: str = option(
        "",
        "element types whose FLOPs are counted, with commas between",
        metavar="TYPES",
        shown="default: bf16,fp16,tf32,fp8,fp64; with --counters=annotation bf16",
    )
    metrics: str = option(
        "",
        "further counters, ncu's names with commas between",
        metavar="NAMES",
        shown="default: none",
    )
    report: str = option(
        "", "name of the report", metavar="NAME", shown="default: after the program"
    )


def run(argv: list[str]) -> int:
    """Print the command; returns the exit code."""
    words, program = _split(argv)
    options = parse(CaptureCommand, "capture-command", words)
    _check(options)
    if not program:
        line = f"mla capture-command {options.tool} -- ./my_program"
        raise BadArgument(f"give the program after --: {line}")
    if options.tool == "nsys":
        return _nsys(options, program)
    capture = Capture(
        program=program,
        kernel=options.kernel,
        launch_skip=options.launch_skip,
        launch_count=options.launch_count,
        nvtx=options.nvtx,
        counters="annotation" if options.counters == "annotation" else "full",
        capability=_capability(options.target),
        dtypes=_dtypes(options.dtypes),
        metrics=metric_names([options.metrics]),
        report=options.report.removesuffix(".ncu-rep"),
    )
    command = capture_command(capture)
    show(shlex.join(command) + "\n")
    _hints(capture, command[command.index("-o") + 1])
    return 0


def _nsys(options: CaptureCommand, program: tuple[str, ...]) -> int:
    """The line of nsys, which records everything; what only ncu can is refused."""
    for field in dataclasses.fields(CaptureCommand):
        typed = getattr(options, field.name)
        if field.name not in ("tool", "report") and typed != field.default:
            raise BadArgument(
                f"--{field.name} is of ncu: nsys records all kernels, and no counters"
            )
    name = options.report.removesuffix(".nsys-rep") or report_name(program)
    report = Path(f"{name}.nsys-rep")
    show(shlex.join(nsys_command(Path("nsys"), NsysJob(program, report))) + "\n")
    say(f"note: {report} will hold all environment variables: hand on what mla import makes of it")
    say(f"Next: mla import {report}; where no nsys is, first: nsys export -t sqlite {report}")
    return 0


def _split(argv: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """Our words, and the program behind the first `--`."""
    if "--" not in argv:
        return argv, ()
    at = argv.index("--")
    return argv[:at], tuple(argv[at + 1 :])


def _check(options: CaptureCommand) -> None:
    if options.tool not in TOOLS:
        hint = nearest(options.tool, list(TOOLS)) or f"; there are {' and '.join(TOOLS)}"
        raise BadArgument(f"no tool {options.tool!r}{hint}")
    known = get_args(Counters)
    if options.counters not in known:
        hint = nearest(options.counters, list(known)) or f"; there are {', '.join(known)}"
        raise BadArgument(f"no set of counters {options.counters!r}{hint}")
    for name in ("launch_skip", "launch_count"):
        if getattr(options, name) < 0:
            raise BadArgument(f"--{name} needs a whole number from 0 on")
    if options.kernel:
        compiled(options.kernel)


def _capability(target: str) -> str | None:
    if target:
        return find_target(target, load_devices(), known_capabilities()).capability
    return next((gpu.capability for gpu in cuda_devices()), None)


def _dtypes(text: str) -> tuple[str, ...]:
    """The typed element types; `BadArgument` for one that has no counter."""
    known = DTYPES["full"]
    found = tuple(word.strip() for word in text.split(",") if word.strip())
    for word in found:
        if word not in known:
            hint = nearest(word, list(known)) or f"; there are {', '.join(known)}"
            raise BadArgument(f"no FLOP counters of {word!r}{hint}")
    return found


def _hints(capture: Capture, report: str) -> None:
    """What the line lacks, and what to type when it has run."""
    if not (capture.kernel or capture.nvtx or capture.launch_count):
        say("note: every launch is recorded; narrow it with --kernel, --nvtx or --launch_count")
    if capture.capability is None:
        say("note: with --target=GPU also the FLOP counters of its chip, for the roofline")
    say(f"Next: mla diagnose {report}.ncu-rep, here or on any other machine")
