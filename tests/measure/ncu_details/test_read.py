"""Details of launches against the library's own numbers, and against sums made another way."""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.edited_launch import Edited, Older, actions_of, module_of, moved

from mla_var3.core.ncu_details import LaunchDetails
from mla_var3.measure.ncu_details.read import read_details

Recording = Callable[[str], Path]
NAMES = ("attention_full", "cutile_mla", "zoo_a", "triton_ops")
_CODES = ("memory_access_size_type", "memory_access_type", "memory_type")
"""Columns of codes, not counts: the report gives them no total."""


def _read(*launches: Any, path: Path = Path(__file__), look: bool = False) -> list[LaunchDetails]:
    found = range(len(launches))
    return list(read_details(module_of(*launches), path, found, look=look))


@pytest.fixture(scope="session")
def details(recording: Recording) -> Callable[[str], list[tuple[Any, LaunchDetails]]]:
    """`details("zoo_a")`: each launch of the recording and its details."""
    made: dict[str, list[tuple[Any, LaunchDetails]]] = {}

    def of(name: str) -> list[tuple[Any, LaunchDetails]]:
        if name not in made:
            actions = actions_of(recording(name))
            made[name] = list(zip(actions, _read(*actions), strict=True))
        return made[name]

    return of


Details = Callable[[str], list[tuple[Any, LaunchDetails]]]


@pytest.mark.parametrize("name", NAMES)
def test_columns_sum_to_what_the_report_gives_as_a_whole(details: Details, name: str) -> None:
    for action, launch in details(name):
        table = launch.instructions
        assert table is not None and len(table.columns) > 50
        for column in table.columns:
            if column.name not in _CODES:
                whole = action.metric_by_name(column.name).value()
                assert sum(v for v in column.values if v is not None) == pytest.approx(whole)


@pytest.mark.parametrize("name", NAMES)
def test_every_state_s_samples_sum_to_all_samples(details: Details, name: str) -> None:
    for action, launch in details(name):
        table = launch.instructions
        assert table is not None and table.samples is not None
        whole = action.metric_by_name("smsp__pcsamp_sample_count").value()
        assert sum(s.samples or 0 for s in launch.stalls) == whole
        assert sum(count or 0 for count in table.samples) == whole
        assert sum(sum(filter(None, c.values)) for c in table.stalls.values()) == whole


@pytest.mark.parametrize("name", NAMES)
def test_opcodes_are_those_of_the_machine_code(details: Details, name: str) -> None:
    for _, launch in details(name):
        table = launch.instructions
        assert table is not None and table.executed is not None
        counted: Counter[str] = Counter()
        for text, times in zip(table.sass, table.executed.values, strict=True):
            opcode = re.sub(r"^\{?\s*(@!?U?P\w+\s+)?", "", text).partition(" ")[0]
            counted[opcode.partition(".")[0]] += int(times or 0)
        assert {o.name: o.warp for o in launch.opcodes} == {k: v for k, v in counted.items() if v}


def test_instructions_have_the_same_offsets_and_texts_wherever_the_code_lies(
    recording: Recording,
) -> None:
    for action in actions_of(recording("attention_full")):
        here, there = _read(action, moved(action, 0x12345000))
        assert here.instructions == there.instructions
        assert here.markers == there.markers
        table = here.instructions
        assert table is not None and table.from_start
        assert table.offsets == tuple(range(0, 16 * len(table.offsets), 16))
        assert not any(re.search(r"0x[0-9a-f]{9,}", text) for text in table.sass)


def test_a_function_s_start_is_not_invented(recording: Recording) -> None:
    action = actions_of(recording("zoo_a"))[0]

    def without(name: str) -> Any:
        return None if name == "launch__function_pcs" else action.metric_by_name(name)

    (launch,) = _read(Edited(action, metric_by_name=without))
    assert launch.instructions is not None and launch.instructions.from_start  # it is aligned
    (launch,) = _read(Edited(moved(action, 48), metric_by_name=_hide(moved(action, 48))))
    assert launch.instructions is not None and not launch.instructions.from_start
    assert launch.instructions.offsets[:3] == (0, 16, 32)


