"""The recipe of `mla import`: a recorded report becomes a stored profile."""

import shutil
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from mla_var3.core import artifacts
from mla_var3.core.errors import BadArgument
from mla_var3.core.record import Profile
from mla_var3.core.record_file import save_profile
from mla_var3.render.ncu_texts import texts
from mla_var3.runtime.diagnosing import Progress, diagnose_file
from mla_var3.runtime.nsys_files import is_nsys
from mla_var3.runtime.profiling.imported_nsys import import_nsys
from mla_var3.runtime.reporting import write_reports
from mla_var3.runtime.result import ProfileResult
from mla_var3.runtime.store import new_folder, timestamp

MODE = "ncu"
PARAMS = "imported"
"""Stands where the problem's fields stand for a plan: a report does not tell them."""


def import_report(
    file: Path,
    out_dir: Path | None = None,
    devices: Path | None = None,
    progress: Progress | None = None,
    *,
    keep: bool = True,
) -> ProfileResult:
    """Read, save, analyse and render one report; without `out_dir` into `out/profiles/ncu/…`.

    `keep`: a copy of the report stays in the folder, so that everything can be made again from it
    alone; one larger than `keep_bytes` of conf/ncu_details.json is left out.
    """
    if is_nsys(file):
        return import_nsys(file, out_dir, devices)
    read = diagnose_file(file, devices=devices, progress=progress)
    if read.stored:
        raise BadArgument(f"{file.name} is stored already; show it with: mla diagnose {file.name}")
    now = datetime.now(UTC)
    created = read.profile.created or now.isoformat(timespec="seconds")
    profile = msgspec.structs.replace(read.profile, created=created)
    wanted = out_dir or artifacts.profile_folder(
        artifacts.PROFILES, MODE, read.stem, PARAMS, timestamp(now)
    )
    with new_folder(wanted) as folder:
        warnings = _write_details(file, profile, folder.work, keep, progress)
        profile = msgspec.structs.replace(profile, warnings=(*profile.warnings, *warnings))
        save_profile(profile, folder.work)
        reports = write_reports(folder.work, devices)
    return ProfileResult(
        out_dir=folder.final,
        profile=reports.read.profile,
        diagnoses=reports.read.diagnosis,
        no_contract=reports.no_contract,
    )


def _write_details(
    file: Path, profile: Profile, work: Path, keep: bool, progress: Progress | None
) -> tuple[str, ...]:
    """What a full report holds beyond its record; returns warnings. A CSV export holds no more."""
    from mla_var3.measure.ncu_reader.read import plain_report
    from mla_var3.runtime.ncu_files import write_ncu_files

    with plain_report(file) as plain:
        if plain is None:
            return ()
        if keep and plain.stat().st_size <= texts().keep_bytes:
            shutil.copyfile(plain, work / artifacts.FULL_REPORT)
        return write_ncu_files(plain, profile, work, {}, progress=progress)
