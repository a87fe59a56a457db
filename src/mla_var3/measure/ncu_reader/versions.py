"""Who recorded the file and who reads it: `ncu 2025.3.1` and `ncu_report 2026.3.1`."""

import re
from typing import Any

from mla_var3.measure.ncu_reader.blocks import Bytes, Layout

_IN_BYTES = re.compile(rb"(20\d\d\.\d+\.\d+)\.\d+ \(build \d+\)")
_SEARCHED_BYTES = 64 << 20


def capture_version(layout: Layout, data: Bytes) -> str | None:
    """Version that recorded the file, `2025.3.1`; None where the file does not tell."""
    found = _IN_BYTES.match(layout.tool_version.encode())
    if found is None:
        # older files keep the text elsewhere
        found = _IN_BYTES.search(data[:_SEARCHED_BYTES])
    return found.group(1).decode() if found else None


def reader_version(module: Any, report: Any) -> str | None:
    """Version of the module that reads, `2026.3.1`."""
    try:
        told = str(report.get_version())
    except (AttributeError, RuntimeError, TypeError):
        told = str(getattr(module, "__version__", ""))
    found = re.match(r"20\d\d\.\d+(?:\.\d+)?", told)
    if found:
        return found.group(0)
    # costs 30 ms to import, and the report tells nearly always
    from importlib import metadata

    try:
        return metadata.version("ncu-report")
    except metadata.PackageNotFoundError:
        return None


def too_old(capture: str | None, reader: str | None) -> str | None:
    """A warning where the file is newer than its reader, else None."""
    if not capture or not reader or _parts(capture)[:2] <= _parts(reader)[:2]:
        return None
    return (
        f"recorded by ncu {capture}, read by the older ncu_report {reader}: values may be missing; "
        "python -m pip install --upgrade ncu-report"
    )


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
