"""Exports of `ncu --csv`: oddity 24, and the same numbers as from the report itself."""

import csv
import io
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from tests.support.fake_report import NO_VALUE, FakeLaunch

from mla_var3.core.errors import UnreadableFile
from mla_var3.core.record import Profile
from mla_var3.measure.ncu_reader import read_report
from mla_var3.measure.ncu_reader.csv_counters import dimensions, number
from mla_var3.measure.ncu_reader.table import facts_by_key

COLUMNS = ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name"]
OLD = [*COLUMNS, "Kernel Time", "Context", "Stream"]
NEW = [*COLUMNS, "Context", "Stream", "Block Size", "Grid Size", "Device", "CC"]
DETAILS = ["Section Name", "Metric Name", "Metric Unit", "Metric Value"]
RULES = ["Rule Name", "Rule Type", "Rule Description"]
SPEEDUP = ["Estimated Speedup Type", "Estimated Speedup"]
SOL = "GPU Speed Of Light Throughput"
MEMORY, LAUNCH = "Memory Workload Analysis", "Launch Statistics"
BANNER = "==PROF== Connected to process 4711 (/home/ada/bin/app)\n"
Row = dict[str, str]


def export(header: list[str], rows: Iterable[Row], before: str = BANNER, after: str = "") -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, header, restval="", quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return before + text.getvalue() + after


def row(number: int, kernel: str, section: str, name: str, unit: str, value: str) -> Row:
    return {
        "ID": str(number),
        "Process ID": "4711",
        "Process Name": "app",
        "Host Name": "ada-laptop",
        "Kernel Name": kernel,
        "Block Size": "(256, 1, 1)",
        "Grid Size": "(1,024, 2, 1)".replace(",0", "0"),
        "CC": "9.0",
        "Section Name": section,
        "Metric Name": name,
        "Metric Unit": unit,
        "Metric Value": value,
    }


def details(kernel: str = "void ns::copy_k<float>(float *, int)", number: int = 0) -> list[Row]:
    return [
        row(number, kernel, SOL, "Duration", "usecond", "259.65"),
        row(number, kernel, SOL, "DRAM Throughput", "%", "84.02"),
        row(number, kernel, SOL, "Memory Throughput", "%", "84.02"),
        row(number, kernel, SOL, "Elapsed Cycles", "cycle", "507,147"),
        row(number, kernel, SOL, "SM Active Cycles", "cycle", "481,123.50"),
        row(number, kernel, SOL, "SM Frequency", "cycle/nsecond", "1.95"),
        row(number, kernel, MEMORY, "Memory Throughput", "Tbyte/second", "4.02"),
        row(number, kernel, MEMORY, "L2 Hit Rate", "%", "50.88"),
        row(number, kernel, LAUNCH, "Static Shared Memory Per Block", "byte/block", "0"),
        row(number, kernel, LAUNCH, "Dynamic Shared Memory Per Block", "Kbyte/block", "48"),
        row(number, kernel, LAUNCH, "Waves Per SM", "", "31.03"),
        row(number, kernel, "Occupancy", "Achieved Occupancy", "%", "n/a"),
        row(number, kernel, "Warp State Statistics", "Avg. Active Threads Per Warp", "", "(!) nan"),
    ]  # fmt: skip


def read(tmp_path: Path, text: str | bytes) -> Profile:
    path = tmp_path / "export.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_report(path)


@pytest.mark.parametrize(
    "header",
    [OLD + DETAILS, NEW + DETAILS, OLD + DETAILS + RULES, NEW + DETAILS + RULES + SPEEDUP,
     [*NEW, "thread Domain:Push/Pop_Range", *DETAILS, *RULES, *SPEEDUP]],
    ids=lambda header: f"{len(header)} columns",
)  # fmt: skip
def test_oddity_24_the_details_page_in_all_its_widths(tmp_path: Path, header: list[str]) -> None:
    rows = [{key: cell for key, cell in line.items() if key in header} for line in details()]
    profile = read(tmp_path, export(header, rows, after="==PROF== Disconnected\n"))
    stage = profile.stages[0]
    assert (stage.name, profile.status) == ("copy_k", "OK")
    assert stage.kernel == "void ns::copy_k<float>(float *, int)"
    expected = {
        "duration": 259650,
        "dram": 84.02,
        "memory_throughput": 84.02,
        "cycles_elapsed": 507147,
        "cycles_active": 481123.5,
        "active_share": 100 * 481123.5 / 507147,
        "sm_clock": 1.95e9,
        "l2_hit": 50.88,
        "shared_memory": 48000,
        "waves": 31.03,
    }
    if "Grid Size" in header:
        expected |= {"grid_size": 2048, "block_size": 256}
        assert (stage.grid, stage.block) == ((1024, 2, 1), (256, 1, 1))
    assert {k: m.value for k, m in stage.metrics.items()} == pytest.approx(expected)
    assert stage.metrics["dram"].raw == "DRAM Throughput [details]"
    assert stage.missing["occupancy"] == "empty in the report"
    assert stage.missing["lanes"] == "not a number in the report"
    assert set(stage.metrics) | set(stage.missing) == set(facts_by_key())
    assert profile.source is not None and profile.source.kind == "ncu-csv"
    assert "no opcodes and no source lines" in profile.warnings[0]


