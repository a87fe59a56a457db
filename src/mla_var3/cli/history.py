"""`mla history`: all stored profiles by time, as a table, CSV, JSON, or the answer of a query."""

import dataclasses
from pathlib import Path

from mla_var3.cli.arguments import parse
from mla_var3.cli.console import show
from mla_var3.cli.options import option, positional
from mla_var3.core import artifacts
from mla_var3.core.errors import BadArgument, NotFound
from mla_var3.runtime.history import Found, read_history, uncollected

SHOWN = 10


@dataclasses.dataclass(frozen=True)
class History:
    """All stored profiles by time: what changed from run to run, and from when on."""

    root: str = positional(
        "folder whose profiles are read, however deep they lie",
        metavar="ROOT",
        shown=f"default: {artifacts.PROFILES.as_posix()}",
        default="",
    )
    kernel: str = option("", "only profiles of this kernel", metavar="NAME", shown="default: all")
    mode: str = option("", "only profiles of this mode", metavar="MODE", shown="default: all")
    last: int = option(
        SHOWN,
        "runs of a series that the table shows, the newest; 0: all",
        metavar="N",
        shown=f"default: {SHOWN}",
    )
    sql: str = option(
        "",
        "one SELECT over the tables profiles and stages (DESCRIBE profiles lists the columns)",
        metavar="QUERY",
        shown="default: none; needs mla_var3[history]",
    )
    csv: bool = option(False, "CSV of all profiles, or of the query's answer")
    json: bool = option(False, "JSON of all profiles and change points, or of the query's answer")


def run(argv: list[str]) -> int:
    """Print the history; returns 0, also where nothing is stored."""
    options = parse(History, "history", argv)
    if options.csv and options.json:
        raise BadArgument("--csv or --json, not both")
    if options.last < 0:
        raise BadArgument(f"--last={options.last}: must be at least 0")
    root = Path(options.root) if options.root else artifacts.PROFILES
    if options.root and not root.is_dir():
        raise NotFound(f"NOT_FOUND {root.name}: no such folder; give the root of a store")
    with uncollected():
        found = _chosen(read_history(root), options)
        text = _answer(found, options) if options.sql else _history(found, options, root)
    show(text)
    return 0


def _chosen(found: Found, options: History) -> Found:
    runs = tuple(
        run
        for run in found.runs
        if options.kernel in ("", run.kernel) and options.mode in ("", run.mode)
    )
    if found.runs and not runs:
        wanted = " and ".join(
            f"--{name}={value}"
            for name, value in (("kernel", options.kernel), ("mode", options.mode))
            if value
        )
        there = sorted({f"{run.kernel} ({run.mode})" for run in found.runs})
        more = f" and {len(there) - 6} more" if len(there) > 6 else ""
        raise NotFound(f"no profile of {wanted}; there are {', '.join(there[:6])}{more}")
    return found._replace(runs=runs)


def _answer(found: Found, options: History) -> str:
    from mla_var3.render.history_data import answer_json, to_csv
    from mla_var3.render.history_table import render_answer
    from mla_var3.runtime.history_sql import query

    answer = query(found.runs, options.sql)
    if options.json:
        return answer_json(*answer)
    return to_csv(*answer) if options.csv else render_answer(*answer)


def _history(found: Found, options: History, root: Path) -> str:
    from mla_var3.analyse.history import series_of
    from mla_var3.render.history_data import history_csv, history_json
    from mla_var3.render.history_table import render_history
    from mla_var3.runtime.history_view import history_view

    if options.csv:
        return history_csv(found.runs)
    series = series_of(found.runs)
    if options.json:
        return history_json(found.runs, series, found.damaged)
    return render_history(history_view(found, series, root.as_posix(), options.last))
