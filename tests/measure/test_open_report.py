"""A report of few launches stays open for its details; another one, or a changed file, does not."""

from pathlib import Path

import pytest
from tests.support.fake_report import FakeLaunch, FakeModule

from mla_var3.measure.ncu_reader import module
from mla_var3.measure.ncu_reader.module import open_report


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_last", [])


class _Library(FakeModule):
    opened = 0

    def load_report(self, path: str) -> FakeModule:
        self.opened += 1
        return self


def test_what_is_kept_is_opened_once_for_the_same_bytes(tmp_path: Path) -> None:
    library = _Library([[FakeLaunch(), FakeLaunch()]])
    path, copy = tmp_path / "a", tmp_path / "b"
    path.write_bytes(b"report")
    copy.write_bytes(b"report")
    kept = open_report(library, path, keep=True)
    assert open_report(library, copy) is kept and library.opened == 1
    first = kept.range_by_idx(0).action_by_idx(1)
    assert kept.range_by_idx(0).action_by_idx(1) is first
    assert kept.num_ranges() == 1 and kept.range_by_idx(0).num_actions() == 2

    copy.write_bytes(b"another")
    assert open_report(library, copy) is not kept and library.opened == 2
    other = _Library([[FakeLaunch()]])
    assert open_report(other, path) is other and other.opened == 1


def test_without_keep_nothing_is_held(tmp_path: Path) -> None:
    library = _Library([[FakeLaunch()]])
    (tmp_path / "a").write_bytes(b"report")
    open_report(library, tmp_path / "a")
    open_report(library, tmp_path / "a")
    assert library.opened == 2 and module._last == []
