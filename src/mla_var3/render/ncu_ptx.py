"""`ptx/`: the PTX lines that the report names, and the compiler's PTX without directories."""

import re

from mla_var3.core.ncu_details import LaunchDetails
from mla_var3.render.layout import plain
from mla_var3.render.ncu_texts import texts
from mla_var3.render.ncu_values import code_line

_FILE = re.compile(r'^(\s*\.file\s+\d+\s+")(?:[^"\n]*[\\/])?([^"\\/\n]*")', re.MULTILINE)
_DEBUG = re.compile(r"^\s*\.section\s+\.debug_\w+\s*\{[^}]*\}[^\n]*\n?", re.MULTILINE)


def render_ptx_lines(details: LaunchDetails) -> str | None:
    """PTX lines in the order of the instructions made of them; None where the report has none."""
    table = details.instructions
    if table is None or not any(table.ptx):
        return None
    first: dict[str, int] = {}
    for text, offset in zip(table.ptx, table.offsets, strict=True):
        if text.strip("{} ;"):
            first.setdefault(text, offset)
    head = [f"// {texts().texts['ptx_head']}", f"// kernel: {plain(details.kernel)}"]
    head.append("// behind each line: offset of the first instruction that was made of it")
    width = min(max((len(text) for text in first), default=0), 80)
    lines = [f"{code_line(text).ljust(width)}  // {at:#06x}" for text, at in first.items()]
    return "\n".join([*head, "", *lines]) + "\n"


def without_directories(ptx: str) -> str:
    """A compiler's PTX that still compiles: its files by base name, its debug sections left out."""
    return _DEBUG.sub("", _FILE.sub(r"\1\2", ptx))
