"""ncu as it fails, through the whole mode: one line, its exit code, the log kept, no profile."""

import stat
from pathlib import Path

import pytest
from tests.measure.test_tool_faults import CODE, NOTHING, PERMISSION, QUOTED, TRACEBACK
from tests.support.annotating import H200
from tests.support.range_plans import RangesPlan

from mla_var3.core import artifacts
from mla_var3.core.errors import MlaError
from mla_var3.measure import tool_faults
from mla_var3.runtime.profiling.ncu import NcuOptions, ncu_profile_plan
from mla_var3.runtime.store import stored_profiles

NCU = """#!/bin/sh
case $1 in --version) echo "Version 2025.3.1.0 (build 1)"; exit 0 ;; esac
echo called >>"${0%/*}/calls"
/bin/cat "${0%/*}/text"
exit 9
"""
FIRST = {row[0].split()[0]: row for row in reversed(QUOTED)}
"""One text of each kind, the plainest."""
ROWS = [row[1:] for row in FIRST.values()]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(tool_faults, "place_here", lambda: "")


def fails(folder: Path, text: str) -> MlaError:
    """The error of a run under an ncu that prints this and exits with 9."""
    tool = folder / "bin" / "ncu"
    tool.parent.mkdir()
    tool.write_text(NCU)
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    (tool.parent / "text").write_text(text)
    given = NcuOptions(gpu=H200, environment={"PATH": str(tool.parent)})
    with pytest.raises(MlaError) as caught:
        ncu_profile_plan(RangesPlan(), options=given)
    return caught.value


@pytest.mark.parametrize(("text", "code", "words"), ROWS, ids=list(FIRST))
def test_the_cause_the_advice_and_nothing_that_looks_complete(
    text: str, code: int, words: list[str], tmp_path: Path
) -> None:
    error = fails(tmp_path, text)
    assert error.exit_code == code
    line = str(error)
    assert words[0] in line and "\n" not in line and "Traceback" not in line
    assert stored_profiles(artifacts.PROFILES) == []
    (log,) = tmp_path.rglob("ncu.log")
    assert log.read_text() == text
    assert f"kept: {log.parent.relative_to(tmp_path).as_posix()}" in line


def test_the_permission_comes_before_what_the_program_died_of(tmp_path: Path) -> None:
    text = PERMISSION.format(device=0) + TRACEBACK + CODE.format(code=1) + NOTHING
    error = fails(tmp_path, text)
    assert error.exit_code == 3 and "RuntimeError" not in str(error)


def test_a_counter_that_stays_unknown_ends_it_after_one_more_try(tmp_path: Path) -> None:
    name = "l1tex__m_xbar2l1tex_read_bytes.sum"
    error = fails(tmp_path, f"==ERROR== Failed to find metric regex:^{name}\n")
    assert error.exit_code == 5 and name in str(error)
    assert (tmp_path / "bin" / "calls").read_text().count("called") == 2
