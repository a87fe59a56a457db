"""Runs nsys on a measuring child, exports and reads: a timeline, or one error that says why.

nsys stores every environment variable in its report: the child gets few, and what is kept of the
export is scrubbed.
"""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from mla_var3 import conf
from mla_var3.core import artifacts
from mla_var3.core.errors import (
    KernelFailed,
    MachineCannot,
    MlaError,
    NoUsableData,
    OutOfTime,
    UnreadableFile,
)
from mla_var3.core.record import Environment
from mla_var3.core.timeline import Timeline
from mla_var3.measure.child import ChildResult, run_child
from mla_var3.measure.clocks import run_tool
from mla_var3.measure.nsys_command import NsysJob, export_command, nsys_command, version_command
from mla_var3.measure.nsys_importer import importer_advice
from mla_var3.measure.nsys_reader import read_export
from mla_var3.measure.tool_faults import FaultContext, explain, remarks
from mla_var3.measure.worker import ERROR, raise_error

LOG = artifacts.NSYS_LOG
EARLIER_LOG = "nsys-earlier.log"
EXPORT_LOG = "nsys-export.log"
UNIMPORTED = ".qdstrm"
"""What nsys leaves where its importer fails."""
_VERSION = re.compile(r"version (\d+\.\d+\.\d+)")


@dataclass(frozen=True, kw_only=True)
class NsysTool:
    """How nsys is started: where it lies, with which variables, and for how long at most."""

    nsys: Path
    environment: Mapping[str, str]
    limit_s: float
    on_step: Callable[[str], None] | None = None
    """Told what is being done, in words."""

    def step(self, what: str) -> None:
        if self.on_step is not None:
            self.on_step(what)


class NsysRun(NamedTuple):
    """What was recorded."""

    timeline: Timeline
    environment: Environment
    """As the export tells."""
    sqlite: Path
    """The export as nsys made it: it holds the environment."""
    warnings: tuple[str, ...]
    failure: str
    """Why it may not be whole; empty: it is."""
    seconds: float


def record_timeline(tool: NsysTool, job: NsysJob) -> NsysRun:
    """Record the job's program and read what ran on the GPU; all files lie beside `job.report`.

    A session without any kernel is tried once more. A run that fails with NVTX alone is done once
    without, which a warning says. All other failures raise.
    """
    begin = time.monotonic()
    for last in (False, True):
        tool.step("nsys: record")
        result, warnings = _recorded(tool, job)
        tool.step("nsys: export")
        sqlite = export(tool, job.report)
        try:
            found = read_export(sqlite)
        except UnreadableFile as error:
            if error.fault != "NO_KERNELS":
                raise
            if last:
                raise _empty(tool, result, error) from error
            _keep_log(job.report)
            continue
        return NsysRun(
            timeline=found.timeline,
            environment=found.environment,
            sqlite=sqlite,
            warnings=(*warnings, *remarks("nsys", result.text)),
            failure=_not_whole(result),
            seconds=time.monotonic() - begin,
        )
    raise AssertionError


def export(tool: NsysTool, report: Path) -> Path:
    """The report as a database made anew, beside it: an older one of that name is not read."""
    sqlite = report.with_suffix(".sqlite")
    sqlite.unlink(missing_ok=True)
    log = report.with_name(EXPORT_LOG)
    seconds = float(conf.table("nsys")["limits"]["export_s"]["value"])
    command = export_command(tool.nsys, report, sqlite)
    result = run_child(command, env=tool.environment, cwd=None, log=log, limit_s=seconds)
    if result.timed_out:
        raise OutOfTime(f"nsys did not export its report within {seconds:.0f} s and was stopped")
    if not result.returncode and _is_there(sqlite):
        return sqlite
    context = FaultContext(no_report=not result.returncode)
    found = explain("nsys export", result.text, result.returncode, context)
    raise found or NoUsableData(f"nsys could not export its report: {_last(result)}")


