"""The files of a part of a report's launches, made in this process; as a program, in its own."""

import sys
from pathlib import Path
from typing import Any

import msgspec

from mla_var3.core import artifacts
from mla_var3.core.ncu_details import LaunchDetails
from mla_var3.core.record import Stage
from mla_var3.render.ncu_ptx import render_ptx_lines, without_directories
from mla_var3.render.ncu_sass import render_sass, render_sass_csv
from mla_var3.render.ncu_source import render_annotated
from mla_var3.render.ncu_texts import texts
from mla_var3.render.ncu_verbose import Beside, render_launch
from mla_var3.runtime.reporting import replace_file

_OTHER_KERNEL = "the report has another kernel at this place: it is not the report of this profile"
_NO_LAUNCH = "the report has no such launch, or the library cannot show it"


class Launch(msgspec.Struct, frozen=True):
    """One launch: its number from 1, its stage, its folder's name, the compiler's PTX or ""."""

    number: int
    stage: Stage
    folder: str
    ptx: str


class Job(msgspec.Struct, frozen=True):
    """What is to be made: of which report, where, of which launches."""

    report: str
    folder: str
    launches: tuple[Launch, ...]
    warnings: tuple[str, ...]
    """The profile's, which tell what source files differ."""
    look: bool
    """Whether the sources are compared with the files on this disk."""


class Made(msgspec.Struct, frozen=True):
    """By number of launch its part of report-verbose.md; source files that differ on this disk."""

    verbose: dict[int, str]
    changed: tuple[str, ...]


def make(job: Job, module: Any = None) -> Made:
    """Write the files of the job's launches, one launch after the other.

    `module` stands in for `ncu_report`. Raises `MachineCannot` without one, and `OSError`.
    """
    from mla_var3.measure.ncu_details.read import read_details
    from mla_var3.measure.ncu_reader.module import load_module

    by_position = {launch.stage.launch: launch for launch in job.launches}
    parts: dict[int, str] = {}
    changed: dict[str, None] = {}
    library = load_module() if module is None else module
    for details in read_details(library, Path(job.report), by_position, look=job.look):
        launch = by_position[details.position]
        parts[launch.number] = _write(job, launch, details, _why(launch.stage, details))
        differ = (source.name for source in details.sources if source.on_disk == "differs")
        changed.update(dict.fromkeys(differ))
    for launch in job.launches:
        if launch.number not in parts:
            parts[launch.number] = _write_absent(job, launch, _NO_LAUNCH)
    return Made(parts, tuple(changed))


def not_made(job: Job, why: str) -> Made:
    """Pages that say why there is nothing of the job's launches."""
    return Made({launch.number: _write_absent(job, launch, why) for launch in job.launches}, ())


def _why(stage: Stage, details: LaunchDetails) -> str:
    """Why nothing can be shown of a launch; "" where something can."""
    if stage.interrupted:
        return texts().texts["interrupted"]
    if not _same_kernel(stage.kernel, details.kernel):
        return _OTHER_KERNEL
    return "" if details.counters else _NO_LAUNCH


def _same_kernel(recorded: str, found: str) -> bool:
    """The record cuts long names, and has a short one where the report has none."""
    return not found or found == recorded or found.startswith(recorded.removesuffix("…"))


def _write_absent(job: Job, launch: Launch, why: str) -> str:
    bare = LaunchDetails(position=launch.stage.launch, kernel=launch.stage.kernel)
    return _write(job, launch, bare, why)


def _write(job: Job, launch: Launch, details: LaunchDetails, why: str) -> str:
    """Write the files of one launch; returns its part of report-verbose.md."""
    if why:
        details = LaunchDetails(position=details.position, kernel=launch.stage.kernel)
    name, safe = launch.stage.name, launch.folder
    annotated, sass = artifacts.annotated_file(safe), artifacts.sass_file(safe, "md")
    found = [("source lines", annotated), ("machine code", sass)]
    _put(job, annotated, render_annotated(name, details, sass, job.warnings, why))
    _put(job, sass, render_sass(name, details, why))
    if details.instructions is not None:
        table = artifacts.sass_file(safe, "csv")
        _put(job, table, render_sass_csv(details, details.instructions))
        found.append(("every counter by instruction", table))
    ptx, absent = _write_ptx(job, launch, details)
    found += [("PTX", ptx)] * bool(ptx)
    beside = Beside(tuple(found), (why,) if why else absent)
    return render_launch(launch.number, launch.stage, details, beside)


def _write_ptx(job: Job, launch: Launch, details: LaunchDetails) -> tuple[str, tuple[str, ...]]:
    """The PTX file that was written, or why there is none."""
    if launch.ptx:
        name = artifacts.ptx_file(launch.folder)
        _put(job, name, without_directories(Path(launch.ptx).read_text("utf-8", "replace")))
        return name, ()
    lines = render_ptx_lines(details)
    if lines is None:
        return "", (texts().texts["no_instructions" if details.instructions is None else "no_ptx"],)
    name = artifacts.ptx_lines_file(launch.folder)
    _put(job, name, lines)
    return name, ()


def _put(job: Job, name: str, text: str) -> None:
    path = Path(job.folder) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, text.encode("utf-8", "replace"))


if __name__ == "__main__":
    _job = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=Job)
    sys.stdout.buffer.write(msgspec.msgpack.encode(make(_job)))
