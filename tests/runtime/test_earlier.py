"""Which earlier profile a new one is held against: of the store, and beside a folder of its own."""

from pathlib import Path

import pytest
from tests.support.fake_plan import FakePlan
from tests.support.records import simple

from mla_var3.core.params import problem_folder
from mla_var3.core.record import Profile
from mla_var3.core.record_file import save_profile
from mla_var3.runtime.earlier import last_profile
from mla_var3.runtime.problem_files import identity

PLAN = FakePlan(b=2)
PARAMS = problem_folder(PLAN)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def store(folder: str, hour: int, plan: FakePlan = PLAN, mode: str = "annotation") -> None:
    save_profile(
        Profile(
            mode=mode,  # type: ignore[arg-type]
            status="OK",
            stages=simple().stages,
            plan=identity(plan),
            created=f"2026-12-01T{hour:02d}:00:00+00:00",
        ),
        Path(folder),
    )


def last(out_dir: str = "") -> tuple[str, int] | None:
    """Its folder, and the hour at which it was made."""
    found = last_profile(PLAN, "annotation", Path(out_dir) if out_dir else None)
    return (found[1], int(found[0].created[11:13])) if found else None


def test_without_out_dir_only_the_store_counts() -> None:
    assert last() is None
    store("runs/a", 9)
    assert last() is None
    store(f"out/profiles/annotation/fake_v1/{PARAMS}/t1", 7)
    store(f"out/profiles/annotation/fake_v1/{PARAMS}/t2", 8)
    assert last() == (f"annotation/fake_v1/{PARAMS}/t2", 8)


def test_with_out_dir_the_newest_of_store_and_neighbours() -> None:
    store("runs/a", 9)
    store("runs/b", 8)
    assert last("runs/c") == ("a", 9)
    store(f"out/profiles/annotation/fake_v1/{PARAMS}/t", 10)
    assert last("runs/c") == (f"annotation/fake_v1/{PARAMS}/t", 10)
    store("runs/d", 11)
    assert last("runs/c") == ("d", 11)
    assert last("elsewhere/c") == (f"annotation/fake_v1/{PARAMS}/t", 10)


def test_neighbours_of_another_problem_mode_or_state_are_passed_over() -> None:
    store("runs/other-problem", 9, FakePlan(b=3))
    store("runs/other-mode", 9, mode="event")
    store("runs/.incomplete-x", 9)
    Path("runs/damaged").mkdir()
    Path("runs/damaged/profile.json").write_text("{")
    Path("runs/notes.txt").write_text("mine")
    assert last("runs/c") is None
    store("runs/right", 1)
    assert last("runs/c") == ("right", 1)


class Next(FakePlan):
    VERSION = "v2"


def test_the_own_version_comes_before_a_newer_one_of_another() -> None:
    store("runs/v2", 9, Next(b=2))
    assert last("runs/c") == ("v2", 9)
    store("runs/v1", 5)
    assert last("runs/c") == ("v1", 5)


def test_a_store_of_ones_own_is_searched_as_a_store() -> None:
    store(f"mine/annotation/fake_v2/{PARAMS}/t", 9, Next(b=2))
    place = f"mine/annotation/fake_v1/{PARAMS}"
    assert last(f"{place}/u") == (f"annotation/fake_v2/{PARAMS}/t", 9)
    store(f"{place}/t", 3)
    assert last(f"{place}/u") == (f"annotation/fake_v1/{PARAMS}/t", 3)
