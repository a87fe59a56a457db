"""What `mla race` shows: a row a contender with its ratio to the first."""

from typing import Any, Literal

import msgspec

from mla_var3.core.comparison import Conditions
from mla_var3.core.race import Contender, Race, Standing, standings
from mla_var3.render.layout import WIDTH, flow, paragraph
from mla_var3.render.race_table import HEADINGS, headline, notes, rows
from mla_var3.render.static_screen import commands

FORMAT: Literal["mla_var3/race-standings"] = "mla_var3/race-standings"
COLUMN = 10
GAP = "  "


class RaceDocument(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What `mla race --json` prints; `contenders` and `standings` are in the same order."""

    format: Literal["mla_var3/race-standings"]
    schema_version: Literal[1]
    contenders: tuple[Contender, ...]
    standings: tuple[Standing, ...]
    conditions: Conditions
    warnings: tuple[str, ...] = ()
    missing: dict[str, str] = {}


def render_race(race: Race, folder: str = "", next_steps: tuple[tuple[str, str], ...] = ()) -> str:
    """The whole screen as plain text, at most 100 columns wide."""
    found = standings(race)
    lines = [*flow(headline(race, found), indent=GAP), ""]
    table = [HEADINGS, *rows(race, found)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for name, *figures in table:
        cells = (cell.rjust(width) for cell, width in zip(figures, widths[1:], strict=True))
        lines.append(f"{name.ljust(widths[0])}{GAP}{GAP.join(cells)}"[:WIDTH].rstrip())
    lines.append("")
    for note in notes(race, found):
        first, *rest = paragraph("", note, column=COLUMN)
        lines += [f"{'note'.ljust(COLUMN)}{first.strip()}", *rest]
    if folder:
        lines += ["", f"{'report'.ljust(COLUMN)}{folder}/report.md", f"{' ' * COLUMN}(race.json)"]
    steps = commands(next_steps, COLUMN)
    if steps:
        lines += [f"{'next'.ljust(COLUMN)}{steps[0].strip()}", *steps[1:]]
    return "\n".join(lines) + "\n"


def render_race_json(race: Race) -> str:
    """The standings for programs on one line, without the raw samples."""
    document = RaceDocument(
        format=FORMAT,
        schema_version=1,
        contenders=race.contenders,
        standings=standings(race),
        conditions=race.conditions,
        warnings=race.warnings,
        missing=race.missing,
    )
    return msgspec.json.encode(document).decode() + "\n"


def json_schema() -> dict[str, Any]:
    """The published JSON Schema of that document."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"{FORMAT} 1"}
    return head | msgspec.json.schema(RaceDocument)
