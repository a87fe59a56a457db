"""Exports that differ from the usual one: each an edited copy of a recording."""

from collections import Counter
from pathlib import Path

import msgspec
import pytest
from tests.support.nsys_exports import (
    CALLS,
    COPIES,
    GRAPHS,
    KERNELS,
    MEMSETS,
    RANGES,
    ask,
    edit,
    unpack,
)

from mla_var3.core.errors import NoUsableData, UnreadableFile
from mla_var3.core.timeline import Range, Timeline
from mla_var3.measure.nsys_reader import read_timeline

OTHER = 7 << 24
"""Added to a global id: another process."""
MESSAGE = (
    "INSERT INTO DIAGNOSTIC_EVENT (timestamp, timestampType, source, severity, text, globalPid) "
    "VALUES (9, 1, 3, {severity}, '{text}', {owner})"
)


@pytest.fixture
def concurrent(tmp_path: Path) -> Path:
    return unpack("concurrent", tmp_path)


@pytest.fixture
def before(concurrent: Path) -> Timeline:
    """What the export reads as before it is edited."""
    return read_timeline(concurrent)


def same_but_remarks(timeline: Timeline, other: Timeline) -> bool:
    return msgspec.structs.replace(timeline, remarks=other.remarks) == other


def refused(path: Path) -> str:
    with pytest.raises(UnreadableFile) as caught:
        read_timeline(path)
    assert "\n" not in str(caught.value) and caught.value.exit_code == 5
    return str(caught.value)


# H8, D29, kind 20: without kernels it is not an idle GPU


def test_without_a_kernel_table_it_says_what_was_captured(concurrent: Path) -> None:
    edit(
        concurrent,
        f"DROP TABLE {KERNELS}",
        MESSAGE.format(
            severity=3, text="CUPTI failed, see /home/alice/x.log", owner="281498078937088"
        ),
    )
    said = refused(concurrent)
    assert said.startswith("NO_KERNELS kernels were not traced (no kernel table)")
    ((launches,),) = ask(
        concurrent,
        f"SELECT count(*) FROM {CALLS} r JOIN StringIds s ON s.id = r.nameId "
        "WHERE s.value LIKE 'cu%Launch%'",
    )
    ((copies,),) = ask(concurrent, f"SELECT count(*) FROM {COPIES}")
    assert launches == 12 and copies == 4
    assert "12 launch calls, 1,225 API calls, 4 copies, 7 memsets, 12 NVTX events" in said
    assert "nsys says: CUPTI failed, see <path>" in said
    assert "alice" not in said and "idle" not in said
    assert "WSL2" in said and "nsys profile -t cuda,nvtx" in said


def test_a_kernel_table_without_rows_is_told_apart(concurrent: Path) -> None:
    said = refused(edit(concurrent, f"DELETE FROM {KERNELS}"))
    assert said.startswith("NO_KERNELS kernels were traced, and none ran")
    assert "not traced" not in said and "12 NVTX events" in said


def test_launches_without_a_gpu_are_no_idle_gpu(concurrent: Path) -> None:
    tables = (KERNELS, COPIES, MEMSETS)
    said = refused(edit(concurrent, *(f"DROP TABLE {table}" for table in tables)))
    assert "12 launch calls" in said and "copies" not in said
    assert "launches were seen, their kernels were not" in said


def test_an_export_of_no_cuda_at_all(concurrent: Path) -> None:
    tables = (KERNELS, COPIES, MEMSETS, CALLS, RANGES)
    switch = "UPDATE META_DATA_CAPTURE SET value = 'false' WHERE name LIKE '%COLLECT_CUDA_TRACE'"
    said = refused(edit(concurrent, *(f"DROP TABLE {table}" for table in tables), switch))
    assert "in it: nothing" in said and "CUDA was not among what was traced" in said


# H10: tables under another name, or absent


@pytest.mark.parametrize("table", [KERNELS, RANGES, CALLS, "StringIds", "TARGET_INFO_GPU"])
@pytest.mark.parametrize("ending", ["_V2", "_v3"])
def test_a_versioned_table_is_found(
    table: str, ending: str, concurrent: Path, before: Timeline
) -> None:
    edit(concurrent, f"ALTER TABLE {table} RENAME TO {table}{ending}")
    timeline = read_timeline(concurrent)
    assert same_but_remarks(timeline, before) and len(timeline.ranges) == 12
    assert timeline.remarks == (f"{table} is called {table}{ending} in this export",)


