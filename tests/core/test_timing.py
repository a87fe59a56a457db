"""The file of a timed run: both schema versions, what a cache may be called, what is rounded."""

import json
from pathlib import Path

import pytest
from tests.support.timings import gpu_timing, monitored, series

from mla_var3.core.errors import NoUsableData
from mla_var3.core.timing import cache_state, load_timing, rotations, save_timing

ROOT = Path(__file__).parents[2] / "examples" / "h200"
STORED = sorted(ROOT.glob("*/timing.json"))
MEGA = 1 << 20


def test_everything_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    timing = monitored()
    save_timing(timing, tmp_path / "timing.json")
    assert load_timing(tmp_path / "timing.json") == timing
    raw = json.loads((tmp_path / "timing.json").read_text())
    assert (raw["schema_version"], raw["power_limit_w"], raw["distribution"]) == (2, 700, "normal")
    assert (raw["series"]["regime"], raw["burst"]["regime"]) == ("sustained", "burst")
    assert raw["monitor"]["readings"][0] == [2e7, 1395.0, 3201.0, 61.0, 698.0, 690.0, 4]


def test_samples_keep_a_tenth_of_a_nanosecond_and_clocks_ten_kilohertz(tmp_path: Path) -> None:
    timing = gpu_timing([1.0], series=series([1000.123], mhz=(1392.3456,)))
    save_timing(timing, tmp_path / "timing.json")
    found = load_timing(tmp_path / "timing.json").series
    assert (found.samples_ns, found.mhz) == ((1000.1,), (1392.35,))


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.parent.name)
def test_the_stored_runs_of_schema_1_are_read(path: Path) -> None:
    raw = json.loads(path.read_text())
    timing = load_timing(path)
    assert timing.schema_version == raw["schema_version"]
    assert list(timing.series.samples_ns) == raw["series"]["samples_ns"]
    if raw["schema_version"] == 1:
        assert (timing.regime, timing.distribution) == ("sustained", "normal")
        assert (timing.burst, timing.monitor, timing.launches) == (None, None, None)
        assert timing.clock is not None and timing.clock.readings == 1


def test_a_version_to_come_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "timing.json"
    save_timing(gpu_timing([1.0]), path)
    path.write_text(path.read_text().replace('"schema_version":2', '"schema_version":3'))
    with pytest.raises(NoUsableData, match="schema_version"):
        load_timing(path)


def test_a_graph_that_touches_too_little_is_warm() -> None:
    """flashinfer issue 4468: 5 calls on 4 MB each touch 20 MB, and twice an L2 of 60 MB is 120."""
    assert cache_state("cold", 5 * 4 * MEGA, 60 * MEGA) == "warm"
    assert rotations(4 * MEGA, 60 * MEGA) == 30
    assert cache_state("cold", 30 * 4 * MEGA, 60 * MEGA) == "cold"
    assert cache_state("cold", 29 * 4 * MEGA, 60 * MEGA) == "warm"
    assert cache_state("warm", 1 << 40, 60 * MEGA) == "warm"
    assert rotations(1, 1) == 2
    with pytest.raises(ValueError, match="touches nothing"):
        rotations(0, 60 * MEGA)


def test_the_kernels_of_a_call_are_added_up_and_none_is_not_0() -> None:
    timing = gpu_timing([1.0], kernels={"softmax": 2, "gemm": 4})
    assert timing.launches == 6
    assert gpu_timing([1.0]).launches is None
