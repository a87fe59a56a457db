"""Find NVIDIA's `ncu_report` module: the PyPI package, else that of an installed Nsight Compute."""

import hashlib
import importlib
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mla_var3.core.errors import MachineCannot

_INSTALL = "python -m pip install ncu-report"
_ROOTS = (
    "/opt/nvidia/nsight-compute",
    "/usr/local/NVIDIA-Nsight-Compute",
    "/Applications/NVIDIA Nsight Compute.app/Contents/MacOS",
    "C:/Program Files/NVIDIA Corporation",
)

_last: list[Any] = []
"""Library, file and report that are kept."""


class _Kept:
    """A report, or a range of it, whose parts are made once; all else is the library's."""

    def __init__(self, library_object: Any) -> None:
        self._object = library_object
        self._parts: dict[int, Any] = {}

    def range_by_idx(self, index: int) -> Any:
        if index not in self._parts:
            self._parts[index] = _Kept(self._object.range_by_idx(index))
        return self._parts[index]

    def action_by_idx(self, index: int) -> Any:
        if index not in self._parts:
            self._parts[index] = self._object.action_by_idx(index)
        return self._parts[index]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._object, name)


def load_module() -> Any:
    """The module `ncu_report`. Raises `MachineCannot` with the install line where there is none."""
    found = _import()
    if found is not None:
        return found
    for folder in installed_folders():
        sys.path.insert(0, str(folder))
        try:
            found = _import()
        finally:
            sys.path.remove(str(folder))
        if found is not None:
            return found
    raise MachineCannot(
        f"reading a .ncu-rep needs the module ncu_report, which is not here: {_INSTALL} "
        "(or install Nsight Compute); exports of ncu --csv are read without it"
    )


def open_report(library: Any, path: Path, *, keep: bool = False) -> Any:
    """The opened report. With `keep` it stays with its launches, to be looked at once more.

    Much of what was looked at the library holds until the process ends, and twice what is asked
    twice: so a report of few launches is kept, and one of many must not be.
    """
    if not keep and not _last:
        return library.load_report(str(path))
    with path.open("rb") as file:
        # by content: of a packed file each unpacking lies elsewhere
        key = hashlib.file_digest(file, "sha256").digest()
    if _last and _last[0] is library and _last[1] == key:
        return _last[2]
    opened = library.load_report(str(path))
    if keep:
        opened = _Kept(opened)
        _last[:] = [library, key, opened]
    return opened


def needs_own_process() -> bool:
    """Whether this process holds Triton's native code: the library may not survive beside it.

    Seen with Triton 3.6 and the module of Nsight Compute 2025.3.1: a segmentation fault.
    """
    return "triton._C.libtriton" in sys.modules


def installed_folders() -> list[Path]:
    """Folders with an `ncu_report.py` of installed Nsight Compute versions, newest first."""
    return sorted(set(_candidates()), key=_version_of, reverse=True)


def _import() -> Any:
    try:
        return importlib.import_module("ncu_report")
    except (ImportError, OSError, KeyError):
        # KeyError: the package's own look-up of an unknown platform
        return None


def _candidates() -> Iterator[Path]:
    roots = [Path(root) for root in _ROOTS]
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if home := os.environ.get(variable):
            roots += [Path(home), *Path(home).glob("nsight-compute*")]
    for root in roots:
        for pattern in ("extras/python", "*/extras/python", "python"):
            for folder in root.glob(pattern):
                if (folder / "ncu_report.py").is_file() or (folder / "ncu_report").is_dir():
                    yield folder


def _version_of(folder: Path) -> tuple[int, ...]:
    versions = re.findall(r"(20\d\d)\.(\d+)(?:\.(\d+))?", str(folder))
    return tuple(int(part or 0) for part in versions[-1]) if versions else ()