@pytest.mark.parametrize("table", [KERNELS, RANGES, CALLS])
def test_a_table_of_an_unknown_name_is_refused(table: str, concurrent: Path) -> None:
    edit(concurrent, f"ALTER TABLE {table} RENAME TO {table}_PACKED")
    with pytest.raises(NoUsableData, match=rf"{table}_PACKED in place of {table}"):
        read_timeline(concurrent)


def test_a_versioned_table_without_a_needed_column_is_refused(concurrent: Path) -> None:
    edit(
        concurrent,
        f"ALTER TABLE {RANGES} RENAME TO {RANGES}_V2",
        f"ALTER TABLE {RANGES}_V2 RENAME COLUMN start TO begin",
    )
    with pytest.raises(NoUsableData, match=r"NVTX_EVENTS_V2 has no column start"):
        read_timeline(concurrent)


def test_of_two_versions_it_is_said_which_is_not_read(concurrent: Path, before: Timeline) -> None:
    edit(concurrent, f"CREATE TABLE {RANGES}_V2 AS SELECT * FROM {RANGES} LIMIT 3")
    timeline = read_timeline(concurrent)
    assert same_but_remarks(timeline, before)
    assert timeline.remarks == ("NVTX_EVENTS_V2, beside NVTX_EVENTS, is not read",)


def test_without_ranges_the_kernels_are_read(concurrent: Path, before: Timeline) -> None:
    edit(concurrent, f"DROP TABLE {RANGES}")
    timeline = read_timeline(concurrent)
    assert timeline.operations == before.operations and timeline.ranges == ()
    assert timeline.missing["ranges"] == "NVTX was traced, and the program opened no range"
    edit(concurrent, "DELETE FROM META_DATA_CAPTURE")
    assert "NVTX was not traced" in read_timeline(concurrent).missing["ranges"]


def test_without_api_calls_it_is_said(concurrent: Path, before: Timeline) -> None:
    timeline = read_timeline(edit(concurrent, f"DROP TABLE {CALLS}"))
    assert len(timeline.operations) == len(before.operations)
    assert {operation.call for operation in timeline.operations} == {-1}
    assert "no API call" in timeline.missing["calls"]


# kind 21: columns, enums, versions


def test_fewer_or_more_columns(concurrent: Path, before: Timeline) -> None:
    assert len(ask(concurrent, f"PRAGMA table_info({KERNELS})")) == 28
    edit(
        concurrent,
        f"ALTER TABLE {KERNELS} DROP COLUMN greenContextId",
        "CREATE TABLE ENUM_CUDA_KRENEL_LAUNCH_TYPE (id INTEGER, name TEXT, label TEXT)",
    )
    assert len(ask(concurrent, f"PRAGMA table_info({KERNELS})")) == 27
    assert read_timeline(concurrent) == before
    more = (f"ALTER TABLE {KERNELS} ADD COLUMN extra{i} TEXT DEFAULT 'x'" for i in range(11))
    edit(concurrent, *more)
    assert len(ask(concurrent, f"PRAGMA table_info({KERNELS})")) == 38
    assert read_timeline(concurrent) == before


def test_a_column_that_is_not_there_is_missing_and_not_zero(concurrent: Path) -> None:
    lost = ("registersPerThread", "staticSharedMemory", "dynamicSharedMemory", "gridX")
    edit(concurrent, *(f"ALTER TABLE {KERNELS} DROP COLUMN {name}" for name in lost))
    kernels = [s for s in read_timeline(concurrent).shapes if s.kind == "kernel"]
    assert {s.registers for s in kernels} == {None}
    assert {s.shared_bytes for s in kernels} == {None}
    assert {s.grid for s in kernels} == {()} and () not in {s.block for s in kernels}
    assert {s.local_bytes for s in kernels} == {0}


def test_missing_version_rows(concurrent: Path, before: Timeline) -> None:
    timeline = read_timeline(edit(concurrent, "DELETE FROM META_DATA_EXPORT"))
    assert timeline.tool == "nsys" and timeline.operations == before.operations
    assert "no schema version" in timeline.remarks[0]
    timeline = read_timeline(edit(concurrent, "DROP TABLE META_DATA_EXPORT"))
    assert timeline.tool == "nsys" and timeline.operations == before.operations


