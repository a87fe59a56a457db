"""The reports of a timeline: made again from two files byte for byte, wherever they lie."""

import shutil
from pathlib import Path

import pytest
from tests.support.timeline_views import view_of
from tests.support.timelines import concurrent_plan, recorded

from mla_var3.core import artifacts
from mla_var3.core.errors import NoUsableData
from mla_var3.core.record import SourceFile
from mla_var3.core.record_file import save_profile
from mla_var3.core.timeline import Timeline, save_timeline
from mla_var3.runtime import timeline_reports
from mla_var3.runtime.diagnosing import diagnose_file
from mla_var3.runtime.report_makers import Shown
from mla_var3.runtime.reporting import make_reports, screen_of, write_reports

MADE = {
    artifacts.REPORT_MD,
    artifacts.TIMELINE_SVG,
    artifacts.TIMELINE_JSON,
    artifacts.KERNELS_CSV,
    artifacts.LAUNCHES_CSV,
    artifacts.STREAMS_CSV,
    artifacts.RANGES_CSV,
    artifacts.GAPS_CSV,
    artifacts.OVERLAP_CSV,
}


def stored(timeline: Timeline, folder: Path) -> Path:
    folder.mkdir()
    save_timeline(timeline, folder / artifacts.SPANS)
    source = SourceFile(file="one.sqlite", kind="nsys-sqlite", bytes=1, sha256="0" * 64)
    save_profile(view_of(timeline, source=source).profile, folder)
    return folder


def made(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name in MADE}


def test_every_file_is_made_again_byte_for_byte_elsewhere(tmp_path: Path) -> None:
    folder = stored(recorded("concurrent"), tmp_path / "first")
    write_reports(folder)
    first = made(folder)
    assert first.keys() == MADE
    other = tmp_path / "other"
    other.mkdir()
    for name in (artifacts.PROFILE, artifacts.SPANS):
        shutil.copy(folder / name, other / name)
    timeline_reports._last.clear()
    write_reports(other)
    assert made(other) == first


def test_the_groups_of_a_plan_come_from_the_spans(tmp_path: Path) -> None:
    folder = stored(concurrent_plan(), tmp_path / "plan")
    reports = write_reports(folder)
    assert "matmul + copy: overlapped" in reports.report
    assert reports.contract is not None and reports.contract.bottleneck == "Compute"
    assert (folder / artifacts.CONTRACT_MD).is_file()
    screen = screen_of(diagnose_file(folder), folder, Shown(place="here"))
    assert "here/report.md" in screen


def test_other_spans_are_analysed_anew(tmp_path: Path) -> None:
    one = stored(concurrent_plan(), tmp_path / "one")
    two = stored(concurrent_plan(together=0), tmp_path / "two")
    assert "overlapped" in make_reports(one).report
    assert "matmul + copy: serialised" in make_reports(two).report
    assert "matmul + copy: overlapped" in make_reports(one).report


def test_a_profile_without_its_spans_is_invalid(tmp_path: Path) -> None:
    folder = stored(recorded("concurrent"), tmp_path / "p")
    (folder / artifacts.SPANS).unlink()
    with pytest.raises(NoUsableData, match=r"INVALID p: no spans\.json"):
        make_reports(folder)
    (folder / artifacts.SPANS).write_text("{}")
    with pytest.raises(NoUsableData, match="is no timeline"):
        make_reports(folder)
