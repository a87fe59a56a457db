"""ncu as it fails, through the runner: a fake on the path of the tool, a real file or none."""

import os
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.measure.test_tool_faults import CODE, NOTHING, PERMISSION, QUOTED, TRACEBACK
from tests.support.report_bytes import without_launches

from mla_var3.core.errors import (
    KernelFailed,
    MachineCannot,
    MlaError,
    NoUsableData,
    OutOfTime,
    UnreadableFile,
)
from mla_var3.measure import child_guard, tool_faults
from mla_var3.measure.child import child_environment
from mla_var3.measure.gpu_lock import gpu_lock
from mla_var3.measure.ncu_command import NcuJob, find_ncu
from mla_var3.measure.ncu_metrics import MetricSet, metric_set
from mla_var3.measure.ncu_run import LOG, NcuRun, Tool, record_ranges

METRICS = metric_set("GH100", ("bf16",))
HEAD = """#!/usr/bin/env bash
here=${BASH_SOURCE[0]%/*}
printf '%s\\n' "$*" >>"$here/calls"
[ "$1" != --version ] || { echo "Version 2025.3.1.0 (build 1)"; exit 0; }
report=""
for word in "$@"; do [ "$last" != --export ] || report=$word.ncu-rep; last=$word; done
"""


@pytest.fixture(autouse=True)
def no_special_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """The advice is that of a plain machine, wherever the tests run."""
    monkeypatch.setattr(tool_faults, "place_here", lambda: "")