@pytest.mark.parametrize(
    ("version", "said"), [("4.0.1", True), ("3.21.0", True), ("3.20.9", False), ("2.7.1", False)]
)
def test_an_unknown_schema_is_read_but_said(
    version: str, said: bool, concurrent: Path, before: Timeline
) -> None:
    edit(
        concurrent,
        f"UPDATE META_DATA_EXPORT SET value = '{version}' WHERE name = 'EXPORT_SCHEMA_VERSION'",
    )
    timeline = read_timeline(concurrent)
    assert same_but_remarks(timeline, before)
    assert bool(timeline.remarks) is said and (version in "".join(timeline.remarks)) is said


# kind 22: NVTX


def test_registered_strings(concurrent: Path, before: Timeline) -> None:
    edit(
        concurrent,
        "INSERT INTO StringIds VALUES (90001, 'latent')",
        f"UPDATE {RANGES} SET textId = 90001, text = NULL WHERE text = 'latent'",
    )
    assert read_timeline(concurrent) == before
    edit(concurrent, "DELETE FROM StringIds WHERE id = 90001")
    names = Counter(r for r in names_of(read_timeline(concurrent)))
    assert names["#90001"] == 3
    edit(concurrent, f"UPDATE {RANGES} SET textId = NULL WHERE textId = 90001")
    assert Counter(names_of(read_timeline(concurrent)))["unnamed"] == 3


def names_of(timeline: Timeline) -> list[str]:
    return [timeline.names[r.name] for r in timeline.ranges]


def test_open_ranges_and_other_events(concurrent: Path, before: Timeline) -> None:
    last = before.ranges[-1]
    edit(
        concurrent,
        f"UPDATE {RANGES} SET end = NULL WHERE start = {last.start}",
        f"INSERT INTO {RANGES} (start, eventType, text, globalTid) "
        "VALUES (1, 75, 'domain', 281498078938465), (2, 34, 'mark', 281498078938465)",
    )
    timeline = read_timeline(concurrent)
    assert timeline.ranges[-1] == Range(last.name, last.start, None, last.thread, last.process)
    assert timeline.ranges[:-1] == before.ranges[:-1] and not timeline.impossible
    assert "domain" not in timeline.names


def test_start_end_ranges_need_not_nest(concurrent: Path, before: Timeline) -> None:
    edit(concurrent, f"UPDATE {RANGES} SET eventType = 60 WHERE text = 'pipeline'")
    timeline = read_timeline(concurrent)
    for found, was in zip(timeline.ranges, before.ranges, strict=True):
        assert found.nested is (before.names[was.name] != "pipeline")
        assert (found.start, found.end) == (was.start, was.end)


def test_a_range_that_ends_before_it_starts(concurrent: Path) -> None:
    edit(concurrent, f"UPDATE {RANGES} SET end = start - 1 WHERE text = 'combine'")
    timeline = read_timeline(concurrent)
    assert "combine" not in names_of(timeline)
    assert timeline.impossible == {"ends before it starts": 3}


def test_a_range_name_keeps_no_folder_of_the_machine(concurrent: Path) -> None:
    edit(
        concurrent,
        f"UPDATE {RANGES} SET text = 'load /home/alice/w.pt' WHERE text = 'latent'",
        f"UPDATE {RANGES} SET text = '/model/layer.0/MatMul' WHERE text = 'combine'",
    )
    names = names_of(read_timeline(concurrent))
    assert names.count("load <path>") == 3 and names.count("/model/layer.0/MatMul") == 3


# kind 23 and graphs


@pytest.mark.parametrize(("kind", "name"), [(11, "HtoD"), (12, "DtoH")])
def test_migrations_are_no_copies_of_the_program(kind: int, name: str, concurrent: Path) -> None:
    timeline = read_timeline(edit(concurrent, f"UPDATE {COPIES} SET copyKind = {kind}"))
    (shape,) = (s for s in timeline.shapes if s.kind == "memcpy")
    assert shape.migration and shape.name == f"memcpy {name} migration"


def test_a_copy_of_an_unknown_kind(concurrent: Path) -> None:
    timeline = read_timeline(edit(concurrent, f"UPDATE {COPIES} SET copyKind = 77"))
    (shape,) = (s for s in timeline.shapes if s.kind == "memcpy")
    assert (shape.name, shape.migration) == ("memcpy kind 77", False)


