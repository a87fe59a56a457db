"""A development log in Markdown: the spec's Performance block, put where it belongs.

Only what this module wrote is ever replaced: the table below a block's heading, the lines of notes
that begin with `Taken DATE` or `Previous:`, and the Bottleneck. All other lines stay as they are.
"""

import re
from collections.abc import Sequence

from mla_var3.conf import table
from mla_var3.core.devlog import DevlogEntry, Figure
from mla_var3.render.layout import plain

_FENCE = re.compile(r"\s*(```|~~~)")
_SECTION = re.compile(r"## +([\w.-]+(?: \(\w+\))?)")
_PERFORMANCE = "**Performance**"
_BOTTLENECK = "**Bottleneck**"
_OURS = re.compile(r"\||Taken (?:\d{4}-|UTC)|Previous: |\s*$")
_HEADINGS = ("Metric", "Value", "vs Previous")


def update(text: str, entry: DevlogEntry) -> str:
    """The log with the entry's block written anew; `text` empty: a new log."""
    ending = "\r\n" if "\r\n" in text else "\n"
    lines = text.replace("\r\n", "\n").split("\n") if text else _new_log(entry)
    if lines and lines[-1] == "":
        lines.pop()
    start, end, is_new = _section(lines, entry.section)
    if is_new:
        body = [f"## {entry.section}", "", "**What changed**:", *_hand("what_changed")]
        lines[start:end] = [*_gap(lines[:start]), *body, "", *_block(entry), *_after(lines[start:])]
        return ending.join([*lines, ""])
    found = _find_block(lines, start, end, entry)
    if found is None:
        while lines[end - 1].strip() == "":
            end -= 1
        lines[end:end] = ["", *_block(entry)]
    else:
        first, last = found
        kept = [line for line in lines[first + 1 : last] if not _OURS.match(line)]
        kept = [line for line in kept if not line.startswith(_BOTTLENECK)]
        lines[first:last] = [*_measured(entry), *([*kept, ""] if kept else []), _bottleneck(entry)]
    return ending.join([*lines, ""])


def performance_table(figures: Sequence[Figure]) -> list[str]:
    """The table of the spec, its columns aligned."""
    rows = [_HEADINGS, *((f.label, plain(f.value), f.change) for f in figures)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [_row(row, widths) for row in rows]
    return [lines[0], f"| {' | '.join('-' * width for width in widths)} |", *lines[1:]]


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
    return f"| {' | '.join(padded)} |"


def _heading(entry: DevlogEntry) -> str:
    return f"{_PERFORMANCE} ({entry.place}):"


def _measured(entry: DevlogEntry) -> list[str]:
    notes = [line for note in entry.notes for line in (note, "")]
    return [_heading(entry), "", *performance_table(entry.figures), "", *notes]


def _bottleneck(entry: DevlogEntry) -> str:
    return f"{_BOTTLENECK}: {entry.bottleneck}"


def _block(entry: DevlogEntry) -> list[str]:
    issues = [f"- {plain(issue)}" for issue in entry.issues]
    return [
        *_measured(entry),
        _bottleneck(entry),
        "",
        "**Issues**:",
        *issues,
        "",
        "**Insights**:",
        *_hand("insight"),
    ]


def _hand(name: str) -> list[str]:
    return [table("devlog")["texts"][name]]


def _new_log(entry: DevlogEntry) -> list[str]:
    about = table("devlog")["texts"]["title"].format(kernel=entry.kernel)
    return [f"# {entry.kernel}", "", about]


def _section(lines: Sequence[str], name: str) -> tuple[int, int, bool]:
    """Where a version's section lies, or, where there is none, the place for it."""
    heads = [(at, found.group(1)) for at, found in _heads(lines) if found]
    ends = [*(at for at, _ in _heads(lines)), len(lines)]
    for at, own in heads:
        if own == name:
            return at, next(end for end in ends if end > at), False
    after = next((at for at, own in heads if _order(own) > _order(name)), len(lines))
    return after, after, True


def _heads(lines: Sequence[str]) -> list[tuple[int, re.Match[str] | None]]:
    """Lines that begin a section, outside of code; those of a version with their match.

    A fence that nobody closes is none.
    """
    found, fenced = [], False
    fences = [at for at, line in enumerate(lines) if _FENCE.match(line)]
    closed = set(fences[: len(fences) // 2 * 2])
    for at, line in enumerate(lines):
        if at in closed:
            fenced = not fenced
        elif not fenced and re.match(r"##? ", line):
            found.append((at, _SECTION.match(line)))
    return [(at, match) for at, match in found if at or match]


def _order(section: str) -> tuple[bool, int, str]:
    """The base first, then by number; what is no version stays at the end."""
    version, _, language = section.partition(" ")
    if version == "base":
        return False, 0, language
    is_version = re.fullmatch(r"v\d+", version)
    return not is_version, int(version[1:]) if is_version else 0, language


def _find_block(
    lines: Sequence[str], start: int, end: int, entry: DevlogEntry
) -> tuple[int, int] | None:
    """From a block's heading to behind its Bottleneck, or to what follows its table without one."""
    first = next((at for at in range(start, end) if lines[at].rstrip() == _heading(entry)), None)
    if first is None:
        return None
    last = first + 1
    for at in range(first + 1, end):
        if lines[at].startswith(_BOTTLENECK):
            return first, at + 1
        if lines[at].startswith("**"):
            break
        if _OURS.match(lines[at]) and lines[at].strip():
            last = at + 1
    return first, last


def _gap(before: Sequence[str]) -> list[str]:
    return [] if before and before[-1].strip() == "" else [""]


def _after(rest: Sequence[str]) -> list[str]:
    return [""] if rest else []
