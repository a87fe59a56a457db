"""Runs ncu on a measuring child and reads the report; however it ends, a result or one error."""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import msgspec

from mla_var3 import conf
from mla_var3.core import artifacts
from mla_var3.core.errors import MachineCannot, MlaError, NoUsableData, UnreadableFile
from mla_var3.core.record import Mode, Profile
from mla_var3.measure.child import ChildResult, Watch, run_child
from mla_var3.measure.clocks import run_tool
from mla_var3.measure.ncu_command import NcuJob, ncu_command, query_command, range_filter
from mla_var3.measure.ncu_metrics import MetricSet, metric_set, parse_query, unknown_names
from mla_var3.measure.ncu_progress import NcuProgress, Replay
from mla_var3.measure.ncu_reader import read_report
from mla_var3.measure.ncu_reader.module import needs_own_process
from mla_var3.measure.ncu_reader.table import chip_of
from mla_var3.measure.tool_faults import FaultContext, explain, remarks
from mla_var3.measure.worker import raise_error

LOG = artifacts.NCU_LOG

OnProgress = Callable[[NcuProgress], None]
"""Called with each step of ncu while it replays."""


@dataclass(frozen=True, kw_only=True)
class Tool:
    """How ncu is started: where it lies, with which variables, and for how long at most."""

    ncu: Path
    environment: Mapping[str, str]
    limit_s: float | None = None
    driver: str = ""
    on_progress: OnProgress | None = None

    @property
    def seconds(self) -> float:
        """The time limit of one run."""
        return self.limit_s or limit("ncu_s")


class NcuRun(NamedTuple):
    """A report that was recorded, and what it took."""

    profile: Profile
    """As the report reads: one stage a launch."""
    metrics: MetricSet
    seconds: float


def limit(name: str, mode: Mode = "annotation") -> float:
    """A figure of a mode of ncu by its name: of conf/annotation.json or conf/ncu.json."""
    return float(conf.table(mode)["limits"][name]["value"])


def choose_metrics(
    tool: Tool, capability: str | None, dtypes: tuple[str, ...], folder: Path
) -> MetricSet:
    """The set for a chip; a chip that the tables do not know is asked for its counters."""
    chip = chip_of(capability)
    if chip is not None:
        return metric_set(chip, dtypes)
    seconds = limit("query_s")
    log = folder / LOG
    command = query_command(tool.ncu)
    result = run_child(command, env=tool.environment, cwd=None, log=log, limit_s=seconds)
    known = parse_query(result.text)
    return metric_set(None, dtypes, known.__contains__ if known else None)


def record_ranges(tool: Tool, job: NcuJob, metrics: MetricSet) -> NcuRun:
    """Profile the launches of the job's ranges; log and report lie beside `job.report`.

    A name that this ncu does not know is dropped, once; all other failures raise.
    """
    begin = time.monotonic()
    for last in (False, True):
        job.report.unlink(missing_ok=True)
        job = job._replace(metrics=metrics.names)
        result = _run(tool, job)
        unknown = unknown_names(result.text)
        if last or not unknown or _is_there(job.report):
            break
        metrics = metrics.without(unknown)
    profile = _read(tool, job, result)
    told = (*profile.warnings, *remarks("ncu", result.text))
    profile = msgspec.structs.replace(profile, warnings=told)
    return NcuRun(profile, metrics, time.monotonic() - begin)


def _run(tool: Tool, job: NcuJob) -> ChildResult:
    tell = tool.on_progress
    replay = Replay(tell, job.expected, most=job.launches) if tell is not None else None
    return run_child(
        ncu_command(tool.ncu, job),
        env=tool.environment,
        cwd=None,
        log=job.report.with_name(LOG),
        limit_s=tool.seconds,
        on_line=Watch(replay.line, replay.unfinished) if replay is not None else None,
    )


def _read(tool: Tool, job: NcuJob, result: ChildResult) -> Profile:
    """The report's record. ncu's exit code proves nothing: there must be launches in a file."""
    there = _is_there(job.report)
    if result.timed_out or result.returncode or not there:
        raise _cause(tool, job, result, not there)
    try:
        return read_report(job.report, apart=needs_own_process())
    except UnreadableFile as fault:
        if fault.fault in ("EMPTY", "NO_KERNELS"):
            raise _cause(tool, job, result, True) from fault
        raise


def _cause(tool: Tool, job: NcuJob, result: ChildResult, no_report: bool) -> MlaError:
    """Why ncu failed: what this machine forbids, then what the program said, then the rest."""
    context = FaultContext(
        version=_version(tool),
        filter=" ".join(range_filter(stage) for stage in job.stages),
        driver=tool.driver,
        timed_out=result.timed_out,
        limit_s=tool.seconds,
        no_report=no_report and not result.returncode,
    )
    found = explain("ncu", result.text, result.returncode, context)
    if isinstance(found, MachineCannot):
        return found
    try:
        raise_error(job.report.parent)
    except MlaError as error:
        return error
    if found is not None:
        return found
    last = next((line.strip() for line in reversed(result.tail) if line.strip()), "no output")
    return NoUsableData(f"ncu ended with code {result.returncode}: {last[:200]} (see {LOG})")


def _version(tool: Tool) -> str:
    """`2025.3.1`; empty where ncu does not tell."""
    _, text = run_tool([str(tool.ncu), "--version"])
    found = re.search(r"Version (\d+\.\d+\.\d+)", text)
    return found.group(1) if found else ""


def _is_there(report: Path) -> bool:
    return report.is_file() and report.stat().st_size > 0
