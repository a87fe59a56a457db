"""The recipe of `mla import`: a recorded report becomes a stored profile."""

from datetime import UTC, datetime
from pathlib import Path

import msgspec

from mla_var3.core import artifacts
from mla_var3.core.errors import BadArgument
from mla_var3.core.record_file import save_profile
from mla_var3.runtime.diagnosing import Progress, diagnose_file
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
) -> ProfileResult:
    """Read, save, analyse and render one report; without `out_dir` into `out/profiles/ncu/…`."""
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
        save_profile(profile, folder.work)
        reports = write_reports(folder.work, devices)
    return ProfileResult(
        out_dir=folder.final,
        profile=reports.read.profile,
        diagnoses=reports.read.diagnosis,
        no_contract=reports.no_contract,
    )
