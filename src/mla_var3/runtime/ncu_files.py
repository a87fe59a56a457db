"""The files that are made of a full .ncu-rep: report-verbose.md, source/, sass/ and ptx/."""

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec

from mla_var3.core import artifacts
from mla_var3.core.errors import MachineCannot, MlaError
from mla_var3.core.record import Profile
from mla_var3.core.record_file import load_profile
from mla_var3.measure.ncu_reader.module import needs_own_process
from mla_var3.measure.ncu_reader.part import KEPT_LAUNCHES
from mla_var3.render.ncu_texts import changed_source
from mla_var3.render.ncu_verbose import render_head
from mla_var3.runtime.ncu_files_part import Job, Launch, Made, make, not_made
from mla_var3.runtime.reporting import replace_file

PART_LAUNCHES = KEPT_LAUNCHES
"""The library keeps what was looked at: beyond so many launches each part has its own process."""

Progress = Callable[[int, int], None]
"""Called with the launches done and their number."""


def write_ncu_files(
    report: Path,
    profile: Profile,
    folder: Path,
    ptx: Mapping[str, Path],
    *,
    look: bool = True,
    progress: Progress | None = None,
) -> tuple[str, ...]:
    """Write all files of a full report into `folder`; returns warnings for the profile.

    `report` is a plain .ncu-rep, whose launches `profile.stages` name by their positions; `ptx`
    the compiler's PTX by stage name. With `look` the sources are compared with the files on this
    disk; without, the profile's own warnings tell which differ. Raises `MachineCannot` where the
    folder cannot be written or there is no `ncu_report`.
    """
    names = artifacts.folder_names(stage.name for stage in profile.stages)
    launches = [
        Launch(number, stage, names[stage.name], _path(ptx.get(stage.name)))
        for number, stage in enumerate(profile.stages, start=1)
    ]
    title = profile.source.file if profile.source else artifacts.FULL_REPORT
    kept = (folder / artifacts.FULL_REPORT).is_file()
    texts = {0: render_head(profile, title, kept)}
    changed: dict[str, None] = {}
    job = Job(str(report), str(folder), (), tuple(profile.warnings), look)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for made, done in _parts(job, launches):
            texts.update(made.verbose)
            changed.update(dict.fromkeys(made.changed))
            if progress is not None:
                progress(done, len(launches))
        whole = "".join(texts[number] for number in sorted(texts))
        replace_file(folder / artifacts.REPORT_VERBOSE_MD, whole.encode("utf-8", "replace"))
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise MachineCannot(f"cannot write into {folder.name}: {why}; give --out_dir") from error
    warnings = (changed_source(file) for file in changed)
    return tuple(text for text in warnings if text not in profile.warnings)


def remake_ncu_files(path: Path, to: Path | None = None) -> tuple[str, ...]:
    """Make the files of a stored profile again, into its folder or `to`; names what was made.

    () where the profile's folder does not hold its report, or its record cannot be read.
    """
    folder = path if path.is_dir() else path.parent
    report = folder / artifacts.FULL_REPORT
    if not report.is_file():
        return ()
    try:
        profile = load_profile(folder)
    except MlaError:
        # told by whoever reads the record for its reports
        return ()
    if profile.mode != "ncu":
        return ()
    names = artifacts.folder_names(stage.name for stage in profile.stages)
    stored = {name: folder / artifacts.ptx_file(safe) for name, safe in names.items()}
    ptx = {name: file for name, file in stored.items() if file.is_file()}
    place = to or folder
    write_ncu_files(report, profile, place, ptx, look=False)
    made = (artifacts.REPORT_VERBOSE_MD, artifacts.SOURCE, artifacts.SASS, artifacts.PTX)
    return tuple(name for name in made if (place / name).exists())


def _parts(job: Job, launches: list[Launch]) -> Iterator[tuple[Made, int]]:
    """What was made of each part, and how many launches are done by then.

    Launches of one kernel come into one part, which then disassembles it once.
    """
    alone = len(launches) <= PART_LAUNCHES and not needs_own_process()
    launches = sorted(launches, key=lambda launch: (launch.stage.kernel, launch.number))
    for first in range(0, len(launches), PART_LAUNCHES):
        part = tuple(launches[first : first + PART_LAUNCHES])
        own = msgspec.structs.replace(job, launches=part)
        yield (make(own) if alone else _make_elsewhere(own)), first + len(part)


def _make_elsewhere(job: Job) -> Made:
    """The part made by a process of its own; stated absences where the library ended it."""
    done = subprocess.run(
        [sys.executable, "-m", "mla_var3.runtime.ncu_files_part"],
        input=msgspec.msgpack.encode(job),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode < 0:
        return not_made(job, "the library that reads reports stopped inside this part")
    if done.returncode > 0:
        # no second process to be had here: then at the price of memory
        return make(job)
    return msgspec.msgpack.decode(done.stdout, type=Made)


def _path(path: Path | None) -> str:
    return "" if path is None else str(path)
