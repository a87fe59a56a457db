"""A file of Nsight Systems, told from others and read: an export, or a report that nsys exports."""

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from mla_var3 import conf
from mla_var3.core.errors import MachineCannot, NoUsableData, UnreadableFile

# The reader is imported where a file of nsys is read: every other file passes here too.
if TYPE_CHECKING:
    from mla_var3.measure.nsys_reader import NsysExport

EXPORTS = (".sqlite", ".sqlite3", ".db")
REPORTS = (".nsys-rep", ".qdrep")
UNIMPORTED = ".qdstrm"
_PACKINGS = (".xz", ".gz")
_SQLITE = b"SQLite format 3\x00"


def is_nsys(path: Path) -> bool:
    """Whether a file is one of nsys: by its ending, or a database by its first bytes."""
    if not path.is_file():
        return False
    name = path.name.lower()
    for packing in _PACKINGS:
        name = name.removesuffix(packing)
    if name.endswith((*EXPORTS, *REPORTS, UNIMPORTED)):
        return True
    with path.open("rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


def read_nsys(path: Path) -> "NsysExport":
    """The timeline of an export, or of a report by an export made anew.

    Raises `NoUsableData` for an export that is older than the report beside it, `MachineCannot` for
    a report where nsys is not, and what `read_timeline` raises.
    """
    name = path.name.lower()
    if name.endswith(UNIMPORTED):
        raise UnreadableFile(
            "WRONG_TYPE",
            "raw data that nsys could not turn into a report (its importer or a library such as "
            "libdw was missing): run QdstrmImporter -i FILE where Nsight Systems is whole",
        )
    if name.endswith(REPORTS):
        return _exported(path)
    from mla_var3.measure.nsys_reader import read_export

    refuse_stale(path)
    return _with_doubt(read_export(path), path)


def refuse_stale(sqlite: Path) -> None:
    """Raise `NoUsableData` where the report of the same name is newer than its export.

    nsys itself takes the old export then, and shows the figures of an earlier run.
    """
    for ending in REPORTS:
        report = sqlite.with_suffix(ending)
        if report.is_file() and report.stat().st_mtime_ns > sqlite.stat().st_mtime_ns:
            raise NoUsableData(
                f"{sqlite.name} is older than {report.name} beside it, so it is of an earlier run: "
                f"give {report.name}, or export it again; if they belong together: "
                f"touch {sqlite.name}"
            )


def _with_doubt(export: "NsysExport", sqlite: Path) -> "NsysExport":
    """Say so where the report beside an export is not the one that it was made of."""
    source = export.exported_from
    beside = [sqlite.with_suffix(ending).name for ending in REPORTS]
    there = [name for name in beside if (sqlite.parent / name).is_file()]
    if not source or not there or source in there:
        return export
    said = f"{sqlite.name} was exported from {source}, not from {there[0]} that lies beside it"
    remarks = (*export.timeline.remarks, said)
    return export._replace(timeline=msgspec.structs.replace(export.timeline, remarks=remarks))


def _exported(report: Path) -> "NsysExport":
    """Export into a folder of our own: an export that lies beside the report is not looked at."""
    from mla_var3.measure.child import child_environment
    from mla_var3.measure.nsys_command import find_nsys
    from mla_var3.measure.nsys_reader import read_export
    from mla_var3.measure.nsys_reader.read import source_file
    from mla_var3.measure.nsys_run import NsysTool, export

    if report.stat().st_size == 0:
        raise UnreadableFile("EMPTY", "0 bytes: the recording wrote nothing; record it again")
    environment = child_environment()
    try:
        nsys = find_nsys(os.environ)
    except MachineCannot as error:
        raise MachineCannot(
            f"{report.name} can be read by nsys alone, and nsys is not here: where it is, run "
            f"nsys export -t sqlite {report.name}, then import the .sqlite here"
        ) from error
    seconds = float(conf.table("nsys")["limits"]["export_s"]["value"])
    with tempfile.TemporaryDirectory(prefix="mla-") as folder:
        copy = Path(folder) / f"report{report.suffix}"
        copy.symlink_to(report.resolve())
        tool = NsysTool(nsys=nsys, environment=environment, limit_s=seconds)
        found = read_export(export(tool, copy))
    return found._replace(source=source_file(report))
