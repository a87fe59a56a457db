"""`mla report` as a user types it: a profile made again, the page of all, and what is refused."""

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from tests.support.fake_plan import FakePlan

from mla_var3.cli import main as cli
from mla_var3.core import artifacts
from mla_var3.core.record_file import load_profile, save_profile
from mla_var3.render.profile_index import IndexEntry, render_index
from mla_var3.render.profile_list import StoredProfile
from mla_var3.runtime.profiling.imported import import_report
from mla_var3.runtime.profiling.static import static_profile_plan

MADE = "made again: report.md, contract.md, contract.json\n"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, recording: Callable[[str], Path]) -> Path:
    """A store with an import, a static profile and a damaged one."""
    root = tmp_path_factory.mktemp("store") / "profiles"
    import_report(recording("zoo_a"), root / "ncu" / "zoo_a" / "imported" / "20261201-101502")
    plan = FakePlan(b=32, s=16)
    static_profile_plan(
        plan, root / "static" / "fake_v1" / "b32_s16" / "20261201-101503", target="h200"
    )
    (root / "ncu" / "gone" / "imported" / "20261201-101504").mkdir(parents=True)
    return root


def test_the_screen_and_what_was_made(
    store: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(store)
    place = "static/fake_v1/b32_s16/20261201-101503"
    (store / place / artifacts.REPORT_MD).write_text("spoilt")
    assert cli.main(["report", place]) == 0
    out, err = capfd.readouterr()
    assert err == MADE
    assert out.splitlines()[0].startswith("fake v1 · cutile · b=32 s=16 ")
    assert f"\nnext      mla diagnose {place} --contract   gives the contract\n" in out
    assert (store / place / artifacts.REPORT_MD).read_text().startswith("# fake v1: static\n")


@pytest.mark.parametrize(
    "place", ["ncu/zoo_a/imported/20261201-101502", "static/fake_v1/b32_s16/20261201-101503"]
)
def test_what_it_leads_to_works(
    place: str, store: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(store)
    assert cli.main(["report", f"{place}/profile.json", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["format"] == "mla_var3/diagnosis"
    assert cli.main(["report", place]) == 0
    screen = capfd.readouterr().out
    step = f"mla diagnose {place} --contract"
    assert step in screen and "gives the contract\n" in screen
    assert cli.main(step.split()[1:]) == 0
    assert capfd.readouterr().out == (store / place / artifacts.CONTRACT_MD).read_text()
    # Diagnosed, it is the same screen; a record alone still tells what it holds.
    assert cli.main(["diagnose", place]) == 0
    assert capfd.readouterr().out == screen


def test_any_file_of_a_profile_names_it(
    store: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(store)
    place = "static/fake_v1/b32_s16/20261201-101503"
    shown = []
    for name in ("", "/profile.json", "/report.md", "/contract.json"):
        assert cli.main(["report", place + name]) == 0
        shown.append(capfd.readouterr().out)
    assert len(set(shown)) == 1


def test_a_record_without_its_other_files_is_still_diagnosed(
    store: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    static = load_profile(store / "static/fake_v1/b32_s16/20261201-101503")
    save_profile(msgspec.structs.replace(static, mode="event"), tmp_path)
    assert cli.main(["diagnose", str(tmp_path)]) == 0
    assert "event reads no counters" in capfd.readouterr().out
    assert cli.main(["diagnose", str(tmp_path), "--contract"]) == 0
    assert capfd.readouterr().out.startswith("## Profile: ")
    assert cli.main(["report", str(tmp_path)]) == 5
    assert "no timing.json" in capfd.readouterr().err
    assert cli.main(["diagnose", str(tmp_path), "--top=2"]) == 2
    assert "this profile of event shows all its stages" in capfd.readouterr().err


def test_the_page_lists_every_profile_with_links_that_lead_somewhere(
    store: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(store.parent)
    assert cli.main(["report", "--index", "profiles"]) == 0
    assert capfd.readouterr().out == "profiles/index.md\n"
    page = (store / "index.md").read_text()
    assert page.splitlines()[2].startswith("2 stored profiles, 1 damaged.")
    rows = [line for line in page.splitlines() if line.startswith("| ")][1:]
    # Durations by the report: the eight launches of zoo_a; a static profile was never timed.
    assert [row.split(" | ")[6] for row in rows] == ["n/a", "10.0 ms"]
    assert "| fake\\_v1 | b32 s16 | static | 20261201-101503 | OK |" in rows[0]
    links = [part.partition(")")[0] for part in page.split("](")[1:]]
    assert len(links) == 4
    for link in links:
        assert (store / link).is_file(), link
    assert "- ncu/gone/imported/20261201-101504: no profile.json" in page
    # The page itself is no profile.
    assert cli.main(["report", "--index", "profiles"]) == 0
    assert (store / "index.md").read_text() == page


def test_the_page_shows_what_names_hold_as_text() -> None:
    stored = StoredProfile(
        folder="ncu/a b|c/imported/1", mode="ncu", kernel="a b|c", params="imported", time="1"
    )
    page = render_index([IndexEntry(stored=stored, duration_ns=1500.0, reports=("report.md",))])
    assert page.splitlines()[-1] == (
        "| a b\\|c | imported | ncu | 1 |  | n/a | 1.50 µs | "
        "[report.md](ncu/a%20b%7Cc/imported/1/report.md) |"
    )


def test_an_empty_store_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["report", "--index"]) == 0
    assert capfd.readouterr().out.startswith("No profiles are stored here yet.")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        ([], 2, "mla: give a PROFILE: mla report out/profiles/… (mla list shows them)"),
        (["nowhere"], 2, "NOT_FOUND nowhere: no such file; check the path"),
        (["a.ncu-rep"], 2, "mla: a.ncu-rep is no stored profile: mla import a.ncu-rep makes one"),
        (["empty"], 5, "WRONG_TYPE empty: a directory without profile.json; "),
        (["bad.json"], 5, "INVALID bad.json is not a record of mla_var3: "),
        (["--index", "nowhere"], 2, "NOT_FOUND nowhere: no such folder; give the root of a store"),
        (["--index", "--json"], 2, "mla: --index takes no other option: mla report --index [ROOT]"),
        (["--indx"], 2, "mla: unknown option --indx; did you mean --index?"),
    ],
)
def test_what_is_refused_is_one_line(
    words: list[str],
    code: int,
    line: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.ncu-rep").write_bytes(b"x")
    (tmp_path / "bad.json").write_text("{")
    (tmp_path / "empty").mkdir()
    assert cli.main(["report", *words]) == code
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith(line) and err.count("\n") == 1
