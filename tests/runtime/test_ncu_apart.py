"""Beside Triton's native code reports are read by another process; what failed later is kept."""

import contextlib
import sys
import types
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from tests.support.deep_ncu import options, with_worker
from tests.support.range_plans import RangesPlan

from mla_var3.measure.ncu_reader import part
from mla_var3.runtime import ncu_files_part
from mla_var3.runtime.profiling import ncu
from mla_var3.runtime.profiling.ncu import ncu_profile_plan

Recording = Callable[[str], Path]
TRITON = "triton._C.libtriton"


def _files(home: Path, recording: Recording) -> dict[str, str]:
    """Every text of a profile that ncu mode makes in `home`."""
    home.mkdir()
    with contextlib.chdir(home):
        tool = with_worker(home / "tool", recording("attention_full"), '{"reasons": {}}', files={})
        folder = home / ncu_profile_plan(RangesPlan(), options=options(tool)).out_dir
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.suffix in (".md", ".csv", ".ptx")
    }


def test_beside_triton_another_process_reads_and_makes_the_same_files(
    tmp_path: Path, recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delitem(sys.modules, TRITON, raising=False)
    plain = _files(tmp_path / "plain", recording)

    def crash(*words: object, **more: object) -> None:
        raise AssertionError("the library was used in the process that holds Triton")

    monkeypatch.setitem(sys.modules, TRITON, types.ModuleType(TRITON))
    monkeypatch.setattr(part, "read_part", crash)
    monkeypatch.setattr(ncu_files_part, "make", crash)
    monkeypatch.setattr("mla_var3.runtime.ncu_files.make", crash)
    apart = _files(tmp_path / "apart", recording)
    assert "source/fa/annotated.md" in plain and "sass/mm.csv" in plain
    same = plain.keys() & apart.keys()
    assert same == plain.keys() == apart.keys()
    assert [name for name in same if name.startswith(("source", "sass"))]
    assert all(plain[name] == apart[name] for name in same if name.startswith(("source", "sass")))


def test_what_ncu_recorded_outlives_a_fault_of_ours(
    tmp_path: Path, recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)

    def fault(profile: object, folder: Path) -> Mapping[str, str]:
        raise AttributeError("no such thing")

    monkeypatch.setattr(ncu, "write_details", fault)
    source = recording("attention_full")
    tool = with_worker(tmp_path / "tool", source, '{"reasons": {}}', files={})
    with pytest.raises(AttributeError, match=r"no such thing; kept: .*incomplete-mine"):
        ncu_profile_plan(RangesPlan(), out_dir=tmp_path / "mine", options=options(tool))
    kept = tmp_path / ".incomplete-mine" / "profile.ncu-rep"
    assert kept.read_bytes() == source.read_bytes()
    assert not (tmp_path / "mine").exists()
