"""How a run of ncu ends: a report with launches, or one error that says why (fake ncu)."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.fake_ncu import COPY, FakeNcu, handing_out

from mla_var3.core.errors import (
    KernelFailed,
    MachineCannot,
    MlaError,
    NoUsableData,
    OutOfTime,
    UnreadableFile,
)
from mla_var3.measure.ncu_command import NcuJob
from mla_var3.measure.ncu_metrics import MetricSet, metric_set
from mla_var3.measure.ncu_run import NcuRun, Tool, choose_metrics, record_ranges

Recording = Callable[[str], Path]
SET = metric_set("GH100", ("bf16",))
PERMISSION = (
    "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU "
    "Performance Counters on the target device 0."
)


def run(ncu: FakeNcu, folder: Path, metrics: MetricSet = SET, limit_s: float = 20) -> NcuRun:
    job = NcuJob(("worker",), ("latent",), metrics.names, folder / "annotation.ncu-rep")
    tool = Tool(
        ncu=Path(ncu.environment["PATH"]) / "ncu", environment=ncu.environment, limit_s=limit_s
    )
    return record_ranges(tool, job, metrics)


def test_a_report_with_launches(tmp_path: Path, recording: Recording) -> None:
    begun = []
    ncu = handing_out(tmp_path / "tool", recording("cutile_mla"), ("flash_mla",))
    job = NcuJob(("worker",), ("mla",), SET.names, tmp_path / "annotation.ncu-rep")
    tool = Tool(
        ncu=tmp_path / "tool" / "ncu", environment=ncu.environment, on_progress=begun.append
    )
    done = record_ranges(tool, job, SET)
    assert [stage.nvtx for stage in done.profile.stages] == [("mla",)]
    assert {(step.kernel, step.name) for step in begun} == {(1, "flash_mla")}
    assert "flash_mla" in (tmp_path / "ncu.log").read_text()
    assert 0 < done.seconds < 20


def test_permission_is_named_before_the_programs_own_error(tmp_path: Path) -> None:
    body = (
        f"print({PERMISSION!r})\n"
        "print('Traceback (most recent call last):')\n"
        "print('RuntimeError: CUDA error: unknown error')\n"
        "sys.exit(1)"
    )
    with pytest.raises(MachineCannot, match="ERR_NVGPUCTRPERM") as error:
        run(FakeNcu(tmp_path / "tool", body), tmp_path)
    assert "\n" not in str(error.value) and "--prof_type=event" in str(error.value)


@pytest.mark.parametrize(
    "write", ["", "open(words[words.index('--export') + 1] + '.ncu-rep', 'w').close()"]
)
def test_no_kernels_though_ncu_says_all_went_well(tmp_path: Path, write: str) -> None:
    body = f"print('==WARNING== No kernels were profiled.')\n{write}\nsys.exit(0)"
    with pytest.raises(NoUsableData, match="latent/") as error:
        run(FakeNcu(tmp_path / "tool", body), tmp_path)
    assert error.value.exit_code == 5


def test_a_hanging_kernel_is_stopped_at_the_limit(tmp_path: Path) -> None:
    body = "print('==PROF== Profiling \"spin_wait\" - 0: 0%', flush=True)\ntime.sleep(60)"
    with pytest.raises(OutOfTime, match="spin_wait"):
        run(FakeNcu(tmp_path / "tool", body), tmp_path, limit_s=1)


def test_what_the_program_reported_is_raised(tmp_path: Path) -> None:
    body = (
        "Path(words[words.index('--export') + 1]).with_name('worker-error.json')"
        '.write_text(\'{"kind": "KernelFailed", "message": "stage latent failed"}\')\n'
        "print('==ERROR== The application returned an error code (4).')\nsys.exit(4)"
    )
    with pytest.raises(KernelFailed, match="stage latent failed"):
        run(FakeNcu(tmp_path / "tool", body), tmp_path)


def test_a_text_that_no_table_knows(tmp_path: Path) -> None:
    body = "print('something new went wrong')\nsys.exit(77)"
    with pytest.raises(MlaError, match=r"ncu ended with code 77: something new went wrong"):
        run(FakeNcu(tmp_path / "tool", body), tmp_path)


def test_a_report_of_a_program_that_failed_is_no_result(
    tmp_path: Path, recording: Recording
) -> None:
    good = COPY.format(names=("flash_mla",), report=str(recording("cutile_mla")))
    told = "print('==ERROR== The application returned an error code (11).')\nsys.exit(11)"
    with pytest.raises(KernelFailed, match=r"failed under ncu with code 11 \(segmentation fault\)"):
        run(FakeNcu(tmp_path / "tool", good + told), tmp_path)


def test_a_cut_report_is_told_as_such(tmp_path: Path, recording: Recording) -> None:
    cut = tmp_path / "cut.ncu-rep"
    cut.write_bytes(recording("cutile_mla").read_bytes()[:2000])
    with pytest.raises(UnreadableFile, match="TRUNCATED"):
        run(handing_out(tmp_path / "tool", cut), tmp_path)


def test_an_unknown_name_is_dropped_and_ncu_runs_again(
    tmp_path: Path, recording: Recording
) -> None:
    good = COPY.format(names=("flash_mla",), report=str(recording("cutile_mla")))
    refuse = (
        "if 'launch__sm_count' in words[words.index('--metrics') + 1]:\n"
        "    print('==ERROR== Failed to find metric regex:^launch__sm_count')\n"
        "    sys.exit(1)\n"
    )
    ncu = FakeNcu(tmp_path / "tool", refuse + good)
    done = run(ncu, tmp_path)
    first, second = (call[call.index("--metrics") + 1].split(",") for call in ncu.calls)
    assert set(first) - set(second) == {"launch__sm_count"}
    assert done.metrics.missing["sm_count"] == "this ncu does not know launch__sm_count"


def test_names_that_stay_unknown_end_the_run(tmp_path: Path) -> None:
    body = "print('==ERROR== Failed to find metric gpu__time_duration.sum')\nsys.exit(1)"
    ncu = FakeNcu(tmp_path / "tool", body)
    with pytest.raises(MlaError, match=r"gpu__time_duration\.sum"):
        run(ncu, tmp_path)
    assert sum("--metrics" in call for call in ncu.calls) == 2


def test_a_chip_beyond_the_tables_is_asked_for_its_names(tmp_path: Path) -> None:
    body = (
        "print('gpu__time_duration    Counter  ns    time')\n"
        "print('sm__cycles_active     Counter  cycle  cycles')"
    )
    ncu = FakeNcu(tmp_path / "tool", body)
    tool = Tool(ncu=tmp_path / "tool" / "ncu", environment=ncu.environment)
    chosen = choose_metrics(tool, "13.0", (), tmp_path)
    assert ncu.calls == [["--query-metrics"]]
    assert "gpu__time_duration.sum" in chosen.names and "tensor" in chosen.missing
    known = choose_metrics(tool, "9.0", (), tmp_path)
    assert "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed" in known.names
    assert len(ncu.calls) == 1