def _hide(launch: Any) -> Callable[[str], Any]:
    read = launch.metric_by_name
    return lambda name: None if name == "launch__function_pcs" else read(name)


def test_excess_is_what_the_kernels_were_built_to_have(details: Details) -> None:
    found = {launch.kernel.partition("(")[0]: launch.instructions for _, launch in details("zoo_a")}
    conflict = found["bank_conflict"]
    assert conflict is not None and conflict.excess_wavefronts is not None
    # 32 lanes in one bank: 32 passes where one would do
    ideal = next(c for c in conflict.columns if c.name == "memory_l1_wavefronts_shared_ideal")
    loads = [
        excess / least
        for excess, least in zip(conflict.excess_wavefronts.values, ideal.values, strict=True)
        if excess and least
    ]
    assert max(loads) == 31
    strided = found["strided_read"]
    assert strided is not None and strided.excess_sectors is not None
    counted = {c.name: c.values for c in strided.columns}
    actual = counted["memory_l2_theoretical_sectors_global"]
    least = counted["memory_l2_theoretical_sectors_global_ideal"]
    assert strided.excess_sectors.values == tuple(
        None if a is None or b is None else a - b for a, b in zip(actual, least, strict=True)
    )
    copy = found["copy_stream"]
    assert copy is not None and copy.excess_sectors is not None and copy.excess_wavefronts is None
    assert copy.excess_sectors.total == 0


def test_excess_is_computed_where_an_older_report_does_not_give_it(recording: Recording) -> None:
    action = next(a for a in actions_of(recording("zoo_a")) if a.name() == "strided_read")
    names = tuple(n for n in action.metric_names() if not n.startswith("derived__memory"))
    first, second = _read(action, Edited(action, metric_names=lambda: names))
    assert first.instructions is not None and second.instructions is not None
    given, made = first.instructions.excess_sectors, second.instructions.excess_sectors
    assert given is not None and made is not None and made.values == given.values
    assert made.total == given.total == 29360128
    assert made.name.endswith("_global_ideal") and " - " in made.name


@pytest.mark.parametrize("name", NAMES)
def test_sections_are_the_report_s_in_its_order(details: Details, name: str) -> None:
    for action, launch in details(name):
        own = sorted(action.sections(), key=lambda section: section.order())
        assert [s.order for s in launch.sections] == [s.order() for s in own]
        assert {s.identifier for s in launch.sections} == {s.identifier() for s in own}
        for section in launch.sections:
            given = next(s for s in own if s.identifier() == section.identifier)
            told = [(m.name(), m.label(), m.unit(), m.value()) for m in given.header_metrics()]
            assert [(c.name, c.label, c.unit, c.value) for c in section.header] == told


def test_a_throughput_is_the_largest_of_its_parts(details: Details) -> None:
    for _, launch in details("attention_full"):
        top = next(s for s in launch.sections if s.identifier == "SpeedOfLight")
        values = {counter.name: counter.value for counter in top.header}
        assert len(top.breakdowns) >= 2
        for breakdown in top.breakdowns:
            if breakdown.of in values:
                assert breakdown.parts[0].value == pytest.approx(values[breakdown.of])


@pytest.mark.parametrize("name", ["attention_full", "cutile_mla", "zoo_a"])
def test_a_launch_stands_on_each_curve_at_its_own_occupancy(details: Details, name: str) -> None:
    for action, launch in details(name):
        warps = action.metric_by_name("sm__maximum_warps_avg_per_active_cycle").value()
        by_registers = next(c for c in launch.curves if c.resource == "registers/thread")
        assert by_registers.current == action.metric_by_name("launch__registers_per_thread").value()
        assert dict(by_registers.points)[by_registers.current or 0] == warps
        blocks = next(c for c in launch.curves if c.resource == "threads/block")
        assert dict(blocks.points)[blocks.current or 0] == warps


