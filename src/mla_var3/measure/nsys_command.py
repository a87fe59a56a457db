"""Where nsys lies, and its command lines: pure functions that return lists."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from mla_var3 import conf
from mla_var3.core.errors import MachineCannot
from mla_var3.measure.ncu_command import newest_first

ROOT = Path("/opt/nvidia")
"""Where NVIDIA's packages lie: `nsight-systems/2025.3.2`, `nsight-compute/2025.3.1`."""
_IN_COMPUTE = "host/target-linux-*/nsys"
_IN_SYSTEMS = ("bin/nsys", "target-linux-*/nsys")


class NsysJob(NamedTuple):
    """One run of nsys: what is recorded, what is traced, and where the report goes."""

    program: tuple[str, ...]
    report: Path
    """Ends in `.nsys-rep`."""
    trace: str = "cuda,nvtx"


def find_nsys(environment: Mapping[str, str], root: Path = ROOT) -> Path:
    """nsys on PATH, else below CUDA_HOME, else the newest of Nsight Systems below `root`, else the
    one that Nsight Compute brings.

    Raises `MachineCannot` with what to do.
    """
    found = shutil.which("nsys", path=environment.get("PATH", ""))
    if found:
        return Path(found)
    home = environment.get("CUDA_HOME")
    places = [Path(home) / "bin" / "nsys", *_installed(Path(home))] if home else []
    places += _versions(root, "nsight-systems*", _IN_SYSTEMS)
    places += _versions(root, "nsight-compute*", (_IN_COMPUTE,))
    for place in places:
        if shutil.which(place):
            return place
    raise MachineCannot(
        "nsys is not here (not on PATH, not below CUDA_HOME, not in /opt/nvidia/nsight-systems or "
        "inside Nsight Compute): install Nsight Systems, or give --collector=kineto"
    )


def nsys_command(nsys: Path, job: NsysJob) -> list[str]:
    """Records CUDA and NVTX alone: no samples of the CPU, each node of a graph, one report."""
    return [
        str(nsys),
        "profile",
        "-t",
        job.trace,
        *conf.table("nsys")["options"],
        "-o",
        str(job.report.with_suffix("")),
        *job.program,
    ]


def export_command(nsys: Path, report: Path, sqlite: Path) -> list[str]:
    """Exports a report into a database that replaces whatever lies there."""
    force = "--force-overwrite=true"
    return [str(nsys), "export", "-t", "sqlite", force, "-o", str(sqlite), str(report)]


def version_command(nsys: Path) -> list[str]:
    """Prints `NVIDIA Nsight Systems version 2025.3.2.…`."""
    return [str(nsys), "--version"]


def _installed(home: Path) -> list[Path]:
    """What a CUDA toolkit brings: `nsight-systems-2025.3.2`, `nsight-compute-2025.3.1`."""
    places: list[Path] = []
    for folder in newest_first(home.glob("nsight-systems*")):
        places += _matching(folder, _IN_SYSTEMS)
    for folder in newest_first(home.glob("nsight-compute*")):
        places += _matching(folder, (_IN_COMPUTE,))
    return places


def _versions(root: Path, product: str, patterns: Sequence[str]) -> list[Path]:
    """In the folder of each version, newest first, and then in the product's own."""
    products = sorted(root.glob(product))
    versions = [path for folder in products for path in folder.glob("*") if path.is_dir()]
    folders = [*newest_first(versions), *products]
    return [place for folder in folders for place in _matching(folder, patterns)]


def _matching(folder: Path, patterns: Sequence[str]) -> list[Path]:
    return [place for pattern in patterns for place in sorted(folder.glob(pattern))]
