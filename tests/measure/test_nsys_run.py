"""How a run of nsys ends: a timeline, or one error that says why (fake nsys)."""

import shutil
from pathlib import Path

import pytest
from tests.support.fake_nsys import RECORD, FakeNsys, handing_out
from tests.support.plan_exports import no_kernels, plan_export

from mla_var3.core.errors import (
    KernelFailed,
    MachineCannot,
    NoUsableData,
    OutOfTime,
    UnreadableFile,
)
from mla_var3.measure import nsys_importer
from mla_var3.measure.nsys_command import NsysJob
from mla_var3.measure.nsys_run import NsysRun, NsysTool, record_timeline


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plan_export(tmp_path_factory.mktemp("good") / "good.sqlite")


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return no_kernels(tmp_path_factory.mktemp("empty") / "empty.sqlite")


def run(nsys: FakeNsys, folder: Path, limit_s: float = 20) -> NsysRun:
    tool = NsysTool(nsys=nsys.tool, environment=nsys.environment, limit_s=limit_s)
    return record_timeline(tool, NsysJob(("worker",), folder / "profile.nsys-rep"))


def test_a_run_gives_the_timeline_of_a_fresh_export(tmp_path: Path, good: Path) -> None:
    stale = tmp_path / "profile.sqlite"
    stale.write_text("of another run")
    nsys = handing_out(tmp_path / "tool", good)
    done = run(nsys, tmp_path)
    assert len(done.timeline.operations) == 5 * 3 + 5 * 3
    assert done.timeline.tool == "nsys 2025.3.2"
    assert (done.warnings, done.failure) == ((), "")
    (words,) = nsys.calls("profile")
    assert words[:3] == ["profile", "-t", "cuda,nvtx"]
    assert words[-1] == "worker"
    (words,) = nsys.calls("export")
    assert words[-1] == str(tmp_path / "profile.nsys-rep")
    assert done.sqlite == stale and done.sqlite.read_bytes() == good.read_bytes()


def test_a_stale_export_is_never_read_for_a_new_report(tmp_path: Path, good: Path) -> None:
    shutil.copy(good, tmp_path / "profile.sqlite")  # H9: an older one beside a new report
    nsys = FakeNsys(tmp_path / "tool", RECORD, "print('database or disk is full')\nsys.exit(0)")
    with pytest.raises(NoUsableData, match="could not export its report: database or disk is full"):
        run(nsys, tmp_path)
    assert not (tmp_path / "profile.sqlite").exists()


LDD = "libdw.so.1 => not found\n\tlibelf.so.1 => /lib/libelf.so.1 (0x7f)\n\tlibc.so.6 => /lib (0x1)"
RAW = 'Path(str(out) + ".qdstrm").write_text("raw")\n'


def importer(tool: Path, body: str = "#!/bin/sh\n") -> Path:
    path = tool.parent / "host-linux-x64" / "QdstrmImporter"
    path.parent.mkdir(parents=True)
    path.write_text(body)
    return path


def test_a_raw_recording_alone_names_the_library_and_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def ldd(words: list[str]) -> tuple[int, str]:
        asked.append(words)
        return 0, f"\tlinux-vdso.so.1 (0x7ffd)\n\t{LDD}"

    monkeypatch.setattr(nsys_importer.importer_advice, "__defaults__", (ldd,))
    nsys = FakeNsys(tmp_path / "2025.3.2" / "target-linux-x64", RAW)
    binary = importer(tmp_path / "2025.3.2" / "target-linux-x64")
    with pytest.raises(MachineCannot) as caught:
        run(nsys, tmp_path)
    assert str(caught.value) == (
        "nsys recorded the run, and its importer failed to make a report of it: libdw.so.1 is "
        "missing (apt-get install libdw1, or dnf install elfutils-libs); meanwhile "
        "--collector=kineto needs no nsys"
    )
    assert asked == [["ldd", str(binary)]]
    assert len(nsys.calls("profile")) == 1  # without NVTX it would fail the same way


def test_what_nsys_itself_says_of_a_library_comes_first(tmp_path: Path) -> None:
    importer(tmp_path / "v" / "target-linux-x64")
    said = "QdstrmImporter: libbz2.so.1.0: cannot open shared object file: No such file"
    nsys = FakeNsys(tmp_path / "v" / "target-linux-x64", f"{RAW}print({said!r})\nsys.exit(1)")
    with pytest.raises(MachineCannot, match=r"libbz2\.so\.1\.0 is missing \(apt-get install lib"):
        run(nsys, tmp_path)


def test_an_nsys_that_only_records_is_told_as_such(tmp_path: Path) -> None:
    nsys = FakeNsys(tmp_path / "v" / "target-linux-x64", RAW)
    with pytest.raises(MachineCannot, match=r"QdstrmImporter is not there.*the whole of Nsight"):
        run(nsys, tmp_path)


