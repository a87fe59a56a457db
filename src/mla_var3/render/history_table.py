"""`mla history` for people: a block a series, each run against the one before it."""

import textwrap
from collections.abc import Mapping, Sequence

import msgspec

from mla_var3.core import units
from mla_var3.core.annotation import AcrossRuns
from mla_var3.core.history import ChangePoint, Row, Run, Series
from mla_var3.core.methods import MethodNote
from mla_var3.core.params import params_text
from mla_var3.render.history_columns import text_of
from mla_var3.render.layout import WIDTH, flow, plain, shorten
from mla_var3.render.method_note import method_lines

NOTHING = "No profiles are stored there yet. Store one with: mla run KERNEL, or mla import FILE\n"
DAMAGED_SHOWN = 5
_INDENT = " " * 2
_HEADING = f"{_INDENT}{'created (UTC)':<16}  {'duration':>10}  {'SM clock':>8}  vs the run before"
_TEXT = 46
"""Where the words on a run begin."""


class HistoryView(msgspec.Struct, frozen=True, kw_only=True):
    """What the table shows, and how much it leaves out."""

    root: str
    shown: tuple[tuple[Series, tuple[Row, ...]], ...]
    total: int
    """Profiles that were read."""
    more_series: int = 0
    least_runs: int
    methods: tuple[tuple[Run, MethodNote], ...] = ()
    damaged: Mapping[str, str] = {}


def render_history(view: HistoryView) -> str:
    """The whole table, at most 100 columns; conditions that differ stand before any percentage."""
    if not view.total and not view.damaged:
        return NOTHING
    lines = [_HEADING, ""] if view.shown else []
    for series, rows in view.shown:
        lines += [*_head(series), *_rows(series, rows), *_changes(series), ""]
    if view.methods:
        titled = [(_title(run), note) for run, note in view.methods]
        lines += [*method_lines(titled), ""]
    lines += _damaged(view.damaged)
    return "\n".join([*lines, *_closing(view)]) + "\n"


def _head(series: Series) -> list[str]:
    key = series.key
    parts = [f"{plain(key.kernel)} {key.version}".removesuffix(" -"), key.language]
    parts += [params_text(dict(key.params)), plain(key.device or "device n/a"), key.mode]
    if key.duration_by not in (None, key.mode):
        parts.append(f"time by {key.duration_by}")
    return flow([part for part in parts if part], indent=_INDENT)


def _title(run: Run) -> str:
    language = run.plan.language if run.plan else ""
    params = params_text(run.plan.params) if run.plan else ""
    return f"{run.kernel} {run.version} · {language} · {params}"


def _rows(series: Series, rows: Sequence[Row]) -> list[str]:
    hidden = len(series.runs) - len(rows)
    lines = []
    if hidden:
        lines.append(f"{_INDENT}… {units.count(hidden, 'earlier run')} (--last=0 shows all)")
    for row in rows:
        run = row.run
        when = plain(run.created[:16].replace("T", " ")) or units.NA
        clock = f"{run.sm_clock_hz / 1e9:.2f} GHz" if run.sm_clock_hz else units.NA
        head = f"{_INDENT}{when:<16}  {units.duration(run.duration_ns):>10}  {clock:>8}  "
        lines += _hanging(head, _words(row))
    return lines


def _words(row: Row) -> str:
    run = row.run
    parts = []
    if run.status != "OK":
        parts.append(f"{run.status}: {plain(run.failure)}")
    if run.duration_ns is None and not parts:
        parts.append(f"no time: {run.missing.get('duration_ns', units.NA)}")
    if row.against is not None:
        parts.append(change_text(row.against))
    return "; ".join(parts)


def change_text(before: AcrossRuns) -> str:
    """`tiling differs (k), SM clock differs by +3.2 %: −4.5 %`; never a percentage alone where
    something differs, and none at all where the conditions forbid it.
    """
    if before.differs:
        return f"not comparable: {'; '.join(before.differs)}"
    if not before.changes:
        return "no time to compare"
    noted = f"{', '.join(before.notes)}: " if before.notes else ""
    change = before.changes[0]
    ratio = change.current.value / change.previous.value
    within = abs(100.0 * (ratio - 1.0)) <= before.floor_pct
    floor = f" (within the {before.floor_pct:.0f} % of separate runs)" if within else ""
    return f"{noted}{change.change}{floor}"


def _changes(series: Series) -> list[str]:
    lines = []
    for point in series.changes:
        lines += _hanging(f"{_INDENT}changed from {point.created[:16].replace('T', ' ')} on: ",
                          _point(point))  # fmt: skip
    return lines


def _point(point: ChangePoint) -> str:
    noted = f"{', '.join(point.notes)}: " if point.notes else ""
    medians = f"median {units.duration(point.before_ns)} → {units.duration(point.after_ns)}"
    runs = f"{point.runs_before} and {point.runs_after} runs, p {point.p:.1g}"
    return f"{noted}{medians}, {units.signed(point.change_pct)} % ({runs})"


def _hanging(head: str, text: str) -> list[str]:
    """Text behind a head, wrapped under its own column."""
    indent = " " * min(len(head), _TEXT)
    wrapped = textwrap.wrap(
        head + plain(text), WIDTH, subsequent_indent=indent, break_on_hyphens=False
    )
    return wrapped or [head.rstrip()]


def _damaged(damaged: Mapping[str, str]) -> list[str]:
    lines = [shorten(f"damaged: {folder}: {why}", WIDTH) for folder, why in damaged.items()]
    more = len(lines) - DAMAGED_SHOWN
    return [*lines[:DAMAGED_SHOWN], *([f"damaged: {more} more (--json)"] if more > 0 else [])]


def _closing(view: HistoryView) -> list[str]:
    count = f"{units.count(view.total, 'profile')}"
    if view.damaged:
        count += f", {len(view.damaged)} damaged"
    if view.more_series:
        count += f"; {view.more_series} more series (--kernel, --mode or --sql)"
    text = f"{count}. Runs apart are no comparison: settle a change with mla compare."
    lines = textwrap.wrap(text, WIDTH)
    if view.shown and all(len(s.runs) < 2 * view.least_runs for s, _ in view.shown):
        lines.append(f"Change points need {view.least_runs} runs on each side; no series has them.")
    return lines


def render_answer(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """What a query gave, as a table of at most 100 columns; wide cells are cut."""
    cells = [tuple(map(plain, columns)), *(tuple(map(plain, map(text_of, row))) for row in rows)]
    widths = _fitted([max(map(len, column)) for column in zip(*cells, strict=True)])
    figures = [
        any(type(row[n]) in (int, float) for row in rows) and not any(
            isinstance(row[n], str) for row in rows
        )
        for n in range(len(columns))
    ]  # fmt: skip
    lines = []
    for row in cells:
        fitted = [
            shorten(cell, width).rjust(width) if is_figure else shorten(cell, width).ljust(width)
            for cell, width, is_figure in zip(row, widths, figures, strict=True)
        ]
        lines.append("  ".join(fitted)[:WIDTH].rstrip())
    return "\n".join([*lines, "", units.count(len(rows), "row")]) + "\n"


def _fitted(widths: list[int]) -> list[int]:
    """Widths whose sum fits the line: the widest are cut first, never below 6."""
    widths = list(widths)
    room = WIDTH - 2 * (len(widths) - 1)
    while sum(widths) > room and max(widths) > 6:
        widths[widths.index(max(widths))] -= 1
    return widths
