"""The part of a history that the table shows: the newest series, the newest runs of each."""

from collections.abc import Sequence

from mla_var3.analyse.cross_method import notes_of
from mla_var3.analyse.history import rows_of
from mla_var3.conf import table
from mla_var3.core.history import Series
from mla_var3.render.history_table import HistoryView
from mla_var3.runtime.history import Found


def _place(series: Series) -> tuple[str, str, str, str, str]:
    key = series.key
    return key.kernel, key.language, str(key.params), key.version, key.mode


def history_view(found: Found, series: Sequence[Series], root: str, last: int) -> HistoryView:
    """`last` runs of each of the newest series; 0: all runs of all series."""
    settings = table("history")
    most = int(settings["shown"]["series"]["value"]) if last else len(series)
    shown = sorted(series[:most], key=_place)
    seen = {run.profile for one in shown for run in one.runs}
    methods = [
        (run, note)
        for run, note in notes_of(found.runs)
        if any(time.profile in seen for time in note.times)
    ]
    return HistoryView(
        root=root,
        shown=tuple((one, rows_of(one, last)) for one in shown),
        total=len(found.runs),
        more_series=len(series) - len(shown),
        least_runs=int(settings["change_points"]["least_runs"]["value"]),
        methods=tuple(methods),
        damaged=found.damaged,
    )
