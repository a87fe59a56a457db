"""Each failure that ncu has a text for: the error, its exit code, and what the line tells."""

import json
from pathlib import Path

import pytest

from mla_var3 import conf
from mla_var3.core import errors
from mla_var3.measure.tool_faults import FaultContext, explain, fault_table, place_here, remarks

BARE = FaultContext(place="")
PERMISSION = (
    "==PROF== Connected to process 4711 (/usr/bin/python3.12)\n"
    "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU "
    "Performance Counters on the target device {device}. For instructions on enabling permissions "
    "and to get more information see https://developer.nvidia.com/ERR_NVGPUCTRPERM\n"
)
TRACEBACK = (
    "Traceback (most recent call last):\n"
    '  File "/home/me/app.py", line 3, in <module>\n'
    "    main()\n"
    "RuntimeError: CUDA error: unspecified launch failure\n"
)
STOPPED = "==PROF== Trying to shutdown target application\n"
CODE = "==ERROR== The application returned an error code ({code}).\n"
NOTHING = "==WARNING== No kernels were profiled.\n"

# id, text, exit code, and words that the line must hold.
QUOTED = [
    ("D1", PERMISSION.format(device=0), 3, ["NVreg_RestrictProfilingToAdminUsers=0", "SYS_ADMIN"]),
    ("D1 other device", PERMISSION.format(device=7) + STOPPED, 3, ["ERR_NVGPUCTRPERM", "root"]),
    ("D1 and nothing profiled", PERMISSION.format(device=0) + NOTHING, 3, ["permission", "event"]),
    ("D27", "==ERROR== CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35)\n", 3, ["permission"]),
    (
        "D4",
        "==ERROR== Profiling failed because a driver resource was unavailable. Ensure that no "
        "other tool (like DCGM) is concurrently collecting profiling data. See\n"
        '==ERROR== Failed to profile "risk_battle_kernel" in process 7508\n' + STOPPED + NOTHING,
        3,
        ["DCGM", "dcgmi profile --pause"],
    ),
    (
        "D4 wrapped",
        "==ERROR== Profiling failed because a driver\n resource was unavailable.\n",
        3,
        ["another tool"],
    ),
    (
        "D5",
        "==ERROR== Failed to open/create lock file /tmp/nsight-compute-lock. Please check that the "
        "process has write permissions on it.\n",
        3,
        ["TMPDIR", "another user"],
    ),
    (
        "D7",
        "==ERROR== Cuda driver is not compatible with Nsight Compute.\n"
        "==ERROR== Failed to load Nsight Compute CUDA modules.\n" + CODE.format(code=11),
        3,
        ["older ncu or a newer driver"],
    ),
    (
        "D8",
        "==ERROR== Failed to prepare kernel for profiling\n==ERROR== Unknown error on device 0.\n"
        '==ERROR== Failed to profile "k" in process 9\n' + STOPPED + CODE.format(code=9),
        3,
        ["matches the driver"],
    ),
    ("D8 other device", "==ERROR== Unknown error on device 3.\n", 3, ["matches the driver"]),
    (
        "D9",
        NOTHING + "Available Kernels:\n1. wmma_cxx_kernel\n2. wmma_inline_ptx_stub\n",
        5,
        ["its log names wmma_cxx_kernel, wmma_inline_ptx_stub;", "--target-processes all"],
    ),
    ("D10", CODE.format(code=11) + NOTHING, 4, ["code 11 (segmentation fault)", "without ncu"]),
    (
        "D10 traceback",
        TRACEBACK + CODE.format(code=1) + NOTHING,
        4,
        ["code 1 (RuntimeError: CUDA error: unspecified launch failure)"],
    ),
    ("D10 terminated", CODE.format(code=15), 4, ["code 15 (terminated)"]),
    (
        "D12",
        "==ERROR== Failed to find metric regex:^bad_metric_xyz...\n",
        5,
        ["no metric bad_metric_xyz:", "ncu --query-metrics"],
    ),
    (
        "D12 with suffixes",
        "==ERROR== Failed to find metric regex:^flop_count_sp\\.(sum|min|max|avg|pct|ratio)$\n",
        5,
        ["no metric flop_count_sp:"],
    ),
    (
        "D12 plain",
        "==ERROR== Failed to find metric sm__new.avg.pct_of_peak\n",
        5,
        ["no metric sm__new.avg.pct_of_peak:"],
    ),
    ("D13", "==ERROR== No metrics to collect found in sections.\n", 5, ["ncu --list-sections"]),
    (
        "set",
        "==ERROR== Unknown section set 'full'.\n",  # our wording of it: no log of one was found
        3,
        ["no section set of that name (full)", "newer Nsight Compute"],
    ),
    (
        "option",
        "==ERROR== unrecognised option '--import-source'. Use --help for further details.\n",
        3,
        ["does not know the option --import-source", "too old"],
    ),
    (
        "D16",
        "==WARNING== Backing up device memory in system memory. Kernel replay might be slow. "
        'Consider using "--replay-mode application" to avoid memory save-and-restore.\n'
        "==ERROR== Failed to save memory for replay\n",
        3,
        ["smaller problem", "--replay-mode application"],
    ),
    (
        "D16 allocation",
        "==WARNING== Backing up device memory in system memory.\nbad allocation\n",
        3,
        ["smaller problem"],
    ),
    (
        "D20",
        "==ERROR== File '/home/me/out/my_report.ncu-rep' already exists. Use -f\n",
        5,
        ["my_report.ncu-rep exists", "--force-overwrite"],
    ),
    (
        "D23",
        "==ERROR== Failed to set the clocks. Lock them, e.g. using 'nvidia-smi "
        "--lock-gpu-clocks=tdp,tdp', or profile without fixed frequencies (see "
        "'--clock-control').\n",
        3,
        ["--clock-control none", "MIG"],
    ),
    (
        "D24",
        "==ERROR== CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES\n",
        3,
        ["hypervisor"],
    ),
    ("D26", "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED (39)\n", 5, ["torch.profiler"]),
    ("D34", "==ERROR== InvalidReportFile\n", 5, ["record it again"]),
    ("D34 in the viewer", "FailedReadingMessage\n", 5, ["record it again"]),
    (
        "D36",
        "==ERROR== An error was reported by the counter measurement library:\n==ERROR== Failed to "
        "initialize the profiler: LibraryNotLoaded. Check that a compatible driver library is "
        "loaded.\n" + STOPPED + CODE.format(code=9),
        3,
        ["LibraryNotLoaded", "static"],
    ),
    (
        "a stub of the driver",
        "==ERROR== Nsight Compute failed to connect to the CUDA driver (stub libcuda.so[.1] on "
        "path?).\n" + CODE.format(code=1) + NOTHING,
        3,
        ["LD_LIBRARY_PATH"],
    ),
    (
        "stopped by ncu",
        '==PROF== Profiling "volta_h884gemm" - 18: 0%....50%.... - 19 passes\n'
        '==ERROR== Failed to profile "volta_h884gemm" in process 24701\n'
        + STOPPED
        + CODE.format(code=15),
        5,
        ["could not profile volta_h884gemm"],
    ),
]


