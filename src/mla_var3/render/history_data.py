"""`mla history` for programs: CSV and JSON of all runs. Missing is an empty cell, or left out."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Literal

import msgspec

from mla_var3.core.history import ChangePoint, Run, Series, SeriesKey
from mla_var3.render.history_columns import PROFILES, profile_cells

FORMAT: Literal["mla_var3/history"] = "mla_var3/history"


class ChangedSeries(msgspec.Struct, frozen=True, kw_only=True):
    """A series that took another time from some run on."""

    series: SeriesKey
    change_points: tuple[ChangePoint, ...]


class HistoryDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What `mla history --json` prints."""

    format: Literal["mla_var3/history"] = FORMAT
    schema_version: Literal[1] = 1
    profiles: tuple[dict[str, Any], ...]
    """The columns of the table `profiles` that are known, with `tiling`, and `missing` with why."""
    changed: tuple[ChangedSeries, ...]
    damaged: dict[str, str]
    """Folder to the reason."""


def history_csv(runs: Iterable[Run]) -> str:
    """A row a profile, with the columns of the table `profiles`."""
    return to_csv([column.name for column in PROFILES], map(profile_cells, runs))


def history_json(runs: Iterable[Run], series: Iterable[Series], damaged: Mapping[str, str]) -> str:
    """All profiles, change points by series, and damaged folders with the reason."""
    document = HistoryDocument(
        profiles=tuple(map(_object, runs)),
        changed=tuple(
            ChangedSeries(series=one.key, change_points=one.changes)
            for one in series
            if one.changes
        ),
        damaged=dict(damaged),
    )
    return msgspec.json.encode(document).decode() + "\n"


def _object(run: Run) -> dict[str, Any]:
    names = (column.name for column in PROFILES)
    known: dict[str, Any] = {
        k: v for k, v in zip(names, profile_cells(run), strict=True) if v is not None
    }
    known |= {"params": dict(run.plan.params)} if run.plan else {}
    return known | {"tiling": run.tilings, "missing": run.missing}


def answer_json(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """What a query gave: an array of objects, NULL as null."""
    objects = [dict(zip(columns, map(_plain, row), strict=True)) for row in rows]
    return msgspec.json.encode(objects).decode() + "\n"


def to_csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Lines that end in a newline alone; a missing value is an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_plain(cell) for cell in row] for row in rows)
    return text.getvalue()


def _plain(cell: Any) -> Any:
    """Values of DuckDB as JSON and CSV know them."""
    if isinstance(cell, datetime | date):
        return cell.isoformat()
    if isinstance(cell, Decimal):
        return float(cell)
    if cell is None or isinstance(cell, bool | int | float | str):
        return cell
    if isinstance(cell, list | tuple):
        return [_plain(item) for item in cell]
    if isinstance(cell, dict):
        return {str(key): _plain(value) for key, value in cell.items()}
    return str(cell)