def test_a_graph_that_was_traced_as_a_whole(concurrent: Path, before: Timeline) -> None:
    edit(
        concurrent,
        f"CREATE TABLE {GRAPHS} AS SELECT start, end, deviceId, contextId, greenContextId, "
        f"streamId, correlationId, globalPid, 5 AS graphId, 6 AS graphExecId FROM {KERNELS}",
        f"DELETE FROM {KERNELS}",
    )
    timeline = read_timeline(concurrent)
    graphs = [o for o in timeline.operations if timeline.shape_of(o).kind == "graph"]
    kernels = [o for o in before.operations if before.shape_of(o).kind == "kernel"]
    assert timeline.graphs_as_whole and not before.graphs_as_whole
    assert {timeline.shape_of(o).name for o in graphs} == {"graph 5"}
    assert [(o.start, o.end, o.stream, o.call) for o in graphs] == [
        (o.start, o.end, o.stream, o.call) for o in kernels
    ]
    edit(concurrent, f"DROP TABLE {KERNELS}")
    assert read_timeline(concurrent) == timeline


def test_nodes_of_a_graph(concurrent: Path, before: Timeline) -> None:
    first = before.operations[0]
    edit(concurrent, f"UPDATE {KERNELS} SET graphNodeId = 4294967298 WHERE start = {first.start}")
    timeline = read_timeline(concurrent)
    assert [o.graph_node for o in timeline.operations if o.graph_node] == [4294967298]
    assert not timeline.graphs_as_whole


# times that cannot be, processes, devices, messages


def test_zero_length_kernels_stay(concurrent: Path, before: Timeline) -> None:
    timeline = read_timeline(edit(concurrent, f"UPDATE {KERNELS} SET end = start"))
    kernels = [o for o in timeline.operations if timeline.shape_of(o).kind == "kernel"]
    assert len(kernels) == 12 and sum(o.end - o.start for o in kernels) == 0
    assert not timeline.impossible and len(timeline.operations) == len(before.operations)


def test_impossible_rows_are_left_out_and_counted(concurrent: Path, before: Timeline) -> None:
    first, second, third = (o.start for o in before.operations[:3])
    edit(
        concurrent,
        f"UPDATE {KERNELS} SET end = start - 1 WHERE start = {first}",
        f"UPDATE {KERNELS} SET start = NULL WHERE start = {second}",
        f"UPDATE {MEMSETS} SET start = 0, end = 0 WHERE start = {third}",
    )
    timeline = read_timeline(concurrent)
    assert timeline.impossible == {"ends before it starts": 1, "has no time": 2}
    kept = [(o.start, o.end) for o in timeline.operations]
    assert kept == [(o.start, o.end) for o in before.operations[3:]]


