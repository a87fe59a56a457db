"""`report.md` of a race: the standings, who ran, and under which conditions."""

from collections.abc import Iterator

from mla_var3.conf import table
from mla_var3.core import units
from mla_var3.core.race import Race, standings
from mla_var3.render.markdown import md, md_list, md_table
from mla_var3.render.race_table import HEADINGS, headline, name_of, notes, rows

LEGEND = (
    "Ratio: the contender's time over that of the first in the same round, the median of all "
    "rounds with its exact interval; below 1 it is faster. Rounds go there and back and their "
    "start goes round, so that drift falls out. The head of each leg does not count."
)


def render_race_report(race: Race) -> str:
    """The whole report as Markdown."""
    found = standings(race)
    lines = [f"# {md(headline(race, found)[0])}", "", md(" · ".join(headline(race, found)[1:])), ""]
    lines += [*md_table([HEADINGS, *rows(race, found)]), "", LEGEND]
    lines += ["", "## Notes", "", *md_list(notes(race, found))]
    lines += ["", "## Contenders", "", *md_table(list(_contenders(race)))]
    lines += ["", "## Conditions", "", *md_table(list(_conditions(race)))]
    if race.missing:
        gaps = [f"{name}: {reason}" for name, reason in race.missing.items()]
        lines += ["", "## Not done", "", *md_list(gaps)]
    return "\n".join(lines) + "\n"


def _contenders(race: Race) -> Iterator[tuple[str, ...]]:
    yield ("contender", "version", "language", "git revision", "source sha256", "with its imports")
    for at, contender in enumerate(race.contenders):
        side = contender.side
        texts = (side.version or "base", side.language, side.revision)
        hashes = (side.source_sha256[:12], side.code_sha256[:12])
        yield (name_of(race, at), *(text or units.NA for text in (*texts, *hashes)))


def _conditions(race: Race) -> Iterator[tuple[str, str]]:
    yield ("", "")
    for entry in table("compare")["conditions"]:
        value = getattr(race.conditions, entry["key"])
        if entry["key"] != "params" and value is not None:
            text = f"{value:g}" if isinstance(value, float) else str(value)
            yield (entry["label"], f"{text} {entry.get('unit', '')}".strip())
    known = table("compare")["race"]
    for name, figure in race.settings.items():
        unit = known.get(name, {}).get("unit", "")
        yield (name.replace("_", " "), f"{figure:g} {unit}".strip())
