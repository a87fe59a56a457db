"""Values of a report as text, and sums over instructions: parts of every page of a deep profile."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from mla_var3.core.ncu_details import Column, Counter, Instructions, SourceText, Value
from mla_var3.render.layout import plain

ABSENT = "–"
"""Stands where the report has no such counter; 0 is a value."""
_NO_STALL = frozenset({"selected", "not_selected"})
_BARS = " ▁▂▃▄▅▆▇█"


def number(value: float | int) -> str:
    """`1,097,006`, `46.6948`, `0.00285002`: whole numbers in full, others in six digits."""
    if isinstance(value, int) or (value.is_integer() and abs(value) < 1e15) or abs(value) >= 1e6:
        return f"{value:,.0f}"
    return f"{value:,.6g}"


def value_text(value: Value | None, reason: str = "") -> str:
    """A counter's value; where there is none `n/a` with the reason."""
    if value is None:
        return f"n/a ({reason})" if reason else "n/a"
    return value if isinstance(value, str) else number(value)


def cell(counter: Counter | None) -> str:
    """A cell of a memory table."""
    return ABSENT if counter is None else value_text(counter.value, counter.reason)


def count_text(value: float | int | None) -> str:
    """A count, or `–` where nothing was counted."""
    return ABSENT if value is None else number(value)


def share(part: float | None, whole: float) -> str:
    """`16.7`, percent of the whole; `–` where there is no part or no whole."""
    return ABSENT if part is None or whole <= 0 else f"{100 * part / whole:.1f}"


def sparkline(values: Sequence[float], width: int = 60) -> str:
    """Means of `width` equal parts as bars between 0 and the largest value."""
    top = max(values, default=0.0)
    if top <= 0:
        return ""
    parts = min(width, len(values))
    edges = [round(i * len(values) / parts) for i in range(parts + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in pairwise(edges)]
    return "".join(_BARS[max(0, min(8, round(8 * mean / top)))] for mean in means)


def file_names(sources: Sequence[SourceText]) -> list[str]:
    """Base names, `utils.py (2)` where two files are called alike."""
    seen: dict[str, int] = {}
    names = []
    for source in sources:
        seen[source.name] = seen.get(source.name, 0) + 1
        number_ = seen[source.name]
        names.append(source.name if number_ == 1 else f"{source.name} ({number_})")
    return names


class Sums(NamedTuple):
    """Sums over some instructions; None where none of them was counted."""

    samples: int | None
    stall: str
    """The most sampled reason not to issue, "" without one."""
    executed: float | None
    sectors: float | None
    wavefronts: float | None


def sums(table: Instructions, rows: Sequence[int]) -> Sums:
    """What the instructions at `rows` did together."""
    samples = _sum(None if table.samples is None else table.samples[row] for row in rows)
    return Sums(
        samples=None if samples is None else int(samples),
        stall=top_stall(table, rows),
        executed=_of(table.executed, rows),
        sectors=_of(table.excess_sectors, rows),
        wavefronts=_of(table.excess_wavefronts, rows),
    )


def each_alone(table: Instructions) -> list[Sums]:
    """`sums` of every instruction by itself, in one pass over the columns."""
    count = len(table.offsets)
    most: list[float] = [0] * count
    stalls = [""] * count
    # of equals the last by name, as in `top_stall`
    for reason in sorted(table.stalls.keys() - set(_NO_STALL)):
        for row, value in enumerate(table.stalls[reason].values):
            if value and value >= most[row]:
                most[row], stalls[row] = value, reason
    absent = (None,) * count
    counted = (
        absent if column is None else column.values
        for column in (table.executed, table.excess_sectors, table.excess_wavefronts)
    )
    return [Sums(*row) for row in zip(table.samples or absent, stalls, *counted, strict=True)]


def top_stall(table: Instructions, rows: Sequence[int]) -> str:
    """The reason that most samples of these instructions have, other than issuing."""
    found = {
        reason: _of(column, rows) or 0
        for reason, column in table.stalls.items()
        if reason not in _NO_STALL
    }
    reason = max(found, key=lambda key: (found[key], key), default="")
    return reason if found.get(reason, 0) > 0 else ""


def total_samples(table: Instructions) -> int:
    """Samples of the whole kernel."""
    return sum(count or 0 for count in table.samples or ())


def aligned(rows: Sequence[Sequence[str]], left: Iterable[int]) -> list[str]:
    """Rows of cells in columns, right-aligned but for those whose positions are in `left`."""
    if not rows:
        return []
    lefts = set(left)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            text.ljust(width) if i in lefts else text.rjust(width)
            for i, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def code(text: str) -> str:
    """A code span that may stand in a table: a name or an instruction as it is."""
    text = plain(text).replace("|", "\\|")
    mark = "``" if "`" in text else "`"
    pad = " " if "`" in text else ""
    return f"{mark}{pad}{text}{pad}{mark}" if text else ABSENT


def table_of(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table of cells that are Markdown already; figures stand at the right."""
    made = [list(row) for row in rows]
    right = [_figures([row[i] for row in made]) for i in range(len(head))]
    rule = "|".join("---:" if figures else "---" for figures in right)
    return (
        [f"| {' | '.join(cells)} |" for cells in [head]]
        + [f"|{rule}|"]
        + [f"| {' | '.join(cells)} |" for cells in made]
    )


def _figures(cells: Sequence[str]) -> bool:
    """Whether a column holds numbers."""
    told = [text for text in cells if text not in ("", ABSENT)]
    return bool(told) and all(text[0].isdigit() or text[0] == "-" for text in told)


def code_line(text: str) -> str:
    """A line of source as it stands, without tabs and control characters."""
    return "".join(c if c.isprintable() else " " for c in text.expandtabs(4)).rstrip()


def _of(column: Column | None, rows: Sequence[int]) -> float | int | None:
    return None if column is None else _sum(column.values[row] for row in rows)


def _sum(values: Iterable[float | int | None]) -> float | int | None:
    counted = [value for value in values if value is not None]
    return sum(counted) if counted else None
