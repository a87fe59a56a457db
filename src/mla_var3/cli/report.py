"""`mla report PROFILE`: a stored profile's reports made again from its files; `--index`: a page."""

import dataclasses
from pathlib import Path

from mla_var3.cli.arguments import parse
from mla_var3.cli.console import say, show
from mla_var3.cli.options import option, positional
from mla_var3.core import artifacts
from mla_var3.core.errors import BadArgument, NotFound, NoUsableData
from mla_var3.render.machine import render_json
from mla_var3.render.profile_list import NOTHING
from mla_var3.runtime.comparison_files import is_comparison
from mla_var3.runtime.comparison_reports import show_stored, write_comparison_reports
from mla_var3.runtime.ncu_files import remake_ncu_files
from mla_var3.runtime.report_makers import Shown
from mla_var3.runtime.reporting import Reports, render, write_reports


@dataclasses.dataclass(frozen=True)
class Report:
    """Make report.md, contract.md and contract.json of a stored profile again, and show it."""

    profile: str = positional(
        "profile folder or its profile.json; with --index the root of a store",
        metavar="PROFILE",
        shown=f"required; with --index default: {artifacts.PROFILES.as_posix()}",
        default="",
    )
    index: bool = option(False, "an overview page, index.md, of all profiles below a root instead")
    out_dir: str = option(
        "",
        "write the reports into this folder",
        metavar="DIR",
        shown="default: into the profile itself",
    )
    devices: str = option(
        "",
        "your own table of device peaks",
        metavar="FILE",
        shown="default: the built-in table only",
    )
    json: bool = option(False, "record and verdict as JSON instead of the screen")


def run(argv: list[str]) -> int:
    """Make the reports or the page again; returns the exit code."""
    options = parse(Report, "report", argv)
    if options.index:
        return _index(options)
    if not options.profile:
        raise BadArgument("give a PROFILE: mla report out/profiles/… (mla list shows them)")
    path = _stored(Path(options.profile))
    if path.exists() and is_comparison(path):
        return _comparison(path, options)
    out_dir = Path(options.out_dir) if options.out_dir else None
    devices = Path(options.devices) if options.devices else None
    deep = remake_ncu_files(path, out_dir)
    reports = write_reports(path, devices, out_dir)
    folder = path if path.is_dir() else path.parent
    _show(reports, folder, out_dir or folder, options.json)
    made = dict.fromkeys((*reports.files(), *deep))
    say(f"made again: {', '.join(made)}")
    if reports.no_contract:
        raise NoUsableData(reports.no_contract)
    return 0


def _stored(path: Path) -> Path:
    """The profile that was meant; `BadArgument` for a report file, which has no folder yet."""
    if not path.is_file() or path.name == artifacts.PROFILE:
        return path
    if is_comparison(path):
        return path
    if (path.parent / artifacts.PROFILE).is_file():  # another file of a profile
        return path.parent
    if path.suffix == ".json":
        return path
    raise BadArgument(f"{path.name} is no stored profile: mla import {path.name} makes one")


def _show(reports: Reports, folder: Path, place: Path, json: bool) -> None:
    read = reports.read
    if json:
        show(render_json(read.profile, read.diagnosis, read.title, read.device))
    else:
        steps = (("mla list", "the stored profiles"),)
        if reports.contract is not None:
            typed = folder.as_posix()
            steps = ((f"mla diagnose {typed} --contract", "gives the contract"),)
        show(render(reports, folder, Shown(place.as_posix(), steps)))


def _comparison(path: Path, options: Report) -> int:
    """The report of a comparison or a race; its code is the verdict's, without --gate."""
    if options.devices:
        raise BadArgument("--devices has no meaning here: a comparison has no peaks")
    folder = path if path.is_dir() else path.parent
    out_dir = Path(options.out_dir) if options.out_dir else None
    made = write_comparison_reports(folder, out_dir)
    shown = show_stored(folder, (out_dir or folder).as_posix(), options.json)
    show(shown.text)
    say(f"made again: {', '.join(made)}")
    return shown.exit_code


def _index(options: Report) -> int:
    if options.out_dir or options.devices or options.json:
        raise BadArgument("--index takes no other option: mla report --index [ROOT]")
    from mla_var3.runtime.indexing import write_index

    root = Path(options.profile) if options.profile else artifacts.PROFILES
    if options.profile and not root.is_dir():
        raise NotFound(f"NOT_FOUND {root.name}: no such folder; give the root of a store")
    page = write_index(root)
    show(NOTHING if page is None else f"{page.as_posix()}\n")
    return 0