def test_oddity_24_rule_rows_stand_among_metric_rows(tmp_path: Path) -> None:
    rule = {
        **row(0, "k", "SpeedOfLight", "", "", ""),
        "Rule Name": "SOLBottleneck",
        "Rule Type": "OPT",
        "Rule Description": "Look at /home/ada/x.cu,\nthe second line",
        "Estimated Speedup Type": "global",
        "Estimated Speedup": "16.39",
    }
    lines = details("k")
    header = NEW + DETAILS + RULES + SPEEDUP
    stage = read(tmp_path, export(header, [*lines[:3], rule, *lines[3:]])).stages[0]
    assert [(r.rule, r.type, r.message, r.scope, r.speedup_pct) for r in stage.rules] == [
        ("SOLBottleneck", "OPTIMIZATION", "Look at x.cu, the second line", "GLOBAL", 16.39)
    ]
    assert stage.value("waves") == 31.03


def test_oddity_24_launches_are_told_apart(tmp_path: Path) -> None:
    lines = [*details("k", 0), *details("k", 1), *details("_Z1jPf", 2)]
    names = [stage.name for stage in read(tmp_path, export(NEW + DETAILS, lines)).stages]
    assert names == ["k", "k#2", "j"]


def test_raw_names_on_the_details_page(tmp_path: Path) -> None:
    tensor = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"
    lines = [
        row(0, "k", "Command line profiler metrics", "gpu__time_duration.sum", "us", "211.94"),
        row(0, "k", "Command line profiler metrics", tensor, "%", "41.5"),
        row(0, "k", "Command line profiler metrics", "dram__bytes_read.sum", "Gbyte", "1.5"),
    ]
    stage = read(tmp_path, export(NEW + DETAILS, lines)).stages[0]
    assert stage.value("duration") == pytest.approx(211940)
    assert (stage.value("tensor"), stage.value("dram_read_bytes")) == (41.5, 1.5e9)
    assert stage.metrics["tensor"].raw == tensor


def raw_page(launches: list[FakeLaunch]) -> str:
    """What the raw page of a recording would be, in base units with thousands separators."""
    names = [name for name in launches[0].metrics if not name.startswith(("group:", "breakdown:"))]
    units = {name: launches[0].metrics[name].stored_unit for name in names}
    rows: list[Row] = [units]
    for position, launch in enumerate(launches):
        values: Row = {
            "ID": str(position),
            "Kernel Name": launch.full or "",
            "Grid Size": str(tuple(launch.metrics[f"launch__grid_dim_{x}"].stored for x in "xyz")),
            "Block Size": str(
                tuple(launch.metrics[f"launch__block_dim_{x}"].stored for x in "xyz")
            ),
            "CC": "9.0",
        }
        for name in names:
            stored = launch.metrics[name].stored
            if isinstance(stored, int | float):
                values[name] = f"{stored:,}"
            else:
                values[name] = "n/a" if stored in (NO_VALUE, None) else str(stored)
        rows.append(values)
    return export(NEW + names, rows)


@pytest.mark.parametrize("name", ["zoo_a", "attention_full"])
def test_the_raw_page_gives_the_numbers_of_the_report(
    tmp_path: Path,
    name: str,
    copies: Callable[[str], list[FakeLaunch]],
    profile: Callable[[str], Profile],
) -> None:
    exported = read(tmp_path, raw_page(copies(name)))
    for stage, original in zip(exported.stages, profile(name).stages, strict=True):
        assert stage.name == original.name
        assert (stage.grid, stage.block) == (original.grid, original.block)
        assert set(stage.metrics) == set(original.metrics)
        for key, metric in original.metrics.items():
            assert stage.metrics[key].value == pytest.approx(metric.value, rel=1e-12), key
            assert stage.metrics[key].raw == metric.raw
        assert stage.stalls == original.stalls
        assert stage.missing == original.missing
    told, original_told = exported.environment, profile(name).environment
    assert (told.device, told.sm_count) == (original_told.device, original_told.sm_count)
    assert (told.compute_capability, told.clock_max_hz) == ("9.0", 1.98e9)


def test_an_export_of_powershell_is_utf_16(tmp_path: Path) -> None:
    text = export(NEW + DETAILS, details("k")).replace("\n", "\r\n")
    assert read(tmp_path, text.encode("utf-16")).stages[0].value("waves") == 31.03


def test_a_cut_export_shows_what_is_there(tmp_path: Path) -> None:
    text = export(NEW + DETAILS, details("k"))
    cut = read(tmp_path, text[: text.rindex("Occupancy")])
    assert (cut.status, cut.fault) == ("PARTIAL", "TRUNCATED")
    assert cut.stages[0].value("waves") == 31.03


@pytest.mark.parametrize(
    ("rows", "fault"),
    [([], "NO_KERNELS"), ([row(0, "k", SOL, "L2 Hit Rate", "%", "5")], "NO_METRICS")],
)
def test_an_export_with_nothing_to_show(tmp_path: Path, rows: list[Row], fault: str) -> None:
    with pytest.raises(UnreadableFile) as caught:
        read(tmp_path, export(NEW + DETAILS, rows))
    assert caught.value.fault == fault


def test_nothing_private_of_an_export_is_kept(tmp_path: Path) -> None:
    profile = read(tmp_path, export(NEW + DETAILS, details()))
    assert "ada" not in repr(profile) and "4711" not in repr(profile)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1,234", 1234), ("1,234,567.5", 1234567.5), ("1.234.567", 1234567), ("1.234,5", 1234.5),
        ("12,5", 12.5), ("12.5", 12.5), ("1 234", 1234), ("1’234", None), ("-3", -3),
        ("1e3", 1000.0), ("n/a", None), ("", None), ("nan", None), ("inf", None), ("0x10", None),
    ],
)  # fmt: skip
def test_numbers_of_both_customs(text: str, value: float | None) -> None:
    assert number(text) == value


def test_dimensions() -> None:
    assert dimensions("(16, 128, 1)") == (16, 128, 1)
    assert dimensions("(1)") == (1,)
    assert dimensions("") == dimensions("n/a") == ()
