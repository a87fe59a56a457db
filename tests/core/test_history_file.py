"""The line of a stored profile agrees with its whole record, and tells why a figure is missing."""

import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from tests.support.histories import stored
from tests.support.records import simple

from mla_var3.core.errors import NoUsableData
from mla_var3.core.history import Run
from mla_var3.core.history_file import read_run
from mla_var3.core.record_file import load_profile, to_files

ROOT = Path(__file__).parents[2]
FOLDERS = sorted(folder for folder in (ROOT / "examples" / "h200").iterdir() if folder.is_dir())


def no_part(position: int) -> bytes:
    raise FileNotFoundError(position)


def read(content: bytes, part: Callable[[int], bytes] = no_part) -> Run:
    return read_run(content, "x", part)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_line_agrees_with_the_whole_record(folder: Path) -> None:
    profile = load_profile(folder)
    run = read((folder / "profile.json").read_bytes(),
               lambda n: (folder / f"stages/{n + 1:03d}.json").read_bytes())  # fmt: skip
    whole = profile.end_to_end
    assert (run.mode, run.status, run.created) == (profile.mode, profile.status, profile.created)
    assert (run.plan, run.environment) == (profile.plan, profile.environment)
    assert run.tilings == profile.tilings
    if whole is None:
        assert run.duration_ns == sum(s.metrics["duration"].value for s in profile.stages)
        return
    metric = whole.metrics["duration"]
    assert (run.duration_ns, run.duration_by, run.duration_from) == (
        metric.value, metric.source, metric.raw,
    )  # fmt: skip
    for field, key in (("sm_clock_hz", "sm_clock"), ("achieved_tflops", "achieved_tflops"),
                       ("achieved_gbps", "achieved_gbps"), ("power_w", "power")):  # fmt: skip
        assert getattr(run, field) == whole.value(key), field
    assert [s.stage for s in run.stages] == [s.name for s in profile.stages]
    for line, stage in zip(run.stages, profile.stages, strict=True):
        assert (line.duration_ns, line.tensor_pct, line.dram_pct, line.occupancy_pct) == tuple(
            map(stage.value, ("duration", "tensor", "dram", "occupancy"))
        )
        assert (line.registers, line.waves) == (stage.value("registers"), stage.value("waves"))


def test_annotation_keeps_ncus_sum_apart_from_the_time_by_events() -> None:
    run = read((ROOT / "examples/h200/annotation_flash_mla_v1_s1/profile.json").read_bytes())
    stages = load_profile(ROOT / "examples/h200/annotation_flash_mla_v1_s1").stages
    assert (run.duration_by, run.kernels_by) == ("event", "ncu")
    assert run.kernels_ns == sum(stage.metrics["duration"].value for stage in stages)
    clocks = [(s.metrics["sm_clock"].value, s.metrics["duration"].value) for s in stages]
    by_hand = sum(c * t for c, t in clocks) / sum(t for _, t in clocks)
    assert run.kernels_clock_hz == pytest.approx(by_hand)
    assert run.kernels_clock_from == "gpc__cycles_elapsed.avg.per_second"
    assert run.sm_clock_from != run.kernels_clock_from


def test_stages_in_files_of_their_own_are_summed_too() -> None:
    """13 stages of 1000, 1001, … ns, three of them in stages/."""
    files = to_files(simple(13))
    assert sorted(files)[1:] == ["stages/011.json", "stages/012.json", "stages/013.json"]
    run = read(files["profile.json"], lambda n: files[f"stages/{n + 1:03d}.json"])
    assert run.duration_ns == sum(1000 + n for n in range(13))
    assert (run.duration_by, run.duration_from) == ("ncu", "sum of its launches")
    assert len(run.stages) == 13


def test_a_sum_over_a_cut_record_is_no_duration() -> None:
    cut = msgspec.structs.replace(simple(2), status="PARTIAL", failure="TRUNCATED: cut off")
    run = read(to_files(cut)["profile.json"])
    assert run.duration_ns is None
    assert run.missing["duration_ns"] == "TRUNCATED: cut off"


def test_what_is_missing_has_its_reason() -> None:
    run = read(to_files(stored(0, 1.0))["profile.json"])
    assert run.temperature_c is None
    assert run.missing["temperature_c"] == "the driver does not tell"
    assert run.missing["power_w"] == "not in the record"
    assert "duration_ns" not in run.missing


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"[]", b"\xff\xfe", b'{"format":"mla_var3/contract"}',
        b'{"format":"mla_var3/profile","schema_version":2,"mode":"event","status":"OK",'
        b'"columns":[],"stages":[]}',
        b'{"format":"mla_var3/profile","schema_version":1,"mode":"event","status":"OK","columns":[],'
        b'"stages":[{"name":"k","kernel":"k","metrics":{"duration":[1.0,7]}}]}',
        b'{"format":"mla_var3/profile","schema_version":1,"mode":"event","status":"OK",'
        b'"columns":[["ns","event"]],"stages":[{"name":"k","kernel":"k",'
        b'"metrics":{"duration":[1.0,0]}}]}',
    ],
)  # fmt: skip
def test_what_is_no_record_is_said(content: bytes) -> None:
    with pytest.raises(NoUsableData):
        read(content)


def test_a_negative_column_is_not_the_last_one() -> None:
    good = to_files(stored(0, 1.0))["profile.json"]
    content = re.sub(rb'("duration":\[1000\.0),\d+', rb"\1,-1", good)
    assert content != good
    with pytest.raises(NoUsableData):
        read(content)


def test_a_clock_that_one_launch_does_not_tell_is_no_clock_of_the_whole() -> None:
    profile = load_profile(ROOT / "examples/h200/annotation_flash_mla_v1_s1")
    first, second = profile.stages
    metrics = {key: found for key, found in second.metrics.items() if key != "sm_clock"}
    less = msgspec.structs.replace(
        profile, stages=(first, msgspec.structs.replace(second, metrics=metrics))
    )
    assert read(to_files(profile)["profile.json"]).kernels_clock_hz is not None
    assert read(to_files(less)["profile.json"]).kernels_clock_hz is None
