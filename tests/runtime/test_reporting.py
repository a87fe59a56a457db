"""Reports made again from a profile's files are, byte for byte, those that were written first."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.fake_plan import FakePlan

from mla_var3.core import artifacts
from mla_var3.core.errors import KernelFailed, MachineCannot, NoUsableData
from mla_var3.core.record import Profile
from mla_var3.core.record_file import save_profile
from mla_var3.render.contract import Contract
from mla_var3.runtime import report_makers, reporting
from mla_var3.runtime.profiling.imported import import_report
from mla_var3.runtime.profiling.static import static_profile_plan
from mla_var3.runtime.report_makers import Shown
from mla_var3.runtime.reporting import make_reports, render, write_reports

MADE = (artifacts.REPORT_MD, artifacts.CONTRACT_MD, artifacts.CONTRACT_JSON)


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory, recording: Callable[[str], Path]) -> Path:
    folder = tmp_path_factory.mktemp("imported") / "p"
    return import_report(recording("zoo_a"), folder).out_dir


@pytest.fixture(scope="module")
def static(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("static") / "p"
    return static_profile_plan(FakePlan(b=32, s=16), folder, target="h200").out_dir


@pytest.fixture(scope="module")
def event(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch", reason="timed on the CPU with torch")
    from mla_var3.kernel.torch.mla.flash_mla import FlashMla
    from mla_var3.runtime.measuring import MeasureOptions
    from mla_var3.runtime.profiling.event import event_profile_plan

    plan = FlashMla(b=1, h=2, s=1, t=64)
    short = MeasureOptions(device="cpu", settings={"warm_up_busy_s": 0.05, "warm_up_limit_s": 0.2})
    return event_profile_plan(plan, tmp_path_factory.mktemp("event") / "p", None, 20, short).out_dir


@pytest.mark.parametrize(
    "kind", ["imported", "static", pytest.param("event", marks=pytest.mark.kernel)]
)
def test_made_again_anywhere_they_are_the_same_bytes(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    first: Path = request.getfixturevalue(kind)
    copy = tmp_path / "elsewhere" / "copied"
    shutil.copytree(first, copy)
    for name in MADE:
        (copy / name).unlink()
    write_reports(copy)
    for name in MADE:
        assert (copy / name).read_bytes() == (first / name).read_bytes(), name
    assert {p.name for p in copy.iterdir()} == {p.name for p in first.iterdir()}
    assert (copy / artifacts.REPORT_MD).stat().st_mode & 0o777 == 0o644


@pytest.mark.kernel
def test_without_its_samples_a_timed_profile_is_damaged(event: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copied"
    shutil.copytree(event, copy)
    (copy / artifacts.TIMING).unlink()
    with pytest.raises(NoUsableData, match=r"INVALID copied: no timing\.json, all samples"):
        write_reports(copy)


def test_they_can_be_written_elsewhere(imported: Path, tmp_path: Path) -> None:
    before = {p.name: p.stat().st_mtime_ns for p in imported.iterdir()}
    write_reports(imported / artifacts.PROFILE, to=tmp_path / "new")
    made = (*MADE, artifacts.REPORT_VERBOSE_MD)
    assert {p.name for p in (tmp_path / "new").iterdir()} == set(made)
    for name in made:
        assert (tmp_path / "new" / name).read_bytes() == (imported / name).read_bytes()
    assert {p.name: p.stat().st_mtime_ns for p in imported.iterdir()} == before


def test_a_user_s_peaks_are_used(imported: Path, tmp_path: Path) -> None:
    table = (Path(reporting.__file__).parent.parent / "conf" / "devices.json").read_text()
    assert '"dram_gbps": 4800' in table
    mine = tmp_path / "mine.json"
    mine.write_text(table.replace('"dram_gbps": 4800', '"dram_gbps": 4000'))
    for given, peak in ((None, 4800), (mine, 4000)):
        made = make_reports(imported, given).files()[artifacts.REPORT_VERBOSE_MD].decode()
        assert f"| DRAM peak | {peak} GB/s |" in made


def test_the_screen_is_that_of_the_mode(imported: Path, static: Path) -> None:
    steps = (("mla diagnose X --contract", "gives the contract"),)
    screen = render(make_reports(static), static, Shown("X", steps))
    assert screen.startswith("fake v1 · cutile · b=32 s=16 t=4096 ")
    assert "for NVIDIA H200 (sm_90)\n" in screen
    assert "\nreport    X/report.md  (contract.md, profile.json, …)\n" in screen
    assert screen.endswith("next      mla diagnose X --contract   gives the contract\n")
    screen = render(make_reports(imported), imported, Shown("X", steps))
    assert screen.startswith("zoo_a.ncu-rep · NVIDIA H200 · captured by ncu 2025.3.1 · 8 kernels")
    assert screen.endswith("Next: mla diagnose X --contract   gives the contract\n")


def test_a_contract_that_is_no_longer_given_is_taken_away(
    imported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "copied"
    shutil.copytree(imported, copy)

    def none(*_: object) -> Contract:
        raise NoUsableData("no stage can be classified")

    monkeypatch.setitem(
        report_makers.MAKERS, "ncu", report_makers.MAKERS["ncu"]._replace(contract=none)
    )
    reports = write_reports(copy)
    assert reports.no_contract == "no stage can be classified"
    kept = {path.name for path in imported.iterdir()}
    assert {p.name for p in copy.iterdir()} == kept - {
        artifacts.CONTRACT_MD,
        artifacts.CONTRACT_JSON,
    }


def test_a_failed_kernel_has_no_report(tmp_path: Path) -> None:
    save_profile(
        Profile(mode="static", status="KERNEL_FAILED", stages=(), failure="out of memory"), tmp_path
    )
    with pytest.raises(KernelFailed, match=r"^KERNEL_FAILED out of memory$"):
        write_reports(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == [artifacts.PROFILE]


def test_a_place_that_cannot_be_written_is_exit_3(imported: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(MachineCannot, match=r"cannot write into file: .*; give --out_dir"):
        write_reports(imported, to=tmp_path / "file")