def test_memory_tables_add_up(details: Details) -> None:
    for action, launch in details("attention_full"):
        tables = {table.title: table for table in launch.memory}
        device = {label: cells for label, cells in tables["Device Memory"].rows}
        load, store, total = (device[row][2] for row in ("Load", "Store", "Total"))
        assert load is not None and store is not None and total is not None
        duration = action.metric_by_name("gpu__time_duration.sum").value()
        rate = action.metric_by_name("dram__bytes.sum.per_second").value()
        assert total.value == load.value + store.value == pytest.approx(rate * duration / 1e9)
        level2 = {label: cells for label, cells in tables["L2 Cache"].rows}["L1/TEX Total"]
        requests, sectors, ratio, _, hits, misses, rate_pct = level2[:7]
        assert ratio is not None and ratio.value == pytest.approx(sectors.value / requests.value)
        assert rate_pct is not None and hits is not None and misses is not None
        share = 100 * hits.value / (hits.value + misses.value)
        assert rate_pct.value == pytest.approx(share) and rate_pct.unit == "%"
        assert " / (" in rate_pct.name


def test_a_cell_without_its_counter_is_absent_and_no_traffic_is_no_zero(details: Details) -> None:
    _, launch = details("zoo_a")[3]  # fma_bound: no local memory, no atomics
    level1 = next(table for table in launch.memory if table.title == "L1/TEX Cache")
    cells = dict(level1.rows)["Local Load"]
    ratio = cells[level1.columns.index("Sectors/Req")]
    assert ratio is not None and ratio.value is None and ratio.reason == "no traffic"
    assert cells[level1.columns.index("Bytes")] is None


def test_rules_say_nothing_of_links_and_folders(details: Details) -> None:
    rules = [rule for name in NAMES for _, launch in details(name) for rule in launch.rules]
    assert len(rules) > 60
    tables = [table for rule in rules for table in rule.tables]
    assert tables
    cells = [cell for table in tables for row in table.rows for cell in row]
    texts = [rule.message for rule in rules] + cells
    texts += [f.info for rule in rules for f in rule.focus]
    assert not [t for t in texts if re.search(r"@\w+:|/opt/|/home/|site-packages", t)]
    assert "prog.py, line 18" in cells
    assert all(len(table.headers) == len(row) for table in tables for row in table.rows)


def test_a_failed_rule_shows_no_python_error(recording: Recording) -> None:
    action = actions_of(recording("zoo_a"))[0]
    error = {
        "rule_identifier": "R",
        "section_identifier": "SpeedOfLight",
        "rule_message": {"title": "", "message": "/home/someone/r.py KeyError 'x'", "type": 4},
        "focus_metrics": [{"name": "m", "value": float("nan"), "info": "/home/someone"}],
    }
    (launch,) = _read(Edited(action, rule_results_as_dicts=lambda: [error]))
    (rule,) = launch.rules
    assert rule.type == "ERROR" and rule.focus == ()
    assert rule.message == "the rule failed when the report was recorded"


def test_samples_outside_the_launch_are_left_out(details: Details) -> None:
    action, launch = details("attention_full")[0]
    name = "l1tex__throughput.avg.pct_of_peak_sustained_elapsed"
    series = next(s for s in launch.series if s.name == name)
    metric = action.metric_by_name(f"SM_A.TriageCompute.{name}")
    assert 0.6 * metric.num_instances() < len(series.values) < metric.num_instances()
    duration = action.metric_by_name("gpu__time_duration.sum").value()
    interval = action.metric_by_name("profiler__pmsampler_interval_time").value()
    assert len(series.values) == pytest.approx(duration / interval, abs=2)
    # what the counters say of the whole launch
    whole = action.metric_by_name(name).value()
    assert sum(series.values) / len(series.values) == pytest.approx(whole, rel=0.05)


def test_lines_and_sources_are_the_library_s(details: Details) -> None:
    action, launch = details("attention_full")[0]
    table = launch.instructions
    assert table is not None
    files = dict(action.source_files().items())
    names = [source.name for source in launch.sources]
    assert names == ["prog.py", "standard.py"]
    assert [source.library for source in launch.sources] == [False, True]
    assert launch.sources[0].text == files["/opt/lab/prog.py"]
    start = action.metric_by_name("launch__function_pcs").as_uint64(0)
    for offset, line, ptx in zip(table.offsets, table.lines, table.ptx, strict=True):
        info = action.source_info(start + offset)
        assert line is not None and line.number == info.line()
        assert info.file_name().endswith(names[line.file])
        assert ptx == " ".join(action.ptx_by_pc(start + offset).split())


