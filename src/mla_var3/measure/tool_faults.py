"""What a profiler's output means when it fails: cause, advice and exit code.

The table is conf/tool_faults.json. The exit code of a tool proves nothing, so its text decides;
the first fault of the table wins.
"""

import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from mla_var3 import conf
from mla_var3.core import errors
from mla_var3.core.errors import MlaError

Place = Literal["", "container", "wsl"]
NOT_FOUND = 127
"""Exit code of a command that could not be started."""
_NAMES = 5
_WIDTH = 60
_PROFILING = re.compile(r'==PROF== Profiling "([^"]*)"')
_AVAILABLE = re.compile(r"Available Kernels:\s*\n((?:\s*\d+\. [^\n]*\n?)+)")
_NUMBERED = re.compile(r"^\s*\d+\. (.*\S)", re.MULTILINE)
_RAISED = re.compile(r"^(?:\w+\.)*\w*(?:Error|Exception|Interrupt|Exit)\b.*", re.MULTILINE)


class FaultContext(msgspec.Struct, frozen=True, kw_only=True):
    """What the caller knows beside the text; what it does not know is left out of the message."""

    version: str = ""
    """Of the tool: `2025.3.1`."""
    driver: str = ""
    filter: str = ""
    """Which kernels were asked for, as it was given to the tool."""
    timed_out: bool = False
    limit_s: float | None = None
    no_report: bool = False
    """The tool has ended, and its report is missing, empty, or holds no kernel."""
    unimported: bool = False
    """nsys left its raw recording, and its importer made no report of it."""
    advice: str = ""
    """What the caller found out beside, as it stands in a text: `: libdw.so.1 is missing`."""
    place: Place | None = None
    """Where it ran; None: find out."""


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the table: what the tool says, what it means, and where that was read."""

    id: str
    tools: tuple[str, ...]
    patterns: tuple[str, ...]
    text: str
    sources: tuple[str, ...]
    error: str = ""
    place: Place = ""
    unless: str = ""
    when: Literal["", "timed_out", "not_found", "no_report", "unimported"] = ""


class Harmless(msgspec.Struct, frozen=True, kw_only=True):
    """Lines that mean nothing."""

    id: str
    tools: tuple[str, ...]
    pattern: str
    sources: tuple[str, ...]


class FaultTable(msgspec.Struct, frozen=True, kw_only=True):
    """The whole table, in the order in which it decides."""

    faults: tuple[Fault, ...]
    harmless: tuple[Harmless, ...]
    remarks: tuple[Fault, ...]
    codes: dict[str, str]


def explain(
    tool: str, text: str, returncode: int, context: FaultContext | None = None
) -> MlaError | None:
    """The error that a tool's output means, in one line; None where the table knows none.

    `text` is all it and the program printed. What the machine forbids is told before what the
    program then died of.
    """
    context = context or FaultContext()
    text = _without_harmless(tool, text)
    place = place_here() if context.place is None else context.place
    for fault in fault_table().faults:
        if tool not in fault.tools or fault.place not in ("", place):
            continue
        found = _match(fault, text, returncode, context)
        if found is not None:
            error: MlaError = getattr(errors, fault.error)(
                fault.text.format_map(_words(tool, text, found, context))
            )
            return error
    return None


def remarks(tool: str, text: str) -> tuple[str, ...]:
    """What a tool's output says that is no failure, but belongs beside the result."""
    return tuple(
        remark.text
        for remark in fault_table().remarks
        if tool in remark.tools and any(_compiled(p).search(text) for p in remark.patterns)
    )


@cache
def fault_table() -> FaultTable:
    """The table as it stands in conf/tool_faults.json."""
    return msgspec.convert(conf.table("tool_faults"), FaultTable)


def place_here(root: Path = Path("/")) -> Place:
    """Whether this system is a container or WSL, by the files they leave below `root`."""
    if "microsoft" in _read(root / "proc/sys/kernel/osrelease").lower():
        return "wsl"
    if (root / ".dockerenv").exists() or (root / "run/.containerenv").exists():
        return "container"
    groups = _read(root / "proc/1/cgroup")
    return "container" if re.search(r"docker|kubepods|containerd|lxc", groups) else ""


def _match(
    fault: Fault, text: str, returncode: int, context: FaultContext
) -> dict[str, str] | None:
    """The named groups of the first pattern found, empty where none is needed; None: no match."""
    if fault.unless and _compiled(fault.unless).search(text):
        return None
    holds = {
        "": True,
        "timed_out": context.timed_out,
        "not_found": returncode == NOT_FOUND,
        "no_report": context.no_report,
        "unimported": context.unimported,
    }
    if not holds[fault.when]:
        return None
    if not fault.patterns:
        return {}
    for pattern in fault.patterns:
        found = _compiled(pattern).search(text)
        if found:
            return found.groupdict()
    return None


def _words(
    tool: str, text: str, groups: dict[str, str], context: FaultContext
) -> defaultdict[str, str]:
    """What stands in the braces of a text."""
    begun = [_short(name) for name in _PROFILING.findall(text)]
    raised = _RAISED.findall(text) if "Traceback (most recent call last)" in text else []
    code = fault_table().codes.get(groups.get("number", ""))
    limit = f"{context.limit_s:.0f} s" if context.limit_s is not None else "its time limit"
    return defaultdict(
        str,
        {
            "tool": tool,
            "version": f"{tool} {context.version}" if context.version else f"this {tool}",
            "driver": f"driver {context.driver}" if context.driver else "this driver",
            "filter": f" (filter: {context.filter})" if context.filter else "",
            "kernels": _kernels(text, begun),
            "last": f"the last kernel was {begun[-1]}" if begun else "no kernel had begun",
            "limit": limit,
            "line": f" ({_short(raised[-1])})" if raised else "",
            "code": f" ({code})" if code else "",
            "advice": context.advice,
        }
        | {name: _short(value) for name, value in groups.items()},
    )


def _kernels(text: str, begun: list[str]) -> str:
    """Which kernels the log names: those that could have been asked for, or those it began."""
    listed = _AVAILABLE.search(text)
    names = [_short(name) for name in _NUMBERED.findall(listed.group(1))] if listed else begun
    names = list(dict.fromkeys(names))
    if not names:
        return "its log names none"
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    return f"its log names {', '.join(names[:_NAMES])}{more}"


def _without_harmless(tool: str, text: str) -> str:
    patterns = [_compiled(h.pattern) for h in fault_table().harmless if tool in h.tools]
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if not any(p.search(line) for p in patterns))


def _short(text: str) -> str:
    plain = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return plain if len(plain) <= _WIDTH else plain[: _WIDTH - 1] + "…"


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Logs are wrapped: a blank stands for any white space."""
    return re.compile(pattern.replace(" ", r"\s+"))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
