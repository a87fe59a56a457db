"""Series of stored runs: what is held against what, and what stands before a percentage (H13)."""

from pathlib import Path

import pytest
from tests.support.histories import stored

from mla_var3.analyse.history import rows_of, series_of
from mla_var3.core.history import Run
from mla_var3.core.history_file import read_run
from mla_var3.core.record import Check, Profile
from mla_var3.core.record_file import to_files
from mla_var3.render.history_table import change_text


def run_of(profile: Profile, name: str = "") -> Run:
    def none(position: int) -> bytes:
        raise FileNotFoundError

    return read_run(to_files(profile)["profile.json"], name or profile.created, none)


def told(*profiles: Profile) -> list[str]:
    """What the table says of each run after the first."""
    (series,) = series_of(map(run_of, profiles))
    return [change_text(row.against) for row in rows_of(series) if row.against]


def test_tiling_and_clock_stand_before_the_percentage() -> None:
    """H13: 100 µs at 1.6 GHz, then 90 µs with another tiling at 1.76 GHz."""
    (text,) = told(stored(0, 100.0), stored(1, 90.0, tiling=128, clock_ghz=1.76))
    assert text == (
        "tiling differs (k), SM clock differs by +10.0 %: −10.0 % "
        "(within the 10 % of separate runs)"
    )


def test_another_source_stands_before_the_percentage() -> None:
    (text,) = told(stored(0, 100.0), stored(1, 80.0, source="b" * 64))
    assert text == "source differs (aaaaaaaa → bbbbbbbb): −20.0 %"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"driver": "590.1"}, "driver: 580 → 590"),
        ({"locked": True}, "clocks: not locked → locked"),
    ],
)
def test_unlike_conditions_have_no_percentage(change: dict[str, object], words: str) -> None:
    (text,) = told(stored(0, 100.0), stored(1, 50.0, **change))
    assert text == f"not comparable: {words}"
    assert "%" not in text


def test_a_plain_change_and_one_within_the_noise() -> None:
    assert told(stored(0, 100.0), stored(1, 90.0), stored(2, 91.0)) == [
        "−10.0 %",
        "+1.1 % (within the 3 % of separate runs)",
    ]


def test_versions_problems_and_devices_are_series_of_their_own() -> None:
    runs = [
        stored(0, 100.0),
        stored(1, 50.0, version="v2"),
        stored(2, 10.0, params={"b": 1}),
        stored(3, 99.0),
    ]
    found = series_of(map(run_of, runs))
    assert [(s.key.version, dict(s.key.params).get("b"), len(s.runs)) for s in found] == [
        ("v1", 32, 2),
        ("v1", 1, 1),
        ("v2", 32, 1),
    ]


def test_a_run_without_a_time_is_passed_over() -> None:
    failed = stored(
        1, 1.0, status="CHECK_FAILED", stages=(), end_to_end=None, failure="wrong", mode="event",
        check=Check(passed=False),
    )  # fmt: skip
    timed = [run_of(stored(0, 100.0)), run_of(stored(2, 120.0))]
    (series,) = series_of([*timed, run_of(failed)])
    rows = rows_of(series)
    assert [row.run.status for row in rows] == ["OK", "CHECK_FAILED", "OK"]
    assert [row.against and change_text(row.against) for row in rows] == [None, None, "+20.0 %"]


def test_the_first_shown_run_is_held_against_the_hidden_one_before() -> None:
    (series,) = series_of(run_of(stored(n, 100.0 * 1.1**n)) for n in range(5))
    rows = rows_of(series, last=2)
    assert [row.run.created for row in rows] == [run.created for run in series.runs[3:]]
    assert [change_text(row.against) for row in rows if row.against] == ["+10.0 %", "+10.0 %"]


def series_with(change_at: int, count: int = 40, **after: object) -> list[Run]:
    """100 µs with a little noise, then 110 µs."""
    return [
        run_of(
            stored(n, (100.0 if n < change_at else 110.0) + 0.1 * (n % 7),
                   **(after if n >= change_at else {}))
        )
        for n in range(count)
    ]  # fmt: skip


def test_a_change_point_names_what_changed_with_it() -> None:
    (series,) = series_of(series_with(18, tiling=32))
    (point,) = series.changes
    assert (point.first_after, point.runs_before, point.runs_after) == (18, 18, 22)
    assert point.created == series.runs[18].created == "2026-01-01T00:18:00+00:00"
    assert point.notes == ("tiling differs (k)",)
    # Medians by hand: 18 of 0..6 tenths and 22 of them, both in the middle at 0.3 or next to it.
    assert point.before_ns == pytest.approx(100.2e3, abs=150)
    assert point.change_pct == pytest.approx(9.98, abs=0.2)


def test_runs_of_another_driver_make_no_change_point() -> None:
    (series,) = series_of(series_with(20, driver="590.1"))
    assert series.changes == ()
    (series,) = series_of(series_with(20))
    assert len(series.changes) == 1


def test_nine_runs_after_a_change_make_none() -> None:
    (series,) = series_of(series_with(31))
    assert series.changes == ()


def test_the_shipped_profiles_are_read_as_the_whole_record_reads(tmp_path: Path) -> None:
    runs = [run_of(stored(0, 100.0, status="PARTIAL", failure="cut"))]
    assert runs[0].duration_ns == 1e5 and runs[0].status == "PARTIAL"