def test_a_source_is_compared_with_the_file_at_its_path(
    recording: Recording, tmp_path: Path
) -> None:
    action = actions_of(recording("attention_full"))[1]
    text = dict(action.source_files().items())["/opt/lab/prog.py"]
    path = tmp_path / "prog.py"

    class Info:
        def __init__(self, line: int) -> None:
            self._line = line

        def file_name(self) -> str:
            return str(path)

        def line(self) -> int:
            return self._line

    there = Edited(
        action,
        source_files=lambda: {str(path): text},
        source_info=lambda pc: Info(action.source_info(pc).line()),
    )

    def state(look: bool = True) -> str:
        (launch,) = _read(there, look=look)
        (source,) = launch.sources
        assert source.name == "prog.py"
        return source.on_disk

    assert state() == "absent"
    path.write_text(text.replace("\n", "\r\n"), newline="")
    assert state() == "same"
    path.write_text(text + "x = 1\n")
    assert state() == "differs"
    assert state(look=False) == ""


def test_a_report_of_few_counters_has_sections_and_no_instructions(recording: Recording) -> None:
    for launch in _read(*actions_of(recording("zoo_b_basic"))):
        assert launch.instructions is None and launch.sources == ()
        assert len(launch.sections) == 4 and launch.counters > 500
        assert [t.title for t in launch.memory] == ["L2 Cache", "Device Memory"]
        assert launch.opcodes == () and launch.series == ()


def test_ghosts_and_interrupted_launches_have_their_name_only(recording: Recording) -> None:
    action = actions_of(recording("zoo_a"))[0]
    stopped = Edited(action, metric_by_name=lambda name: None)
    ghost = Edited(action, name=lambda base=0: None, metric_names=lambda: ())

    def fail() -> Any:
        raise RuntimeError("bad block")

    damaged = Edited(action, sections=fail)
    whole, *others = _read(action, stopped, ghost, damaged)
    assert whole.sections and whole.counters == 1337
    for position, launch in enumerate(others, start=1):
        assert launch == LaunchDetails(position=position, kernel=launch.kernel)


def test_code_is_disassembled_once_only_where_the_report_holds_one_of_that_name(
    recording: Recording,
) -> None:
    path = recording("attention_full")
    asked: list[int] = []

    def counted(action: Any, mark: str) -> Edited:
        def text(counter: int) -> str:
            asked.append(counter)
            return f"{action.sass_by_pc(counter)} {mark}"

        return Edited(action, sass_by_pc=text)

    action = actions_of(path)[0]
    first, second = _read(counted(action, "a"), counted(action, "b"), path=path)
    # the report holds the code of fa_fwd once: the second launch is the same code
    assert first.instructions == second.instructions and len(asked) == 943
    asked.clear()
    first, second = _read(counted(action, "a"), counted(action, "b"))
    assert first.instructions is not None and second.instructions is not None
    assert len(asked) == 2 * 943
    assert {text[-1] for text in first.instructions.sass} == {"a"}
    assert {text[-1] for text in second.instructions.sass} == {"b"}


def test_a_module_without_sections_and_labels_gives_all_else(recording: Recording) -> None:
    action = actions_of(recording("cutile_mla"))[0]
    newer, older = _read(action, Older(action))
    assert newer.sections != older.sections
    (section,) = older.sections
    shown = {counter.name: (counter.value, counter.unit) for counter in section.body}
    assert len(shown) == sum(
        not n.startswith(("breakdown:", "group:")) for n in action.metric_names()
    )
    for listed in newer.sections:
        for counter in listed.header:
            assert shown[counter.name] == (counter.value, counter.unit)
    assert "pip install ncu-report" in section.description
    assert not any(counter.label for counter in section.body)
    assert older.rules == newer.rules and older.stalls == newer.stalls
    assert older.instructions == newer.instructions and older.sources == newer.sources
