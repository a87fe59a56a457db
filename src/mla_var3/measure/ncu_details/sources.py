"""Source texts that the report holds, how the files on this disk compare, and rules' remarks."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mla_var3.core.ncu_details import Line, Marker, OnDisk, SourceText
from mla_var3.measure.ncu_reader.rules import clean_text
from mla_var3.measure.ncu_reader.source import base_name, is_library

_LARGEST_BYTES = 16 << 20
_LONGEST = 1000


def read_sources(action: Any, files: Sequence[str], *, look: bool) -> tuple[SourceText, ...]:
    """The texts of `files` in their order; with `look` compared with the files on this disk."""
    texts = {str(name): str(text or "") for name, text in dict(action.source_files()).items()}
    return tuple(
        SourceText(
            name=base_name(file),
            text=texts.get(file, ""),
            library=is_library(file),
            on_disk=_on_disk(file, texts.get(file, "")) if look else "",
        )
        for file in files
    )


def read_markers(action: Any, files: Sequence[str], start: int) -> tuple[Marker, ...]:
    """What rules say of single lines and instructions; `start` is the function's address."""
    found = []
    for marker in action.source_markers():
        text = clean_text(str(marker.get("message") or ""), _LONGEST)
        rule = str(marker.get("rule_identifier") or "")
        where = marker.get("source_location")
        address = marker.get("source_address")
        if where and str(where.get("file_name")) in files:
            line = Line(list(files).index(str(where["file_name"])), int(where["line"]))
            found.append(Marker(rule, text, line=line))
        elif address is not None and int(address) >= start:
            found.append(Marker(rule, text, offset=int(address) - start))
    return tuple(marker for marker in found if marker.message)


def _on_disk(file: str, text: str) -> OnDisk:
    """Whether the file at the recorded path has the recorded text; never raises."""
    if not text:
        return ""
    try:
        path = Path(file)
        if not path.is_absolute() or not path.is_file():
            return "absent"
        if path.stat().st_size > _LARGEST_BYTES:
            return "differs"
        now = path.read_bytes().decode("utf-8", "replace")
    except (OSError, ValueError):
        return "absent"
    return "same" if now.splitlines() == text.splitlines() else "differs"
