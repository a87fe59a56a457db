"""The burst regime on invented times: how much work, how much rest, and when it stops."""

import pytest
from tests.support.fake_timer import FLUSH_NS, FakeTimer

from mla_var3.core.errors import NoUsableData
from mla_var3.core.timing import Series
from mla_var3.measure import timing
from mla_var3.measure.burst import burst_series

GPU = timing.settings("cuda:0")
MILLI, SECOND = 1e6, 1e9


def taken(timer: FakeTimer, bench_runs: int | None = None, **changes: float) -> Series:
    request = timing.Request(bench_runs, "cold", timer._last)
    return burst_series(timer, GPU | changes, request, timer.rest)


def test_work_lasts_20_ms_and_busy_time_is_a_fifth_at_most() -> None:
    """1.39 ms and 0.06 ms of flush a sample: 14 in the first burst, 13 that fit in the others."""
    timer = FakeTimer([1.39 * MILLI])
    series = taken(timer, limit_s=1.0)
    assert [count for count, _ in timer.batches][:3] == [14, 13, 13]
    first, second = series.windows_ns[:2]
    assert first[0] == GPU["burst_rest_s"] * SECOND  # it rested before
    assert first[1] - first[0] == pytest.approx(14 * (1.39 * MILLI + FLUSH_NS))
    assert second[0] - first[1] == pytest.approx(4 * (first[1] - first[0]))
    busy = sum(end - begin for begin, end in series.windows_ns)
    assert busy / series.wall_ns <= 0.2
    assert (series.regime, series.stop) == ("burst", "time limit")
    assert 1.0 * SECOND <= series.wall_ns <= 1.2 * SECOND
    assert 100 < len(series.samples_ns) < 140


def test_a_call_longer_than_a_burst_is_one() -> None:
    timer = FakeTimer([50 * MILLI])
    series = taken(timer, bench_runs=3)
    assert [count for count, _ in timer.batches] == [1, 1, 1]
    assert series.stop == "count"


def test_bench_runs_is_the_exact_number_of_samples() -> None:
    series = taken(FakeTimer([1 * MILLI]), bench_runs=33)
    assert len(series.samples_ns) == 33


def test_it_stops_when_converged_as_a_sustained_series_does() -> None:
    series = taken(FakeTimer([5 * MILLI]))
    assert series.stop == "converged"
    assert sum(series.samples_ns) >= 1 * SECOND


def test_no_time_is_no_result() -> None:
    with pytest.raises(NoUsableData, match="no usable time in bursts"):
        taken(FakeTimer([0.0]), bench_runs=3)


def test_the_origin_of_a_time_in_bursts_says_so() -> None:
    """So that a history holds no bursts against sustained load."""
    from tests.support.timings import gpu_timing, series

    from mla_var3.measure.timing_record import times

    origins = {
        regime: times(gpu_timing([], series=series([1e6] * 3, regime=regime)))["duration"].raw
        for regime in ("sustained", "burst")
    }
    assert origins == {
        "sustained": "median of 3 samples, CUDA events, cold cache",
        "burst": "median of 3 samples, CUDA events, in bursts, cold cache",
    }
