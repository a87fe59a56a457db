"""The recipe of `mla import` for a recording of nsys: `spans.json`, the record, its reports."""

from datetime import UTC, datetime
from pathlib import Path

from mla_var3.core import artifacts
from mla_var3.core.record_file import save_profile
from mla_var3.core.timeline import save_timeline
from mla_var3.measure.nsys_record import nsys_profile
from mla_var3.runtime.diagnosing import stem
from mla_var3.runtime.nsys_files import read_nsys
from mla_var3.runtime.reporting import write_reports
from mla_var3.runtime.result import ProfileResult
from mla_var3.runtime.store import new_folder, timestamp

MODE = "nsys"
PARAMS = "imported"


def import_nsys(
    file: Path, out_dir: Path | None = None, devices: Path | None = None
) -> ProfileResult:
    """Read, save, analyse and render one recording; without `out_dir` into `out/profiles/nsys/…`.

    Nothing of the export is kept: it holds the environment of the program.
    """
    export = read_nsys(file)
    wanted = out_dir or artifacts.profile_folder(
        artifacts.PROFILES, MODE, stem(file.name), PARAMS, timestamp(datetime.now(UTC))
    )
    with new_folder(wanted) as folder:
        save_profile(nsys_profile(export), folder.work)
        save_timeline(export.timeline, folder.work / artifacts.SPANS)
        reports = write_reports(folder.work, devices)
    return ProfileResult(
        out_dir=folder.final,
        profile=reports.read.profile,
        diagnoses=reports.read.diagnosis,
        no_contract=reports.no_contract,
    )