class FakeNcu:
    """A folder with an `ncu` that does what it is told, and the folder of the run."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        self.out = folder / "out"
        self.bin.mkdir()
        self.out.mkdir()

    def does(self, script: str) -> "FakeNcu":
        """`$report` is the file it is asked for, `$here` its own folder."""
        ncu = self.bin / "ncu"
        ncu.write_text(HEAD + script)
        ncu.chmod(ncu.stat().st_mode | stat.S_IXUSR)
        return self

    def prints(self, text: str, code: int, stream: int = 1) -> "FakeNcu":
        (self.bin / "text").write_text(text)
        return self.does(f'cat "$here/text" >&{stream}\nexit {code}\n')

    def run(self, limit_s: float = 20.0, metrics: MetricSet = METRICS) -> NcuRun:
        tool = Tool(ncu=self.bin / "ncu", environment={"PATH": os.environ["PATH"]}, limit_s=limit_s)
        job = NcuJob(
            program=("./prog",),
            stages=("latent", "combine"),
            metrics=metrics.names,
            report=self.out / "annotation.ncu-rep",
        )
        return record_ranges(tool, job, metrics)

    def fails(self, limit_s: float = 20.0) -> MlaError:
        with pytest.raises(MlaError) as caught:
            self.run(limit_s)
        assert "\n" not in str(caught.value)
        assert str(self.out) not in str(caught.value)
        return caught.value

    def calls(self) -> list[str]:
        return (self.bin / "calls").read_text().splitlines()


@pytest.fixture
def ncu(tmp_path: Path) -> FakeNcu:
    return FakeNcu(tmp_path)


SOME = [row for row in QUOTED if row[0] in ("D1", "D4", "D5", "D7", "D8", "D12", "D16", "D36")]


@pytest.mark.parametrize("stream", [1, 2])
@pytest.mark.parametrize(("text", "code", "words"), [r[1:] for r in SOME], ids=[r[0] for r in SOME])
def test_the_text_decides_on_either_stream(
    text: str, code: int, words: list[str], stream: int, ncu: FakeNcu
) -> None:
    error = ncu.prints(text, 9, stream).fails()
    assert error.exit_code == code
    assert words[0] in str(error)
    assert (ncu.out / LOG).read_text() == text


def test_the_permission_is_told_though_the_program_dies_after_it(ncu: FakeNcu) -> None:
    text = PERMISSION.format(device=0) + TRACEBACK + CODE.format(code=1) + NOTHING
    error = ncu.prints(text, 1).fails()
    assert isinstance(error, MachineCannot)
    for words in ("permission", "NVreg_RestrictProfilingToAdminUsers=0", "SYS_ADMIN", "event"):
        assert words in str(error)


def test_an_ncu_that_is_too_new_leaves_no_partial_result(ncu: FakeNcu) -> None:
    text = (
        "==ERROR== Cuda driver is not compatible with Nsight Compute.\n"
        "==ERROR== Failed to load Nsight Compute CUDA modules.\n" + CODE.format(code=11)
    )
    error = ncu.prints(text, 11).fails()
    assert isinstance(error, MachineCannot)
    assert str(error).startswith("ncu 2025.3.1 is newer than ")


@pytest.mark.parametrize(
    "script",
    [
        f'printf "{NOTHING.strip()}\\n"',
        ":",
        'printf "" >"$report"',
        'cp "$here/no_kernels" "$report"',
    ],
    ids=["said", "no file", "empty file", "no kernel in it"],
)
def test_exit_0_without_kernels_is_exit_5_with_the_filter(
    script: str, ncu: FakeNcu, recording: Callable[[str], Path]
) -> None:
    (ncu.bin / "no_kernels").write_bytes(without_launches(recording("cutile_mla").read_bytes()))
    error = ncu.does(script + "\nexit 0\n").fails()
    assert isinstance(error, NoUsableData)
    assert "latent/" in str(error) and "combine/" in str(error)
    assert "another process launched the kernels" in str(error)


def test_an_older_report_is_never_read(ncu: FakeNcu, recording: Callable[[str], Path]) -> None:
    (ncu.out / "annotation.ncu-rep").write_bytes(recording("cutile_mla").read_bytes())
    assert isinstance(ncu.does("exit 0\n").fails(), NoUsableData)


def test_a_hang_is_ended_with_all_that_it_started(ncu: FakeNcu) -> None:
    script = (
        "echo '==PROF== Profiling \"first\" - 0: 0%....100% - 9 passes'\n"
        "echo '==PROF== Profiling \"ncclDevKernel_AllReduce\" - 1: 0%'\n"
        'sleep 87.125 & echo $! >"$here/child"\n'
        "trap '' TERM\nsleep 87.126\n"
    )
    begin = time.monotonic()
    error = ncu.does(script).fails(limit_s=0.7)
    assert time.monotonic() - begin < 15
    assert isinstance(error, OutOfTime)
    assert "the last kernel was ncclDevKernel_AllReduce" in str(error)
    assert "cannot be replayed" in str(error)
    child = int((ncu.bin / "child").read_text())
    assert child not in child_guard.processes()


def test_a_metric_that_this_ncu_lacks_is_dropped_once_with_its_reason(
    ncu: FakeNcu, recording: Callable[[str], Path]
) -> None:
    (ncu.bin / "good").write_bytes(recording("cutile_mla").read_bytes())
    name = "lts__t_sector_hit_rate.pct"
    assert name in METRICS.names
    found = ncu.does(
        f'said="==ERROR== Failed to find metric regex:^{name}"\n'
        f'case "$*" in *{name}*) echo "$said"; exit 9 ;; esac\n'
        'cp "$here/good" "$report"\n'
    ).run()
    runs = [call for call in ncu.calls() if "--metrics" in call]
    assert [name in call for call in runs] == [True, False]
    assert name in found.metrics.missing["l2_hit"]
    assert len(found.profile.stages) == 1


def test_harmless_lines_beside_a_good_report_are_no_failure(
    ncu: FakeNcu, recording: Callable[[str], Path]
) -> None:
    (ncu.bin / "good").write_bytes(recording("cutile_mla").read_bytes())
    found = ncu.does(
        "echo '==PROF== Target process 797 terminated before first instrumented API call.'\n"
        "echo '==WARNING== Found outstanding GPU clock reset, trying to revert...Success.'\n"
        'cp "$here/good" "$report"\n'
    ).run()
    assert found.profile.status == "OK"
    # Killed runs leave clocks locked: what ncu put right is worth a look.
    assert any("reset-gpu-clock.sh" in warning for warning in found.profile.warnings)
    assert all("--clock-control none" in call for call in ncu.calls())


def test_a_program_that_fails_is_the_kernels_failure(ncu: FakeNcu) -> None:
    error = ncu.prints(CODE.format(code=11) + NOTHING, 11).fails()
    assert isinstance(error, KernelFailed)
    assert "code 11 (segmentation fault)" in str(error)


def test_a_report_that_is_cut_off_is_not_shown_as_whole(
    ncu: FakeNcu, recording: Callable[[str], Path]
) -> None:
    (ncu.bin / "cut").write_bytes(recording("cutile_mla").read_bytes()[:2000])
    with pytest.raises(UnreadableFile) as caught:
        ncu.does('cp "$here/cut" "$report"\n').run()
    assert caught.value.exit_code == 5


def test_an_ncu_that_is_not_there(ncu: FakeNcu, tmp_path: Path) -> None:
    with pytest.raises(MachineCannot, match=r"ncu is not here .*: install Nsight Compute"):
        find_ncu({"PATH": str(ncu.bin)}, ())
    error = ncu.fails()  # it was there when it was looked for
    assert isinstance(error, MachineCannot)
    assert "could not be started" in str(error)


def test_one_profiling_at_a_time(
    ncu: FakeNcu, tmp_path: Path, recording: Callable[[str], Path]
) -> None:
    (ncu.bin / "good").write_bytes(recording("cutile_mla").read_bytes())
    ncu.does(
        'echo begin >>"$here/order"\nsleep 0.3\necho end >>"$here/order"\n'
        'cp "$here/good" "$report"\n'
    )
    waited: list[str] = []

    def profile() -> None:
        with gpu_lock("GPU-1", waited.append, folder=tmp_path / "locks"):
            ncu.run()

    threads = [threading.Thread(target=profile) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert (ncu.bin / "order").read_text().split() == ["begin", "end", "begin", "end"]
    assert len(waited) == 1
    # Whoever has made ncu wait for all of the machine does not make ours wait.
    odd = {"NV_COMPUTE_PROFILER_DISABLE_CONCURRENT_PROFILING": "1", "PATH": "/bin"}
    assert child_environment(source=odd) == {"PATH": "/bin"}
