"""The tools of the CUDA toolkit: from the pip packages, PATH or CUDA_HOME, whichever is first."""

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from mla_var3.core.errors import MachineCannot

PACKAGES = {
    "tileiras": "cuda-tile[tileiras]",
    "tileirdisasm": "cuda-tile[tileiras]",
    "cuobjdump": "cuda-toolkit[cuobjdump]",
    "nvdisasm": "cuda-toolkit[nvdisasm]",
}
"""What each tool is installed with."""
LIMIT_SECONDS = 120.0


@cache
def find_tool(name: str) -> Path | None:
    """The tool's path; None where it is not installed."""
    for folder in _folders():
        found = shutil.which(name, path=folder)
        if found:
            return Path(found)
    return None


def missing_tool(name: str) -> str:
    """`nvdisasm is not installed here: python -m pip install 'cuda-toolkit[nvdisasm]'`."""
    return f"{name} is not installed here: python -m pip install '{PACKAGES[name]}'"


def run_tool(name: str, *arguments: str) -> str:
    """Standard output of a tool; `MachineCannot` where it is not installed or fails."""
    tool = find_tool(name)
    if tool is None:
        raise MachineCannot(missing_tool(name))
    try:
        done = subprocess.run(
            [str(tool), *arguments], capture_output=True, timeout=LIMIT_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MachineCannot(f"{name} does not run here: {type(error).__name__}") from error
    if done.returncode:
        first = (done.stderr.decode(errors="replace").strip().splitlines() or [""])[0]
        raise MachineCannot(f"{name} failed with exit {done.returncode}: {first}")
    return done.stdout.decode(errors="replace")


@cache
def compiler_version() -> str:
    """What `tileiras --version` says of its build, such as `V13.4.92`; empty where it is absent."""
    if find_tool("tileiras") is None:
        return ""
    return run_tool("tileiras", "--version").strip()


def _folders() -> Iterator[str]:
    """Folders in the order that cuda.tile looks for its compiler in."""
    spec = importlib.util.find_spec("nvidia")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        yield str(Path(place) / "cu13" / "bin")
    yield os.environ.get("PATH", "")
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
    if home:
        yield str(Path(home) / "bin")
    yield "/usr/local/cuda/bin"
