"""The protocol on invented series: warm-up, stop rules, retries. No clock of this machine runs."""

import statistics
from collections.abc import Sequence

import pytest
from tests.support.fake_timer import FakeTimer
from tests.support.noise import MODELS, NoisyDevice, NoisyTimer

from mla_var3.core.errors import BadArgument, NoUsableData
from mla_var3.core.timing import CacheState, Clock, Series
from mla_var3.measure import timing
from mla_var3.measure.clocks import ClockWatch

GPU = timing.settings("cuda:0")
MICRO, MILLI, SECOND = 1e3, 1e6, 1e9


def test_the_defaults_are_those_of_the_protocol() -> None:
    assert (GPU["warm_up_busy_s"], GPU["warm_up_limit_s"], GPU["settle_pct"]) == (1.0, 5.0, 0.5)
    assert (GPU["least_samples"], GPU["most_samples"], GPU["limit_s"]) == (100, 5000, 10)
    assert (GPU["floor_share_pct"], GPU["one_call_ns"], GPU["impossible_pct"]) == (10, 50e3, 102)
    assert timing.settings("cpu")["settle_pct"] > GPU["settle_pct"]
    assert timing.settings("cpu", {"limit_s": 0.1})["limit_s"] == 0.1
    with pytest.raises(BadArgument, match="no setting 'speed'"):
        timing.settings("cpu", {"speed": 1.0})


def test_warm_up_lasts_a_second_and_until_three_windows_agree() -> None:
    warm = timing.warm_up(FakeTimer([1 * MILLI]), GPU)
    assert warm.settled
    assert warm.busy_ns >= 1 * SECOND
    assert len(warm.window_ns) == 10
    assert warm.calls == 3 + 10 * 100
    assert set(warm.window_ns) == {1 * MILLI}


def test_a_ramp_is_waited_for() -> None:
    """The time falls from 11.2 ms to 8.8 ms over the first 300 calls, then stays."""
    ramp = [11.2 * MILLI - 2.4 * MILLI * min(call, 300) / 300 for call in range(301)]
    warm = timing.warm_up(FakeTimer(ramp), GPU)
    assert warm.settled
    assert warm.calls > 300
    assert warm.window_ns[-1] == pytest.approx(8.8 * MILLI, rel=0.005)


def test_what_never_settles_is_said_at_the_limit() -> None:
    """Each call is 0.05 % shorter than the last, nine a window: three windows are 0.9 % apart."""
    warm = timing.warm_up(FakeTimer([11.2 * MILLI * 0.9995**call for call in range(2000)]), GPU)
    assert not warm.settled
    assert warm.busy_ns == pytest.approx(5 * SECOND, rel=0.05)


def test_a_call_longer_than_the_limit_is_warmed_up_twice() -> None:
    warm = timing.warm_up(FakeTimer([20 * SECOND]), GPU)
    assert (warm.calls, warm.settled, warm.window_ns) == (2, False, ())


def test_a_first_call_that_compiles_counts_for_nothing() -> None:
    warm = timing.warm_up(FakeTimer([30 * SECOND, 1 * MILLI]), GPU)
    assert warm.settled
    assert 1 * SECOND <= warm.busy_ns < 1.2 * SECOND


def test_bench_runs_is_the_exact_number_of_samples() -> None:
    timer = FakeTimer([100 * MICRO])
    series = timing.take_series(timer, GPU, timing.Request(bench_runs=23)).series
    assert len(series.samples_ns) == 23
    assert series.stop == "count"
    assert [count for count, _ in timer.batches] == [10, 10, 3]


def test_one_run_is_one_sample() -> None:
    series = timing.take_series(FakeTimer([5.0]), GPU, timing.Request(bench_runs=1)).series
    assert series.samples_ns == (5.0,)


@pytest.mark.parametrize(
    ("call_ns", "stop", "least", "most"),
    [
        (20 * MILLI, "converged", 100, 120),
        (1 * MILLI, "converged", 1000, 1020),
        (100 * MICRO, "count", 5000, 5000),
        (500 * MILLI, "time limit", 19, 25),
        (30 * SECOND, "time limit", 1, 2),
    ],
)
def test_when_sampling_stops(call_ns: float, stop: str, least: int, most: int) -> None:
    request = timing.Request(call_ns=call_ns)
    series = timing.take_series(FakeTimer([call_ns]), GPU, request).series
    assert series.stop == stop
    assert least <= len(series.samples_ns) <= most


