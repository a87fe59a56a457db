"""A folder of the store appears whole or not at all."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mla_var3.core.errors import MachineCannot
from mla_var3.runtime.diagnosing import stem
from mla_var3.runtime.json_lines import line_of
from mla_var3.runtime.store import new_folder, timestamp


def test_nothing_is_left_after_a_failure(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), new_folder(tmp_path / "a") as folder:
        (folder.work / "half").touch()
        assert folder.work.name.startswith(".incomplete-")
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_is_taken_gets_a_number(tmp_path: Path) -> None:
    for name in ("a", "a-2", "a-3"):
        with new_folder(tmp_path / "a") as folder:
            (folder.work / "file").write_text(name)
        assert folder.final == tmp_path / name
    assert [(tmp_path / name / "file").read_text() for name in ("a", "a-2", "a-3")] == [
        "a",
        "a-2",
        "a-3",
    ]
    assert (tmp_path / "a").stat().st_mode & 0o755 == 0o755


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_two_processes_never_share_a_name(tmp_path: Path) -> None:
    children = []
    for number in range(8):
        child = os.fork()
        if child == 0:
            try:
                with new_folder(tmp_path / "a") as folder:
                    (folder.work / str(number)).touch()
            finally:
                os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    assert len(list(tmp_path.iterdir())) == 8
    assert {file.name for file in tmp_path.glob("*/*")} == set("01234567")


def test_a_place_that_cannot_be_written_is_exit_3(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(MachineCannot, match="cannot write below file") as caught:
        with new_folder(tmp_path / "file" / "a"):
            pass
    assert caught.value.exit_code == 3


def test_the_timestamp_is_utc() -> None:
    assert timestamp(datetime(2026, 12, 1, 10, 15, 2, tzinfo=UTC)) == "20261201-101502"


@pytest.mark.parametrize(
    "name", ["zoo.ncu-rep", "zoo.ncu-rep.xz", "zoo.ncu-rep.gz", "zoo.csv", "zoo.csv.gz", "zoo"]
)
def test_the_stem_loses_every_ending(name: str) -> None:
    assert stem(name) == "zoo"


@pytest.mark.parametrize(
    ("path", "line"),
    [("", 1), (".a", 2), (".b", 3), (".b[0]", 4), (".b[1].c", 5), (".b[7]", 3), (".z", 1)],
)
def test_the_line_of_a_json_value(path: str, line: int) -> None:
    assert line_of('{\n "a": "x,y:{",\n "b": [\n  1,\n  {"c": null}]}', path) == line