def test_a_run_that_fails_with_nvtx_alone_is_done_without(tmp_path: Path, good: Path) -> None:
    refuse = 'if "nvtx" in trace:\n    print("NVTX injection crashed")\n    sys.exit(1)\n'
    nsys = handing_out(tmp_path / "tool", good, refuse + RECORD.strip())
    done = run(nsys, tmp_path)
    assert [words[2] for words in nsys.calls("profile")] == ["cuda,nvtx", "cuda"]
    (warning,) = done.warnings
    assert warning.startswith("recorded without NVTX: nsys failed with -t cuda,nvtx (")
    assert "NVTX injection crashed" in warning
    assert "crashed" in (tmp_path / "nsys-earlier.log").read_text()


def test_a_run_that_fails_both_ways_tells_the_first_reason(tmp_path: Path) -> None:
    nsys = FakeNsys(tmp_path / "tool", 'print("something new with " + trace)\nsys.exit(77)')
    with pytest.raises(NoUsableData, match="ended with code 77: something new with cuda,nvtx"):
        run(nsys, tmp_path)
    assert len(nsys.calls("profile")) == 2


def test_an_empty_first_session_is_tried_once_more(tmp_path: Path, good: Path, empty: Path) -> None:
    first = "count = len((here / 'calls.txt').read_text().splitlines())\n"
    hand = f"shutil.copy({str(empty)!r} if count <= 2 else {str(good)!r}, out)"
    nsys = FakeNsys(tmp_path / "tool", RECORD, first + hand)
    assert len(run(nsys, tmp_path).timeline.operations) == 30
    assert len(nsys.calls("profile")) == 2


def test_no_kernel_in_two_sessions_quotes_the_collector(tmp_path: Path, empty: Path) -> None:
    nsys = handing_out(tmp_path / "tool", empty)
    with pytest.raises(NoUsableData) as caught:
        run(nsys, tmp_path)
    assert caught.value.exit_code == 5
    assert str(caught.value).startswith("nsys recorded no kernel, twice: ")
    assert "CUDA tracing is not available." in str(caught.value)
    assert "30 launch calls" in str(caught.value)
    assert len(nsys.calls("profile")) == 2


def test_two_subscribers_are_named_where_nothing_was_recorded(tmp_path: Path, empty: Path) -> None:
    said = "print('CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED (39)')\n"
    nsys = handing_out(tmp_path / "tool", empty, said + RECORD.strip())
    with pytest.raises(NoUsableData, match=r"uses a profiler of its own .*no kernel, twice"):
        run(nsys, tmp_path)


def test_the_time_limit(tmp_path: Path) -> None:
    nsys = FakeNsys(tmp_path / "tool", "time.sleep(60)")
    with pytest.raises(OutOfTime, match=r"nsys did not end within 1 s and was stopped.*--limit_s"):
        run(nsys, tmp_path, limit_s=1)
    assert len(nsys.calls("profile")) == 1


TOLD = (
    "out.with_name('worker-error.json')"
    '.write_text(\'{"kind": "KernelFailed", "message": "stage mm failed"}\')\n'
)


@pytest.mark.parametrize("report", ["", RECORD.strip()])
def test_what_the_program_reported_is_raised_with_and_without_a_report(
    tmp_path: Path, good: Path, report: str
) -> None:
    nsys = handing_out(tmp_path / "tool", good, f"{TOLD}{report}\nsys.exit(4)")
    with pytest.raises(KernelFailed, match="stage mm failed"):
        run(nsys, tmp_path)
    assert len(nsys.calls("profile")) == 1


def test_what_was_measured_stands_where_the_end_went_wrong(tmp_path: Path, good: Path) -> None:
    body = RECORD.strip() + '\nprint("could not remove /home/me/x/tmp.txt")\nsys.exit(3)'
    done = run(handing_out(tmp_path / "tool", good, body), tmp_path)
    assert len(done.timeline.operations) == 30
    assert done.failure == "nsys or its program ended with code 3: could not remove tmp.txt"


def test_an_export_without_file_locks(tmp_path: Path) -> None:
    nsys = FakeNsys(tmp_path / "tool", RECORD, "print('database is locked')\nsys.exit(1)")
    with pytest.raises(MachineCannot, match="give --out_dir on a local disk"):
        run(nsys, tmp_path)


def test_a_damaged_export_is_told_as_such(tmp_path: Path) -> None:
    nsys = FakeNsys(tmp_path / "tool", RECORD, "out.write_text('x' * 400)")
    with pytest.raises(UnreadableFile, match="NOT_A_REPORT"):
        run(nsys, tmp_path)


def test_lines_about_cpu_sampling_are_no_failure(tmp_path: Path, good: Path) -> None:
    said = (
        "print('WARNING: CPU IP/backtrace sampling not supported, disabling.')\n"
        "print('Try the nsys status --environment command to learn more.')\n"
        "print('CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35)')\n"
    )
    done = run(handing_out(tmp_path / "tool", good, said + RECORD.strip()), tmp_path)
    assert len(done.timeline.operations) == 30
    (remark,) = done.warnings  # tracing needs no rights on counters
    assert "that forbids counters, the spans were recorded" in remark