@pytest.mark.parametrize(
    ("text", "code", "words"), [row[1:] for row in QUOTED], ids=[row[0] for row in QUOTED]
)
def test_the_quoted_text_gives_the_cause_the_advice_and_the_exit_code(
    text: str, code: int, words: list[str]
) -> None:
    for before, after in (("", ""), ("loading weights\n" * 40, "bye\n" * 40)):
        error = explain("ncu", before + text + after, 1, BARE)
        assert error is not None
        assert error.exit_code == code
        line = str(error)
        for word in words:
            assert word in line
        assert "\n" not in line and "{" not in line and "None" not in line
        assert "/home" not in line and "/tmp" not in line
        assert len(line) <= 400


def test_the_permission_is_told_and_not_what_the_program_then_died_of() -> None:
    text = PERMISSION.format(device=0) + TRACEBACK + CODE.format(code=1) + NOTHING
    error = explain("ncu", text, 1, BARE)
    assert isinstance(error, errors.MachineCannot)
    assert str(error).startswith("ncu has no permission to read the GPU's performance counters")
    assert "RuntimeError" not in str(error)


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("container", ["in this container", "--cap-add=SYS_ADMIN", "rented pod"]),
        ("wsl", ["under WSL", "Windows", "root does not help"]),
        ("", ["run as root"]),
    ],
)
def test_the_advice_on_permission_fits_the_place(place: str, words: list[str]) -> None:
    context = FaultContext(place=place)  # type: ignore[arg-type]
    error = explain("ncu", PERMISSION.format(device=0), 1, context)
    assert error is not None
    assert error.exit_code == 3
    assert all(word in str(error) for word in words)


def test_the_place_is_known_by_its_files(tmp_path: Path) -> None:
    assert place_here(tmp_path) == ""
    group = tmp_path / "proc" / "1" / "cgroup"
    group.parent.mkdir(parents=True)
    group.write_text("0::/init.scope\n")
    assert place_here(tmp_path) == ""
    group.write_text("12:devices:/kubepods/burstable/pod1\n")
    assert place_here(tmp_path) == "container"
    group.unlink()
    (tmp_path / ".dockerenv").touch()
    assert place_here(tmp_path) == "container"
    release = tmp_path / "proc" / "sys" / "kernel" / "osrelease"
    release.parent.mkdir(parents=True)
    release.write_text("5.15.153.1-microsoft-standard-WSL2\n")
    assert place_here(tmp_path) == "wsl"


def test_versions_are_named_where_they_are_known() -> None:
    text = "==ERROR== Cuda driver is not compatible with Nsight Compute.\n"
    known = FaultContext(version="2025.3.1", driver="535.104.05", place="")
    assert str(explain("ncu", text, 1, known)).startswith(
        "ncu 2025.3.1 is newer than driver 535.104.05 allows"
    )
    assert str(explain("ncu", text, 1, BARE)).startswith(
        "this ncu is newer than this driver allows"
    )