def test_the_next_batch_is_queued_before_the_last_is_read() -> None:
    class Ordered(FakeTimer):
        def start(self, count, cache):  # type: ignore[no-untyped-def]
            order.append("start")
            return super().start(count, cache)

        def read(self, batch):  # type: ignore[no-untyped-def]
            order.append("read")
            return super().read(batch)

    order: list[str] = []
    timing.take_series(Ordered([1 * MILLI]), GPU, timing.Request(bench_runs=30))
    assert order == ["start", "start", "read", "start", "read", "read"]


def test_samples_are_kept_in_the_order_of_the_run() -> None:
    times = [float(ns) for ns in range(1, 41)]
    series = timing.take_series(FakeTimer(times), GPU, timing.Request(bench_runs=40)).series
    assert list(series.samples_ns) == times


@pytest.mark.parametrize("cache", ["cold", "warm"])
def test_every_batch_has_the_state_of_the_cache_that_was_asked_for(cache: CacheState) -> None:
    class Late:
        asked = 0

        def start(self) -> None: ...

        def is_done(self) -> bool:
            self.asked += 1
            return self.asked > 1

    timer = FakeTimer([1 * MILLI])
    series = timing.take_series(timer, GPU, timing.Request(25, cache), Late()).series
    assert series.cache == cache
    assert timer.batches == [(10, cache), (10, cache), (5, cache), (10, cache)]


def test_a_short_series_has_its_own_state_of_the_cache() -> None:
    timer = FakeTimer([5 * MICRO])
    series = timing.short_series(timer, 50, "cold, written only")
    assert timer.batches == [(50, "cold, written only")]
    assert (series.cache, len(series.samples_ns)) == ("cold, written only", 50)


@pytest.mark.parametrize("samples", [(), (1.0, 0.0), (1.0, -2.0), (1.0, float("nan"))])
def test_one_sample_that_is_no_time_spoils_a_series(samples: tuple[float, ...]) -> None:
    series = Series(cache="cold", samples_ns=samples, stop="count", wall_ns=1.0)
    assert not timing.is_usable(series)


def test_a_first_series_without_times_is_taken_again() -> None:
    timer = FakeTimer([1 * MILLI], lost=lambda batch: batch <= 2)
    series, retried = timing.take_series(timer, GPU, timing.Request(bench_runs=20))
    assert retried
    assert series.samples_ns == (1 * MILLI,) * 20


@pytest.mark.parametrize(
    ("timer", "why"),
    [
        (FakeTimer([1.0], lost=lambda batch: True), "no samples"),
        (FakeTimer([0.0]), "some of 0 ns"),
    ],
)
@pytest.mark.parametrize("bench_runs", [20, None])
def test_no_time_twice_is_no_result(timer: FakeTimer, why: str, bench_runs: int | None) -> None:
    with pytest.raises(NoUsableData, match=why):
        timing.take_series(timer, GPU | {"limit_s": 0.001}, timing.Request(bench_runs))


def test_floor_is_the_larger_of_both() -> None:
    floor = timing.measure_floor(FakeTimer([1.0]), GPU)
    assert (floor.nothing_ns, floor.empty_ns, floor.ns) == (1500.0, 2100.0, 2100.0)


def test_the_floor_is_of_medians() -> None:
    class Spread(FakeTimer):
        def floor(self, count: int) -> tuple[list[float], list[float]]:
            return [900.0, 1500.0, 9000.0], [90_000.0, 2100.0, 1900.0]

    floor = timing.measure_floor(Spread([1.0]), GPU)
    assert (floor.nothing_ns, floor.empty_ns) == (1500.0, 2100.0)


def test_the_stream_is_held_for_short_calls_and_slow_hosts() -> None:
    assert timing.needs_hold(49 * MICRO, 5 * MICRO, GPU)
    assert not timing.needs_hold(50 * MICRO, 5 * MICRO, GPU)
    assert timing.needs_hold(100 * MICRO, 60 * MICRO, GPU)
    assert timing.hold_ns(30 * MICRO, GPU) == 80 * MICRO


