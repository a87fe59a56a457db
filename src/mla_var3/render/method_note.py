"""One kernel's durations by several methods beside each other, for screen and report."""

import re
import textwrap
from collections.abc import Sequence

from mla_var3.core import units
from mla_var3.core.methods import MethodNote, MethodTime
from mla_var3.render.layout import WIDTH, shorten
from mla_var3.render.markdown import md, md_list, md_table

TITLE = "One kernel by several methods"


def method_section(note: MethodNote) -> list[str]:
    """The Markdown of a report's section, without its heading."""
    rows = [("Method", "Duration", "SM clock", "Includes", "Load", "Caches", "Taken as")]
    rows += [
        (t.method, units.duration(t.duration_ns), _clock(t), t.includes, t.load, t.caches, t.taken)
        for t in note.times
    ]
    return [*md_table(rows), "", *md_list(note.why), "", md(note.rule)]


def method_lines(notes: Sequence[tuple[str, MethodNote]]) -> list[str]:
    """For a terminal: each kernel by its title with a line a method; what they include, once."""
    lines = [TITLE]
    for title, note in notes:
        lines.append(f"  {shorten(title, WIDTH - 2)}")
        lines += [_line(time) for time in note.times]
    known = {time.method: time for _, note in notes for time in note.times}
    for method, time in known.items():
        lines += _wrapped(f"{method.ljust(6)} {time.includes}; {time.load}", 9)
    why = dict.fromkeys(text for _, note in notes for text in note.why)
    rules = dict.fromkeys(note.rule for _, note in notes)
    for text in (*why, *rules):
        lines += _wrapped(text, 2)
    return lines


def _line(time: MethodTime) -> str:
    clock = f"{time.sm_clock_hz / 1e9:.2f} GHz" if time.sm_clock_hz else units.NA
    head = f"    {time.method:<6} {units.duration(time.duration_ns):>10}  {clock:>8}"
    head += f"  {re.split('[,:]', time.caches)[0]:<32}"
    room = WIDTH - len(head) - 2
    place = time.profile if len(time.profile) <= room else f"…{time.profile[1 - room :]}"
    return f"{head}  {place}".rstrip()


def _wrapped(text: str, hang: int) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent="  ", subsequent_indent=" " * hang, break_on_hyphens=False
    )


def _clock(time: MethodTime) -> str:
    if not time.sm_clock_hz:
        return units.NA
    return f"{time.sm_clock_hz / 1e9:.2f} GHz ({time.clock_from})"
