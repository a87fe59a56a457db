"""Each failure that nsys has a text for: the error, its exit code, and what the line tells."""

import pytest

from mla_var3.measure.tool_faults import FaultContext, explain, fault_table, remarks

BARE = FaultContext(place="", no_report=True)

# id, tool, text, exit code, and words that the line must hold.
QUOTED = [
    ("D26", "nsys", "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED (39)", 5, "only one at a time"),
    ("D26", "kineto", "failed with error CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED", 5, "own"),
    ("D27", "nsys", "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35)", 3, "NVreg_RestrictProfiling"),
    ("D27", "kineto", "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES", 3, "--prof_type=event"),
    ("D28", "nsys", "Importer error status: Importer binary failed", 3, "--collector=kineto"),
    ("D28", "nsys", "Importer binary /opt/x/QdstrmImporter was not found", 3, "ldd on Qdstrm"),
    (
        "D29",
        "nsys",
        "SKIPPED: /tmp/x.sqlite does not contain CUDA kernel data.",
        5,
        "--cuda-graph-trace=node",
    ),
    ("D29 older", "nsys", "SKIPPED: x.sqlite does not contain CUDA trace data.", 5, "-t cuda"),
    ("D31", "nsys", "No reports were generated.", 5, "cudaProfilerStart"),
    ("D31", "nsys", "Subscribe returned 999: CUPTI_ERROR_UNKNOWN", 5, "another profiler"),
    (
        "library",
        "nsys",
        "nsys: error while loading shared libraries: libtinfo.so.6: cannot open shared object file",
        3,
        "libtinfo.so.6 is missing",
    ),
    (
        "ended first",
        "nsys",
        "The application terminated before the collection started. No report was generated.",
        4,
        "run it without nsys first",
    ),
    ("locks", "nsys export", "Error: database is locked", 3, "--out_dir on a local disk"),
]


@pytest.mark.parametrize(
    ("tool", "text", "code", "words"),
    [row[1:] for row in QUOTED],
    ids=[f"{row[0]}-{n}" for n, row in enumerate(QUOTED)],
)
def test_each_text_is_one_line_with_cause_and_advice(
    tool: str, text: str, code: int, words: str
) -> None:
    for quoted in (text, text.replace(" ", "\n  ", 2) if " " in text else text):
        error = explain(tool, f"Generating report\n{quoted}\nmore\n", 1, BARE)
        assert error is not None
        assert error.exit_code == code
        line = str(error)
        assert words in line
        assert "\n" not in line and "{" not in line and "None" not in line
        assert "/tmp" not in line and "/opt" not in line
        assert len(line) <= 400


HARMLESS = [
    "WARNING: CPU IP/backtrace sampling not supported, disabling.",
    "Try the 'nsys status --environment' command to learn more.",
    "WARNING: CPU context switch tracing not supported, disabling.",
    "Sampling trigger event available: Fail",
    "perf event paranoid level: 4",
    "No CUDA events collected. Does the process use CUDA?",
    "No NVTX events collected. Does the process use NVTX?",
    "CUDA profiling might have not been started correctly.",
    "Processing [===100%===] a/profile.qdstrm",
]


@pytest.mark.parametrize("line", HARMLESS)
def test_a_harmless_line_is_no_failure(line: str) -> None:
    assert explain("nsys", line, 0, FaultContext(place="")) is None
    assert remarks("nsys", line) == ()


def test_rights_on_counters_are_a_remark_where_spans_were_recorded() -> None:
    text = "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35)"
    assert explain("nsys", text, 0, FaultContext(place="")) is None
    (told,) = remarks("nsys", text)
    assert "forbids counters" in told


def test_the_time_limit_and_the_raw_recording() -> None:
    late = FaultContext(place="", timed_out=True, limit_s=600, no_report=True)
    error = explain("nsys", "", 137, late)
    assert error is not None and error.exit_code == 7
    assert "within 600 s" in str(error) and "--limit_s" in str(error)
    raw = FaultContext(place="", no_report=True, unimported=True, advice=": libdw.so.1 is missing")
    error = explain("nsys", "", 1, raw)
    assert error is not None and error.exit_code == 3
    assert "to make a report of it: libdw.so.1 is missing; " in str(error)


def test_all_failures_of_the_list_are_in_the_table() -> None:
    rows = (*fault_table().faults, *fault_table().harmless, *fault_table().remarks)
    ids = {row.id for row in rows if {"nsys", "kineto", "nsys export"} & set(row.tools)}
    assert ids >= {f"D{number}" for number in (26, 27, 28, 29, 30, 31, 32, 35)}
