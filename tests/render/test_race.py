"""What a race shows: figures by hand, doubts, and nothing wider than 100 columns."""

import json
from typing import Any

import pytest
from tests.support.comparisons import WHERE

from mla_var3.core.comparison import Side
from mla_var3.core.race import Contender, Race, RaceLeg, Round
from mla_var3.core.timing import WarmUp
from mla_var3.measure import race
from mla_var3.render.race_report import render_race_report
from mla_var3.render.race_screen import render_race, render_race_json


def race_of(*times_us: float, mhz: float | None = None, **more: Any) -> Race:
    """Eight rounds in which each contender takes its time."""
    order = list(range(len(times_us)))
    legs = tuple(
        RaceLeg(contender=at, samples_ns=(1e3 * times_us[at],) * 3, mhz=mhz)
        for at in order + order[::-1]
    )
    names = ("v0", "v1", "a very long label of a very long contender of the race")
    who = tuple(
        Contender(
            side=Side(label=name, kernel="flash_mla", version=name, source_sha256="a" * 64),
            relative_error=2.1e-3,
        )
        for name in names[: len(times_us)]
    )
    fields: dict[str, Any] = {
        "created": "2026-12-01T10:15:02Z",
        "contenders": who,
        "rounds": (Round(legs=legs),) * 8,
        "conditions": WHERE,
        "settings": race.settings(),
    }
    return Race(**fields | more)


def test_the_screen() -> None:
    """1500 over 1000 µs is 1.5, with an interval that is this very value: all rounds are alike."""
    text = render_race(race_of(1000.0, 1500.0, mhz=1392.0), "out/profiles/race/k/p/t")
    lines = text.splitlines()
    assert lines[0] == (
        "race of 2: flash_mla · b=32 s=16 t=4096 bfloat16 · NVIDIA H200 · clocks not locked"
        " · cache cold"
    )
    assert "8 rounds there and back, one process · ratios to the first, 99.2 % interval" in text
    rows = [line.split() for line in lines if line.startswith("flash_mla")]
    assert rows[0] == "flash_mla v0 1000.0 1.000 first 1392 [1392–1392] 2.1e-03".split()
    assert rows[1] == "flash_mla v1 1500.0 1.500 [1.500, 1.500] 1392 [1392–1392] 2.1e-03".split()
    assert "report    out/profiles/race/k/p/t/report.md" in lines
    assert "not told apart" not in text


def test_doubts_are_said_and_nothing_is_too_wide() -> None:
    unsettled = WarmUp(calls=3, busy_ns=1e6, settled=False)
    made = race_of(
        1000.0,
        1000.0,
        12345678.9,
        warm_up=unsettled,
        warnings=("shared GPU: other processes compute on it",),
        missing={"clock of each leg": "nvidia-smi is not here"},
    )
    text = render_race(made)
    assert max(map(len, text.splitlines())) <= 100
    for note in (
        "the warm-up did not settle",
        "shared GPU: other processes compute on it",
        "not told apart from the first: flash_mla v1",
        "SM MHz n/a: nvidia-smi is not here",
    ):
        assert f"note      {note}\n" in text
    assert "0 MHz" not in text and "nan" not in text


def test_what_a_contender_is_spared_is_said() -> None:
    made = race_of(1000.0, 900.0)
    first, second = made.contenders
    spared = Contender(side=second.side, spared="no paged cache")
    who = (first, spared)
    text = render_race(
        Race(**{f: getattr(made, f) for f in made.__struct_fields__} | {"contenders": who})
    )
    assert "note      flash_mla v1 is spared: no paged cache\n" in text


def test_the_report_holds_the_same_figures() -> None:
    text = render_race_report(race_of(1000.0, 1500.0))
    assert "| flash\\_mla v1 | 1500.0 | 1.500 | \\[1.500, 1.500] | n/a | 2.1e-03 |" in text
    assert "| flash\\_mla v1 | v1 | n/a | n/a | aaaaaaaaaaaa | n/a |" in text
    assert "| power limit | 700 W |" in text
    assert "| rounds | 8 round |" in text


def test_the_document() -> None:
    found = json.loads(render_race_json(race_of(1000.0, 1500.0)))
    assert found["format"] == "mla_var3/race-standings"
    assert [each["ratio"] for each in found["standings"]] == pytest.approx([1.0, 1.5])
    assert "rounds" not in found  # the raw samples stay in race.json
