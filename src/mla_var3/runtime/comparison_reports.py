"""The reports of a comparison or a race from the file of its folder alone."""

from pathlib import Path
from typing import NamedTuple

from mla_var3.analyse.comparison import exit_code, judge
from mla_var3.core import artifacts
from mla_var3.core.comparison import load_comparison
from mla_var3.core.errors import MachineCannot
from mla_var3.core.race import load_race
from mla_var3.render.comparison_machine import render_comparison_json
from mla_var3.render.comparison_report import render_comparison_report
from mla_var3.render.comparison_screen import render_comparison
from mla_var3.render.race_report import render_race_report
from mla_var3.render.race_screen import render_race, render_race_json
from mla_var3.runtime.comparison_files import is_comparison

__all__ = ["Shown", "is_comparison", "show_stored", "write_comparison_reports"]

Steps = tuple[tuple[str, str], ...]


class Shown(NamedTuple):
    """A stored comparison or race as the command shows it."""

    text: str
    exit_code: int


def write_comparison_reports(folder: Path, to: Path | None = None) -> tuple[str, ...]:
    """Make `report.md` again, into the folder or into `to`; the names of what was written."""
    from mla_var3.runtime.reporting import replace_file

    if (folder / artifacts.COMPARISON).is_file():
        comparison = load_comparison(folder / artifacts.COMPARISON)
        text = render_comparison_report(comparison, judge(comparison))
    else:
        text = render_race_report(load_race(folder / artifacts.RACE))
    place = to or folder
    try:
        place.mkdir(parents=True, exist_ok=True)
        replace_file(place / artifacts.REPORT_MD, text.encode())
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise MachineCannot(f"cannot write into {place.name}: {why}; give --out_dir") from error
    return (artifacts.REPORT_MD,)


def show_stored(folder: Path, place: str, as_json: bool, steps: Steps = ()) -> Shown:
    """The screen, or the JSON document, of what is stored; its code without `--gate`."""
    if (folder / artifacts.COMPARISON).is_file():
        comparison = load_comparison(folder / artifacts.COMPARISON)
        verdict = judge(comparison)
        code = exit_code(verdict)
        if as_json:
            return Shown(render_comparison_json(comparison, verdict, code), code)
        return Shown(render_comparison(comparison, verdict, place, steps), code)
    race = load_race(folder / artifacts.RACE)
    return Shown(render_race_json(race) if as_json else render_race(race, place, steps), 0)
