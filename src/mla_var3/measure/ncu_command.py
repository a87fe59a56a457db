"""Where ncu lies, and its command line in both modes that use it: functions that return lists."""

import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from mla_var3.core.errors import MachineCannot

INSTALLED = (Path("/opt/nvidia/nsight-compute"),)
"""Folders that hold one folder a version of Nsight Compute."""
CONDITIONS = ("--clock-control", "none", "--cache-control", "all", "--replay-mode", "kernel")
"""How every launch is measured; always said, since ncu's own defaults differ by version."""
WARM = tuple(word.replace("all", "none") for word in CONDITIONS)
"""The same without a flush of the caches before each pass."""
FULL = ("--set", "full", "--import-source", "yes")
"""Every section, rules and all, and the text of the source files."""
_SPECIAL = re.compile(r"([@,\[\]/*+\\])")


class NcuJob(NamedTuple):
    """One run of ncu: what is profiled, which counters, and where the report goes."""

    program: tuple[str, ...]
    stages: tuple[str, ...]
    """Names of the NVTX push/pop ranges whose launches are profiled."""
    metrics: tuple[str, ...]
    """Counters by ncu's names; with `full` those beyond its set."""
    report: Path
    """Ends in `.ncu-rep`."""
    full: bool = False
    """All sections with their rules and the source, instead of `metrics` alone."""
    launches: int | None = None
    """Most launches that are profiled; None: all."""
    warm: bool = False
    """The caches are not flushed before each pass."""
    expected: int | None = None
    """How many there will be, for the progress; None: nobody knows before."""


def find_ncu(environment: Mapping[str, str], installed: Sequence[Path] = INSTALLED) -> Path:
    """ncu on PATH, else below CUDA_HOME, else the newest version of `installed`."""
    found = shutil.which("ncu", path=environment.get("PATH", ""))
    if found:
        return Path(found)
    home = environment.get("CUDA_HOME")
    places = _below_cuda(Path(home)) if home else []
    for folder in installed:
        places += [version / "ncu" for version in newest_first(folder.glob("*"))]
    for place in places:
        if shutil.which(place):
            return place
    raise MachineCannot(
        "ncu is not here (not on PATH, not below CUDA_HOME, not in /opt/nvidia/nsight-compute): "
        "install Nsight Compute, or use --prof_type=event"
    )


def ncu_command(ncu: Path, job: NcuJob) -> list[str]:
    """The command line: kernel replay, no clock control, one report file."""
    most = () if job.launches is None else ("--launch-count", str(job.launches))
    return [
        str(ncu),
        "--nvtx",
        *(word for stage in job.stages for word in ("--nvtx-include", range_filter(stage))),
        *(WARM if job.warm else CONDITIONS),
        "--target-processes",
        "application-only",
        *most,
        *(() if job.full else ("--disable-extra-suffixes",)),
        *counter_words(job.metrics, full=job.full),
        "--force-overwrite",
        "--export",
        str(job.report.with_suffix("")),
        *job.program,
    ]


def counter_words(metrics: Sequence[str], *, full: bool) -> tuple[str, ...]:
    """The options that say what is counted."""
    named = ("--metrics", ",".join(metrics)) if metrics else ()
    return (*FULL, *named) if full else named


def query_command(ncu: Path) -> list[str]:
    """Lists the counters of the first GPU, one a line."""
    return [str(ncu), "--query-metrics"]


def range_filter(name: str) -> str:
    """The filter of launches inside a push/pop range: its name, special characters escaped, `/`."""
    return _SPECIAL.sub(r"\\\1", name) + "/"


def _below_cuda(home: Path) -> list[Path]:
    return [
        home / "bin" / "ncu",
        *(folder / "ncu" for folder in newest_first(home.glob("nsight-compute*"))),
    ]


def newest_first(folders: Iterable[Path]) -> list[Path]:
    """Folders of installed versions by the numbers in their names."""

    def version(folder: Path) -> list[int]:
        return [int(number) for number in re.findall(r"\d+", folder.name)]

    return sorted(folders, key=version, reverse=True)
