"""The record of a timeline: its kernels with the durations that SQL gives."""

import statistics
from pathlib import Path

import pytest
from tests.support.nsys_exports import KERNELS, ask, edit, unpack

from mla_var3.core.record import Profile
from mla_var3.core.record_file import load_profile, save_profile, to_files
from mla_var3.measure.nsys_reader import read_export
from mla_var3.measure.nsys_record import nsys_profile


def profile_of(path: Path) -> Profile:
    return nsys_profile(read_export(path))


@pytest.mark.parametrize("name", ["concurrent", "copies", "launchbound"])
def test_durations_are_those_of_the_kernel_table(name: str, tmp_path: Path) -> None:
    path = unpack(name, tmp_path)
    profile = profile_of(path)
    rows = ask(
        path,
        f"SELECT s.value, k.end - k.start FROM {KERNELS} k JOIN StringIds s "
        "ON s.id = k.demangledName",
    )
    by_kernel: dict[str, list[int]] = {}
    for kernel, length in rows:
        by_kernel.setdefault(str(kernel), []).append(length)
    assert {stage.kernel for stage in profile.stages} == by_kernel.keys()
    for stage in profile.stages:
        lengths = by_kernel[stage.kernel]
        assert stage.value("duration") == statistics.median(lengths)
        assert stage.value("duration_sum") == sum(lengths)
        assert (stage.value("duration_min"), stage.value("duration_max")) == (
            min(lengths),
            max(lengths),
        )
        assert stage.value("launches") == len(lengths)
        assert {metric.source for metric in stage.metrics.values()} == {"nsys"}
        assert stage.missing["dram"] == "nsys reads no counters: record with ncu"
    sums = [stage.value("duration_sum") or 0 for stage in profile.stages]
    assert sums == sorted(sums, reverse=True)
    assert (profile.mode, profile.status, profile.warnings) == ("nsys", "OK", ())
    assert profile.environment.device == "NVIDIA H200"


def test_it_is_small_and_comes_back(tmp_path: Path) -> None:
    profile = profile_of(unpack("launchbound", tmp_path))
    files = to_files(profile)
    assert set(files) == {"profile.json"} and len(files["profile.json"]) < 8_000
    assert load_profile(save_profile(profile, tmp_path)) == profile


def test_the_longest_ten_stand_in_it_and_the_others_are_said(tmp_path: Path) -> None:
    path = unpack("launchbound", tmp_path)
    added = [f"INSERT INTO StringIds VALUES ({70_000 + i}, 'k{i}')" for i in range(30)]
    rows = ask(path, f"SELECT start FROM {KERNELS} ORDER BY start LIMIT 30 OFFSET 100")
    renamed = [
        f"UPDATE {KERNELS} SET shortName = {70_000 + i}, demangledName = {70_000 + i}, "
        f"end = start + {1_000_000 * (i + 1)} WHERE start = {start}"
        for i, (start,) in enumerate(rows)
    ]
    profile = profile_of(edit(path, *added, *renamed))
    assert [stage.name for stage in profile.stages] == [f"k{i}" for i in range(29, 19, -1)]
    ((total,),) = ask(path, f"SELECT sum(end - start) FROM {KERNELS}")
    ten = sum(1_000_000 * (i + 1) for i in range(20, 30))
    others = len({s for (s,) in ask(path, f"SELECT demangledName FROM {KERNELS}")}) - 10
    assert profile.warnings == (
        f"{others} more kernels, {100 * (total - ten) / total:.1f} % of the kernels' time, "
        "stand in spans.json alone",
    )


def test_doubts_stand_beside_the_figures(tmp_path: Path) -> None:
    path = unpack("concurrent", tmp_path)
    (first, second), *_ = zip(*ask(path, f"SELECT start FROM {KERNELS} LIMIT 2"), strict=True)
    edit(
        path,
        f"UPDATE {KERNELS} SET end = start WHERE start = {first}",
        f"UPDATE {KERNELS} SET end = start - 1 WHERE start = {second}",
        "INSERT INTO DIAGNOSTIC_EVENT (severity, text) VALUES (2, 'Some records were dropped.')",
        "UPDATE META_DATA_EXPORT SET value = '9.9' WHERE name = 'EXPORT_SCHEMA_VERSION'",
    )
    schema, lost, left_out, empty = profile_of(path).warnings
    assert schema.startswith("schema 9.9 of the export is newer than 3.20")
    assert lost == "nsys lost records: Some records were dropped."
    assert left_out == "1 rows left out: a row that ends before it starts"
    assert empty == "1 operations of 0 ns are counted as they stand"
