"""`mla import FILE`: store a recorded report with its diagnosis and its contract."""

import dataclasses
from pathlib import Path

from mla_var3.cli.arguments import parse
from mla_var3.cli.console import say, show
from mla_var3.cli.main import fail
from mla_var3.cli.options import option, positional
from mla_var3.cli.progress import Progress
from mla_var3.core import artifacts
from mla_var3.core.errors import BadArgument, MlaError, NoUsableData, UnreadableFile
from mla_var3.render.ncu_texts import texts
from mla_var3.runtime.profiling.imported import import_report


@dataclasses.dataclass(frozen=True)
class Import:
    """Store a recording of ncu or nsys: its record, its report, and what is made of them."""

    file: str = positional(
        ".ncu-rep or ncu --csv export; .sqlite or .nsys-rep of nsys; also .xz, .gz",
        metavar="FILE",
        shown="required",
        default="",
    )
    out_dir: str = option(
        "",
        "the folder to make",
        metavar="DIR",
        shown="default: out/profiles/<ncu or nsys>/<file>/imported/<time>",
    )
    no_keep: bool = option(
        False,
        "leave the copy of the report out of the folder: it names the host and CPU it ran on",
    )
    devices: str = option(
        "",
        "your own table of device peaks",
        metavar="FILE",
        shown="default: the built-in table only",
    )


def run(argv: list[str]) -> int:
    """Import the file and print the folder; returns the exit code."""
    options = parse(Import, "import", argv)
    if not options.file:
        raise BadArgument("give a FILE: mla import report.ncu-rep")
    try:
        return _import(options)
    except MlaError as error:
        return fail(error, Path(options.file).name)


def _import(options: Import) -> int:
    with Progress(Path(options.file).name, "kernels") as progress:
        result = import_report(
            Path(options.file),
            Path(options.out_dir) if options.out_dir else None,
            Path(options.devices) if options.devices else None,
            progress.update,
            keep=not options.no_keep,
        )
    folder = result.out_dir.as_posix()
    show(f"{folder}/{artifacts.REPORT_MD}\n")
    names = [artifacts.REPORT_MD, artifacts.PROFILE]
    if not result.no_contract:
        names[1:1] = [artifacts.CONTRACT_MD, artifacts.CONTRACT_JSON]
    deep = (artifacts.REPORT_VERBOSE_MD, artifacts.SOURCE, artifacts.SASS, artifacts.PTX)
    timeline = (artifacts.TIMELINE_SVG, artifacts.TIMELINE_JSON, artifacts.KERNELS_CSV)
    names += [name for name in (*deep, *timeline) if (result.out_dir / name).exists()]
    step = "" if options.out_dir else ". Next: mla list"
    say(f"stored {', '.join(names)}{step}")
    _say_kept(result.out_dir, options.no_keep)
    if result.no_contract and result.profile.mode != "nsys":
        raise NoUsableData(result.no_contract)
    if result.profile.fault == "TRUNCATED":
        raise UnreadableFile("TRUNCATED", result.profile.failure.partition(" ")[2])
    return 0


def _say_kept(folder: Path, left_out: bool) -> None:
    """Whether the report itself lies in the folder, for it names the host."""
    said = texts()
    if (folder / artifacts.FULL_REPORT).is_file():
        say(said.texts["kept"].format(file=artifacts.FULL_REPORT))
    elif (folder / artifacts.SASS).is_dir() and not left_out:
        say(said.texts["too_large"].format(limit=f"{said.keep_bytes / 1e6:,.0f}"))