def test_the_filter_and_the_kernels_begun_are_shown_where_none_was_profiled() -> None:
    context = FaultContext(filter="--nvtx-include latent/", place="")
    error = explain("ncu", NOTHING, 0, context)
    assert "profiled no kernel (filter: --nvtx-include latent/): its log names none;" in str(error)
    many = NOTHING + "Available Kernels:\n" + "".join(f"{n}. k{n}\n" for n in range(1, 9))
    assert "names k1, k2, k3, k4, k5 and 3 more;" in str(explain("ncu", many, 0, context))


@pytest.mark.parametrize("text", ["", "==PROF== Disconnected from process 1\n", "ok\n"])
def test_exit_0_without_a_report_is_no_success(text: str) -> None:
    assert explain("ncu", text, 0, BARE) is None
    nothing = FaultContext(no_report=True, filter="--kernel-name regex:latent", place="")
    error = explain("ncu", text, 0, nothing)
    assert isinstance(error, errors.NoUsableData)
    assert "(filter: --kernel-name regex:latent)" in str(error)


def test_the_time_limit_names_the_last_kernel() -> None:
    context = FaultContext(timed_out=True, limit_s=600.0, place="")
    text = '==PROF== Profiling "first" - 0: 0%\n==PROF== Profiling "ncclKernel_AllReduce" - 1: 0%\n'
    error = explain("ncu", text, 137, context)
    assert isinstance(error, errors.OutOfTime)
    assert "within 600 s" in str(error) and "the last kernel was ncclKernel_AllReduce:" in str(
        error
    )
    assert "waits for other kernels or processes cannot be replayed" in str(error)
    waiting = "==WARNING== Launching the workload is taking more time than expected. If this\n"
    assert "no kernel had begun" in str(explain("ncu", waiting, 137, context))
    # What forbids it altogether is the better answer.
    forbidden = explain("ncu", PERMISSION.format(device=0) + text, 137, context)
    assert isinstance(forbidden, errors.MachineCannot)


@pytest.mark.parametrize("tool", ["ncu", "nsys"])
def test_a_tool_that_cannot_be_started_is_named(tool: str) -> None:
    error = explain(tool, f"{tool}: No such file or directory\n", 127, BARE)
    assert isinstance(error, errors.MachineCannot)
    assert str(error).startswith(f"{tool} could not be started: it is not on PATH;")


HARMLESS = [
    "==PROF== Target process 797 terminated before first instrumented API call.\n",
    "No CUDA events collected. Does the process use CUDA?\n",
    "No NVTX events collected. Does the process use NVTX?\n",
    "CUDA profiling might have not been started correctly.\n",
    "==WARNING== Found outstanding GPU clock reset, trying to revert...Success.\n",
    "==WARNING== Backing up device memory in system memory. Kernel replay might be slow.\n",
    "==WARNING== Launching the workload is taking more time than expected. If this continues\n",
    '==PROF== Profiling "latent" - 0: 0%....50%....100% - 9 passes\n',
    "==PROF== Report: /home/me/out/annotation.ncu-rep\n",
    "user text: permission granted, 0 errors, already exists, bad allocation of seats\n",
]


@pytest.mark.parametrize("line", HARMLESS)
def test_a_harmless_line_is_no_failure_and_hides_none(line: str) -> None:
    for tool in ("ncu", "nsys"):
        assert explain(tool, line, 0, BARE) is None
    error = explain("ncu", line + CODE.format(code=1) + line, 1, BARE)
    assert isinstance(error, errors.KernelFailed)


def test_another_tool_s_text_is_not_ours() -> None:
    assert explain("nsys", PERMISSION.format(device=0), 1, BARE) is None


def test_what_is_no_failure_but_worth_a_word() -> None:
    told = tuple(row.text for row in fault_table().remarks if "ncu" in row.tools)
    assert remarks("ncu", "".join(HARMLESS)) == told
    assert "reset-gpu-clock.sh" in remarks("ncu", HARMLESS[4])[0]
    assert remarks("ncu", "==PROF== Connected\n") == ()
    assert remarks("nsys", HARMLESS[4]) == ()


def test_every_row_has_a_source_and_an_error_that_exists() -> None:
    table = fault_table()
    for row in (*table.faults, *table.harmless, *table.remarks):
        assert row.sources and all(s.startswith("https://") for s in row.sources), row.id
    for fault in table.faults:
        assert issubclass(getattr(errors, fault.error), errors.MlaError)
        assert fault.patterns or fault.when, fault.id
    ids = {row.id for row in (*table.faults, *table.harmless, *table.remarks)}
    texts = {1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13, 16, 17, 20, 22, 34, 35, 36}
    assert {f"D{number}" for number in texts} <= ids


def test_only_modes_are_advised_that_this_version_has() -> None:
    from mla_var3.runtime.profiling import MODES

    told = json.dumps(conf.table("tool_faults")["faults"])
    for mode in MODES.values():
        if f"prof_type={mode.name}" in told:
            assert mode.built, mode.name