def test_the_device_is_kept_busy_until_its_clock_is_read() -> None:
    class Late:
        asked = 0
        started = False

        def start(self) -> None:
            self.started = True

        def is_done(self) -> bool:
            self.asked += 1
            return self.asked > 3

    timer, watch = FakeTimer([1 * MILLI]), Late()
    series = timing.take_series(timer, GPU, timing.Request(bench_runs=10), watch).series
    assert watch.started
    assert len(series.samples_ns) == 10
    assert timer.read_batches == 1 + 3  # three batches more, which no figure counts


def test_a_clock_that_never_answers_is_not_waited_for() -> None:
    class Never:
        def start(self) -> None: ...

        def is_done(self) -> bool:
            return False

    timer = FakeTimer([100 * MILLI])
    timing.take_series(timer, GPU, timing.Request(bench_runs=10), Never())
    assert timer.now() <= 1.1 * SECOND + (GPU["clock_wait_s"] + 1.1) * SECOND


def test_a_watch_tells_what_it_read_and_never_raises() -> None:
    watch = ClockWatch(lambda: Clock(source="x", sm_mhz=1620.0))
    assert not watch.is_done()
    assert "did not answer" in watch.result().missing["clock"]
    watch.start()
    while not watch.is_done():
        pass
    assert watch.result().sm_mhz == 1620.0

    def fail() -> Clock:
        raise OSError("gone")

    failing = ClockWatch(fail)
    failing.start()
    while not failing.is_done():
        pass
    assert failing.result().missing == {"clock": "nvidia-smi failed: OSError"}


@pytest.mark.parametrize("model", MODELS)
def test_a_run_goes_on_until_its_interval_is_narrow(model: str) -> None:
    """On a clock that drifts and wanders too: the interval is that of the samples it ends with."""
    timer = NoisyTimer(NoisyDevice(model, seed=7))
    series = timing.take_series(timer, GPU, timing.Request(call_ns=1 * MILLI)).series
    blocks = [statistics.median(part) for part in _ten(series.samples_ns)]
    means = sorted((a + b) / 2 for at, a in enumerate(blocks) for b in blocks[at:])
    half = (means[-9] - means[8]) / 2  # of ten values 8 of 55 means lie outside at each end
    narrow = half <= 0.005 * statistics.median(series.samples_ns)
    assert (series.stop == "converged") == narrow
    assert sum(series.samples_ns) >= 1 * SECOND
    if model == "independent":
        assert series.stop == "converged" and len(series.samples_ns) < 1100


def test_the_batch_that_was_queued_is_judged_too() -> None:
    """Narrow after 100 samples, not with the ten that were queued by then, narrow again at last."""
    calls = [20 * MILLI * (1.0 if at < 100 or at >= 110 else 1.2) for at in range(120)]
    chosen = GPU | {"least_busy_s": 0.0}
    request = timing.Request(call_ns=1 * MILLI)
    series = timing.take_series(FakeTimer(calls), chosen, request).series
    assert timing.is_converged(calls[:100], chosen)
    assert series.stop == "converged" and timing.is_converged(series.samples_ns, chosen)
    assert not timing.is_converged(calls[:110], chosen)
    assert 110 < len(series.samples_ns) < 300


def test_a_run_ends_with_the_most_samples_that_are_allowed() -> None:
    timer = FakeTimer([1 * MICRO])
    chosen = GPU | {"most_samples": 123.0}
    series = timing.take_series(timer, chosen, timing.Request(call_ns=1 * MILLI)).series
    assert (len(series.samples_ns), series.stop) == (123, "count")
    assert [count for count, _ in timer.batches] == [10] * 12 + [3]


def _ten(samples: Sequence[float]) -> list[Sequence[float]]:
    size = len(samples) // 10
    assert len(samples) == 10 * size
    return [samples[at * size : (at + 1) * size] for at in range(10)]


def test_a_run_that_never_narrows_ends_at_its_limit() -> None:
    """Every call is 0.01 % slower than the first was: 40 % in ten seconds."""
    slower = [2.5 * MILLI * (1 + 1e-4 * call) for call in range(5000)]
    series = timing.take_series(FakeTimer(slower), GPU, timing.Request(call_ns=2.5 * MILLI)).series
    assert series.stop == "time limit"
    assert series.wall_ns >= 10 * SECOND


def test_fewer_than_ten_blocks_of_ten_never_converge() -> None:
    chosen = GPU | {"least_samples": 10.0, "least_busy_s": 0.0}
    assert not timing.is_converged([1 * MILLI] * 99, chosen)
    assert timing.is_converged([1 * MILLI] * 100, chosen)