def _recorded(tool: NsysTool, job: NsysJob) -> tuple[ChildResult, tuple[str, ...]]:
    """Run nsys until there is a report; without NVTX where it fails with it alone."""
    result = _run(tool, job)
    if _is_there(job.report) and not result.timed_out:
        _raise_child(job, result)
        return result, ()
    cause = _cause(tool, job, result)
    if _is_final(cause, job):
        raise cause
    _keep_log(job.report)
    tool.step("nsys: record again, without NVTX")
    again = _run(tool, job._replace(trace="cuda"))
    if not _is_there(job.report) or again.timed_out:
        raise cause
    _raise_child(job, again)
    return again, (conf.table("nsys")["texts"]["no_nvtx"].format(cause=cause),)


def _run(tool: NsysTool, job: NsysJob) -> ChildResult:
    for name in (job.report.name, job.report.with_suffix(UNIMPORTED).name, ERROR):
        job.report.with_name(name).unlink(missing_ok=True)
    return run_child(
        nsys_command(tool.nsys, job),
        env=tool.environment,
        cwd=None,
        log=job.report.with_name(LOG),
        limit_s=tool.limit_s,
    )


def _raise_child(job: NsysJob, result: ChildResult) -> None:
    """Raise what the child reported where it failed; its report alone does not tell."""
    if result.returncode:
        raise_error(job.report.parent)


def _is_final(cause: MlaError, job: NsysJob) -> bool:
    """Whether it would fail without NVTX too: by the machine, the time, or the program."""
    told = job.report.with_name(ERROR).is_file()
    return told or isinstance(cause, MachineCannot | KernelFailed | OutOfTime)


def _cause(tool: NsysTool, job: NsysJob, result: ChildResult) -> MlaError:
    """Why there is no report: what this machine forbids, then what the program said, then rest."""
    unimported = _is_there(job.report.with_suffix(UNIMPORTED))
    context = FaultContext(
        version=_version(tool),
        timed_out=result.timed_out,
        limit_s=tool.limit_s,
        no_report=True,
        unimported=unimported,
        advice=importer_advice(tool.nsys, result.text) if unimported else "",
    )
    found = explain("nsys", result.text, result.returncode, context)
    if isinstance(found, MachineCannot):
        return found
    try:
        raise_error(job.report.parent)
    except MlaError as error:
        return error
    if found is not None:
        return found
    return NoUsableData(f"nsys ended with code {result.returncode}: {_last(result)} (see {LOG})")


def _empty(tool: NsysTool, result: ChildResult, error: UnreadableFile) -> MlaError:
    """No kernel in two sessions: the table's cause, and what the export says that it holds."""
    context = FaultContext(version=_version(tool))
    found = explain("nsys", result.text, result.returncode, context)
    why = f"{found}; " if found is not None else ""
    reason = str(error).removeprefix(f"{error.fault} ")
    return NoUsableData(f"{why}nsys recorded no kernel, twice: {reason}")


def _not_whole(result: ChildResult) -> str:
    """A doubt where the program ended badly and nobody says why; what was recorded stands."""
    if not result.returncode:
        return ""
    return f"nsys or its program ended with code {result.returncode}: {_last(result)}"


def _keep_log(report: Path) -> None:
    """Put the log of a run that is repeated aside: the next one writes its own."""
    report.with_name(LOG).replace(report.with_name(EARLIER_LOG))


def _last(result: ChildResult) -> str:
    """The last line of its output, without folders."""
    line = next((line.strip() for line in reversed(result.tail) if line.strip()), "no output")
    return re.sub(r"(?<![\w/])/(?:[^\s/'\"]+/)+", "", line)[:200]


def _version(tool: NsysTool) -> str:
    """`2025.3.2`; empty where nsys does not tell."""
    found = _VERSION.search(run_tool(version_command(tool.nsys))[1])
    return found.group(1) if found else ""


def _is_there(file: Path) -> bool:
    return file.is_file() and file.stat().st_size > 0
