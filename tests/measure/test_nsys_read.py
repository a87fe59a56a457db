"""The reader of nsys exports against plain SQL on the same recordings."""

import resource
import sys
import time
from itertools import combinations
from pathlib import Path

import pytest
from tests.support.nsys_exports import (
    CALLS,
    COPIES,
    KERNELS,
    MEMSETS,
    RANGES,
    ask,
    many_kernels,
    unpack,
)

from mla_var3.core.timeline import Timeline, load_timeline, save_timeline
from mla_var3.measure.nsys_reader import read_export, read_timeline

NAMES = ("concurrent", "copies", "launchbound")
TABLES = {"kernel": KERNELS, "memcpy": COPIES, "memset": MEMSETS}


@pytest.fixture(params=NAMES)
def recorded(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return unpack(request.param, tmp_path)


def overlap(timeline: Timeline, *kinds: str) -> int:
    """Time of each pair of operations on two streams, added: by brute force."""
    chosen = [o for o in timeline.operations if timeline.shape_of(o).kind in kinds]
    return sum(
        max(0, min(a.end, b.end) - max(a.start, b.start))
        for a, b in combinations(chosen, 2)
        if a.stream != b.stream
    )


def test_pairwise_overlap_of_the_recorded_streams(tmp_path: Path) -> None:
    timeline = read_timeline(unpack("concurrent", tmp_path))
    assert overlap(timeline, "kernel", "memcpy", "memset") == 512_610
    assert overlap(timeline, "kernel", "memcpy") == 507_970
    assert overlap(timeline, "kernel") == 0


def test_operations_are_those_of_the_tables(recorded: Path) -> None:
    timeline = read_timeline(recorded)
    for kind, table in TABLES.items():
        found = [o for o in timeline.operations if timeline.shape_of(o).kind == kind]
        columns = "start, end, deviceId, contextId, streamId"
        rows = ask(recorded, f"SELECT {columns} FROM {table} ORDER BY start, end")
        assert [(o.start, o.end, o.device, o.context, o.stream) for o in found] == rows
    starts = [operation.start for operation in timeline.operations]
    assert starts == sorted(starts)
    sizes = ask(recorded, f"SELECT bytes FROM {COPIES} ORDER BY start")
    assert [
        (o.bytes,) for o in timeline.operations if timeline.shape_of(o).kind == "memcpy"
    ] == sizes


def test_each_operation_has_the_call_of_its_correlation_id(recorded: Path) -> None:
    timeline = read_timeline(recorded)
    for kind, table in TABLES.items():
        joined = ask(
            recorded,
            f"SELECT o.start, r.start, r.end, s.value FROM {table} o JOIN {CALLS} r ON "
            "r.correlationId = o.correlationId AND r.globalTid / 16777216 = o.globalPid / 16777216 "
            "JOIN StringIds s ON s.id = r.nameId ORDER BY o.start",
        )
        found = []
        for operation in timeline.operations:
            if timeline.shape_of(operation).kind == kind:
                call = timeline.calls[operation.call]
                assert operation.call >= 0
                name = timeline.names[call.name]
                found.append((operation.start, call.start, call.end, name))
        assert found == joined


def test_shapes_are_those_of_the_kernel_table(recorded: Path) -> None:
    timeline = read_timeline(recorded)
    rows = ask(
        recorded,
        "SELECT s.value, gridX, gridY, gridZ, blockX, blockY, blockZ, registersPerThread, "
        "staticSharedMemory + dynamicSharedMemory, localMemoryPerThread "
        f"FROM {KERNELS} k JOIN StringIds s ON s.id = k.demangledName ORDER BY start",
    )
    shapes = [timeline.shape_of(o) for o in timeline.operations]
    found = [
        (s.full_name, *s.grid, *s.block, s.registers, s.shared_bytes, s.local_bytes)
        for s in shapes
        if s.kind == "kernel"
    ]
    assert found == rows
    assert len(set(timeline.shapes)) == len(timeline.shapes)


def test_ranges_and_machine(tmp_path: Path) -> None:
    path = unpack("concurrent", tmp_path)
    export = read_export(path)
    timeline = export.timeline
    rows = ask(path, f"SELECT text, start, end FROM {RANGES} ORDER BY start")
    assert [(timeline.names[r.name], r.start, r.end) for r in timeline.ranges] == rows
    assert len(rows) == 12
    (device,) = timeline.devices
    assert (device.name, device.ordinal, device.compute_capability) == ("NVIDIA H200", 0, "9.0")
    assert (device.sm_count, device.gbps) == (132, 4814.304)
    assert timeline.tool == "nsys 2025.3.2"
    assert export.environment.driver == "580.159.04"
    assert export.environment.clock_max_hz == 1.98e9
    ((epoch,),) = ask(path, "SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME")
    assert export.created == time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(epoch / 1e9))
    assert not timeline.remarks and not timeline.lost and not timeline.impossible


def test_copies_are_named_by_direction(tmp_path: Path) -> None:
    timeline = read_timeline(unpack("copies", tmp_path))
    names = [timeline.shape_of(o).name for o in timeline.operations]
    assert names.count("memcpy HtoD") == 4
    assert (names.count("memcpy DtoD"), names.count("memcpy DtoH")) == (1, 1)
    assert not any(shape.migration for shape in timeline.shapes)


def test_a_packed_export_is_read_as_it_is(tmp_path: Path) -> None:
    packed = Path(__file__).parents[2] / "examples" / "copies.sqlite.xz"
    export = read_export(packed)
    assert export.timeline == read_timeline(unpack("copies", tmp_path))
    assert (export.source.file, export.source.kind) == ("copies.sqlite.xz", "nsys-sqlite")
    assert export.source.bytes == packed.stat().st_size


def test_spans_come_back_from_their_file(recorded: Path, tmp_path: Path) -> None:
    timeline = read_timeline(recorded)
    save_timeline(timeline, tmp_path / "spans.json")
    assert load_timeline(tmp_path / "spans.json") == timeline


def test_many_kernels_are_read_in_time(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    number = 200_000 if pytestconfig.getoption("--full") else 10_000
    path = many_kernels(unpack("concurrent", tmp_path), number)
    begin = time.perf_counter()
    timeline = read_timeline(path)
    save_timeline(timeline, tmp_path / "spans.json")
    seconds = time.perf_counter() - begin
    assert len(timeline.operations) == number + number // 10
    assert sum(o.end - o.start for o in timeline.operations) == number * 1_500 + number // 10 * 500
    assert [timeline.calls[o.call].start + 900 for o in timeline.operations] == [
        o.start for o in timeline.operations
    ]
    assert len(timeline.ranges) == number // 100
    assert len(timeline.shapes) == 8 + 1
    assert seconds < 10  # of 20 for the whole import
    if sys.platform == "linux" and number == 200_000:
        print(f"{seconds:.1f} s", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, "MiB")