def test_a_null_where_the_schema_forbids_one_is_no_damage(concurrent: Path) -> None:
    ((none,),) = ask(concurrent, f"SELECT count(*) FROM {KERNELS} WHERE streamId = 13")
    edit(
        concurrent,
        f"UPDATE {KERNELS} SET start = NULL WHERE streamId = 13",
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_master SET sql = replace(sql, '\"start\" INTEGER,', "
        f"'\"start\" INTEGER NOT NULL,') WHERE name = '{KERNELS}'",
    )
    assert ("NULL value in CUPTI_ACTIVITY_KIND_KERNEL.start",) in ask(
        concurrent, "PRAGMA quick_check"
    )
    assert none > 0 and read_timeline(concurrent).impossible == {"has no time": none}


def test_only_impossible_kernels_are_no_kernels(concurrent: Path) -> None:
    said = refused(edit(concurrent, f"UPDATE {KERNELS} SET end = start - 5"))
    assert said.startswith("NO_KERNELS no kernel has a possible time (12 rows left out)")


def two_processes(path: Path, offset: int, later: int = 10**9) -> Path:
    """The file with all its work once more, in a process that uses the same correlation ids."""
    copies = []
    for table, owner in ((KERNELS, "globalPid"), (COPIES, "globalPid"), (CALLS, "globalTid")):
        columns = [str(row[1]) for row in ask(path, f"PRAGMA table_info({table})")]
        added = {"start": later, "end": later, owner: offset}
        chosen = ", ".join(f"{c} + {added[c]}" if c in added else c for c in columns)
        copies.append(f"INSERT INTO {table} SELECT {chosen} FROM {table}")
    return edit(path, *copies)


@pytest.mark.parametrize("offset", [OTHER, 1 << 48])
def test_two_processes_with_the_same_correlation_ids(
    offset: int, concurrent: Path, before: Timeline
) -> None:
    timeline = read_timeline(two_processes(concurrent, offset))
    processes = Counter(operation.process for operation in timeline.operations)
    assert sorted(processes.values()) == [16, 23]  # memsets stand in the first one alone
    (first,) = {operation.process for operation in before.operations}
    (second,) = processes.keys() - {first}
    calls = timeline.calls
    assert all(calls[o.call].process == o.process for o in timeline.operations)
    for operation in timeline.operations:
        distance = operation.start - calls[operation.call].start
        assert 0 < distance < 10**8, (operation.process == second, distance)


def test_gpus_in_any_order_and_without_a_map(concurrent: Path) -> None:
    columns = "vmId, id, name, smCount, computeMajor, computeMinor, smMajor, smMinor"
    edit(
        concurrent,
        f"INSERT INTO TARGET_INFO_GPU ({columns}) VALUES (1, 1, 'NVIDIA A100', 108, 8, 0, 8, 2)",
        "UPDATE TARGET_INFO_CUDA_DEVICE SET cudaId = 1",
        "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (1, 0, 1377)",
        f"UPDATE {KERNELS} SET deviceId = 1",
    )
    timeline = read_timeline(concurrent)
    devices = [(d.ordinal, d.name, d.compute_capability) for d in timeline.devices]
    assert devices == [(0, "NVIDIA A100", "8.0"), (1, "NVIDIA H200", "9.0")]
    kernels = [o for o in timeline.operations if timeline.shape_of(o).kind == "kernel"]
    assert {o.device for o in kernels} == {1}
    edit(concurrent, "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (0, 0, 9), (1, 1, 9)")
    assert {d.ordinal for d in read_timeline(concurrent).devices} == {None}
    on_one = (f"UPDATE {table} SET deviceId = 1" for table in (COPIES, MEMSETS))
    edit(concurrent, "DROP TABLE TARGET_INFO_CUDA_DEVICE", *on_one)
    assert {d.ordinal for d in read_timeline(concurrent).devices} == {None}


def test_one_gpu_needs_no_map(concurrent: Path, before: Timeline) -> None:
    edit(concurrent, "DROP TABLE TARGET_INFO_CUDA_DEVICE")
    assert read_timeline(concurrent) == before
    edit(concurrent, "DROP TABLE TARGET_INFO_GPU")
    timeline = read_timeline(concurrent)
    assert timeline.devices == () and timeline.missing["devices"] == "the export names no GPU"


def test_rows_in_any_order(concurrent: Path, before: Timeline) -> None:
    turned = []
    for table in (KERNELS, COPIES, MEMSETS, CALLS, RANGES):
        turned += [
            f"CREATE TABLE turned AS SELECT * FROM {table} ORDER BY start DESC",
            f"DROP TABLE {table}",
            f"ALTER TABLE turned RENAME TO {table}",
        ]
    timeline = read_timeline(edit(concurrent, *turned))
    assert timeline.operations == before.operations
    assert timeline.ranges == before.ranges and timeline.calls == before.calls


def test_lost_records_are_said(concurrent: Path) -> None:
    text = "Not all CUDA events might have been collected."
    helper = MESSAGE.format(severity=2, text=text, owner=281498078937088 + OTHER)
    timeline = read_timeline(edit(concurrent, helper))
    assert not timeline.lost and not timeline.diagnostics  # D30: said of a helper process
    own = MESSAGE.format(severity=2, text=text, owner=281498078937088)
    timeline = read_timeline(edit(concurrent, own))
    assert timeline.lost == text and timeline.diagnostics == (text,)


def test_messages_keep_no_path_name_or_key(concurrent: Path) -> None:
    text = (
        "Launching C:\\Users\\bob\\a.exe with HF_TOKEN=abc as carol on node17, see "
        "/tmp/nsys/x.log and https://u:p@host/x and sk-8f3e2a91c07b4d55"
    )
    edit(
        concurrent,
        MESSAGE.format(severity=2, text=text, owner=281498078937088),
        MESSAGE.format(severity=1, text="only information", owner=281498078937088),
        "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_HOST', 'node17'), ('EXPORT_USER', 'carol')",
    )
    (said,) = read_timeline(concurrent).diagnostics
    assert said == (
        "Launching <path> with HF_TOKEN=<value> as <name> on <name>, see "
        "<path> and <address> and <text>"
    )
