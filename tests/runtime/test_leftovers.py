"""What killed processes leave is swept, what was measured is kept, and nobody's work is touched."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mla_var3.core import artifacts
from mla_var3.runtime.indexing import write_index
from mla_var3.runtime.leftovers import MARK, leftovers, raw_files, sweep
from mla_var3.runtime.store import new_folder, stored_profiles

PLACE = Path("event") / "k" / "b1"
FILLER = """
import sys, time
from pathlib import Path
from mla_var3.runtime.store import new_folder
with new_folder(Path(sys.argv[1])) as folder:
    for name in sys.argv[2:]:
        (folder.work / name).write_text("x")
    print(folder.work.name, flush=True)
    time.sleep(60)
"""


@pytest.fixture
def fill() -> Iterator[object]:
    """`fill(place, *files)`: a process that fills a folder there, and the folder."""
    running: list[subprocess.Popen[str]] = []

    def start(place: Path, *files: str) -> tuple[subprocess.Popen[str], Path]:
        words = [sys.executable, "-c", FILLER, str(place), *files]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        running.append(process)
        assert process.stdout is not None
        return process, place.parent / process.stdout.readline().strip()

    yield start
    for process in running:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()


def test_a_folder_of_a_killed_process_is_removed_by_the_next(fill, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    process, left = fill(tmp_path / "a", "worker-job.json", "empty.json")
    kill(process)
    assert (left / MARK).is_file()
    with new_folder(tmp_path / "b"):
        assert not left.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["b"]
    assert not (tmp_path / "b" / MARK).exists()


def test_what_was_measured_is_kept_and_reported(fill, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    process, left = fill(tmp_path / PLACE / "t", "worker-job.json", "timing.json", "ncu.log")
    assert [(found.folder, found.in_use) for found in leftovers(tmp_path)] == [(left, True)]
    kill(process)
    with new_folder(tmp_path / PLACE / "u") as folder:
        (folder.work / artifacts.PROFILE).write_text("{}")
    assert {path.name for path in left.iterdir()} == {"timing.json", "ncu.log"}
    assert [(f.folder, f.raw, f.in_use) for f in leftovers(tmp_path)] == [
        (left, ("ncu.log", "timing.json"), False)
    ]
    assert [stored.time for stored in stored_profiles(tmp_path)] == ["u"]
    page = write_index(tmp_path)
    assert page is not None
    folder_text = (PLACE / left.name).as_posix().replace("_", "\\_")
    assert f"\n- {folder_text}: ncu.log, timing.json\n" in page.read_text()


def test_a_living_process_keeps_its_folder(fill, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    process, used = fill(tmp_path / PLACE / "t", "worker-job.json")
    with new_folder(tmp_path / PLACE / "u"):
        sweep(used.parent)
    assert (used / "worker-job.json").is_file() and process.poll() is None
    page = write_index(tmp_path)
    assert page is not None and "in use: a run fills it now" in page.read_text()


def test_a_stopped_process_keeps_its_folder_too(fill, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    process, used = fill(tmp_path / "a")
    process.send_signal(signal.SIGSTOP)
    time.sleep(0.05)
    sweep(tmp_path)
    assert used.exists()


def test_what_is_not_ours_is_left_alone(tmp_path: Path) -> None:
    other = tmp_path / ".incomplete-download"
    other.mkdir()
    (other / "file").touch()
    kept = tmp_path / ".incomplete-20260101-120000"
    kept.mkdir()
    (kept / "worker.log").write_text("said")
    with new_folder(tmp_path / "a"):
        pass
    assert (other / "file").exists() and (kept / "worker.log").exists()


def test_without_locks_nothing_is_swept(
    fill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # type: ignore[no-untyped-def]
    process, left = fill(tmp_path / "a")
    kill(process)
    monkeypatch.setattr("mla_var3.runtime.leftovers.fcntl", None)
    with new_folder(tmp_path / "b"):
        assert left.exists()
    assert (tmp_path / "b").is_dir()


def test_an_empty_file_is_no_raw_data(tmp_path: Path) -> None:
    (tmp_path / "ncu.log").touch()
    (tmp_path / "annotation.ncu-rep").write_bytes(b"x")
    (tmp_path / "profile.json").write_bytes(b"x")
    assert raw_files(tmp_path) == ("annotation.ncu-rep",)


def test_an_empty_folder_without_a_mark_is_removed_when_it_is_old(tmp_path: Path) -> None:
    """A process was killed between making the folder and marking it."""
    names = (".incomplete-ab12cd_x", ".incomplete-young_12", ".incomplete-mine")
    for name in names:
        (tmp_path / name).mkdir()
    for name in (names[0], names[2]):
        os.utime(tmp_path / name, (0, 0))
    sweep(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names[1:])
