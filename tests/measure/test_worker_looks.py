"""The timed part of a GPU with pretended looks: when a burst run is added, what is kept of it."""

from pathlib import Path
from typing import Any

import pytest
from tests.support.cpu_plans import Doubled
from tests.support.fake_timer import FakeTimer

from mla_var3.core.monitor import Reading
from mla_var3.core.timing import CacheState, Clock
from mla_var3.measure import burst, timing, worker_event, worker_looks
from mla_var3.measure.clocks import ClockWatch
from mla_var3.measure.monitor import Counted, GpuMonitor
from mla_var3.measure.worker_event import Job, Run
from mla_var3.measure.worker_looks import Looks, look_at
from mla_var3.measure.worker_spec import spec_for

MILLI, SECOND = 1e6, 1e9
CAP = 4
TOLD = Clock(source="nvidia-smi", sm_mhz=1770.0, max_sm_mhz=1980.0, locked=False)


class Pretended(GpuMonitor):
    """Reads 1392 MHz every 20 ms of a timer's clock; the cap holds a share of its time."""

    def __init__(self, timer: FakeTimer, share: float | None, bits: int | None = None) -> None:
        super().__init__(None)
        self.timer, self.share, self.bits = timer, share, bits
        self.stopped = False

    def count(self) -> Counted | None:
        if self.share is None:
            return None
        now = self.timer.now()
        return Counted(now, {"sw power cap": self.share * now}, None)

    def stop(self) -> None:
        self.stopped = True

    def result(self, origin_ns: float = 0.0) -> Any:
        from mla_var3.core.monitor import Monitor

        step, end = 20 * MILLI, self.timer.now()
        seen = (Reading(step * at - origin_ns, 1392.0, reasons=self.bits)
                for at in range(1, int(end / step)))  # fmt: skip
        return Monitor(source="nvml", period_ms=20.0, readings=tuple(seen))


class Busy(FakeTimer):
    """A timer that counts cycles: 1392 MHz until it rests, then 1605."""

    rested = False

    def rest(self, ns: float) -> None:
        super().rest(ns)
        self.rested = True

    def mhz_of(self, batch: Any) -> list[float | None]:
        return [1605.0 if self.rested else 1392.0] * len(batch)


def timed(
    share: float | None,
    monkeypatch: pytest.MonkeyPatch,
    cache: CacheState = "cold",
    bits: int | None = None,
    **spec: Any,
) -> Run:
    timer: Any = Busy([1.5 * MILLI])
    monkeypatch.setattr(burst.time, "sleep", lambda seconds: timer.rest(seconds * SECOND))
    watch = ClockWatch(lambda: TOLD)
    looks = Looks(monitor=Pretended(timer, share, bits), watch=watch)
    job = spec_for(Doubled(), "event", "cuda:0", Path(), **spec)
    return worker_event._timed(
        Job(job, timing.settings("cuda:0"), timer, looks, cache), 1.5 * MILLI, 0.0
    )


def test_a_power_limited_run_gets_a_second_of_bursts(monkeypatch: pytest.MonkeyPatch) -> None:
    run = timed(0.93, monkeypatch)
    assert (run.series.regime, run.series.stop) == ("sustained", "converged")
    assert set(run.series.mhz) == {1392.0}
    assert run.series.held is not None
    assert run.series.held.share_pct("sw power cap") == pytest.approx(93.0)
    assert run.burst is not None
    assert (run.burst.regime, run.burst.stop) == ("burst", "time limit")
    assert set(run.burst.mhz) == {1605.0}
    assert 1.0 * SECOND <= run.burst.wall_ns <= 1.3 * SECOND
    assert run.burst.windows_ns[0][0] >= run.series.windows_ns[-1][1]  # one after the other
    assert run.burst.held is not None


@pytest.mark.parametrize(
    ("share", "bits", "added"),
    [(0.051, None, True), (0.05, None, False), (0.0, CAP, False), (None, CAP, True),
     (None, 0, False), (None, None, False)],
)  # fmt: skip
def test_a_burst_is_added_above_a_twentieth_by_counters_else_by_readings(
    share: float | None, bits: int | None, added: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (timed(share, monkeypatch, bits=bits).burst is not None) == added


def test_bursts_that_were_asked_for_are_the_only_row(monkeypatch: pytest.MonkeyPatch) -> None:
    run = timed(0.93, monkeypatch, regime="burst")
    assert (run.series.regime, run.burst) == ("burst", None)
    assert len(run.series.windows_ns) > 10


def test_exact_runs_are_exact_and_their_burst_is_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    run = timed(0.93, monkeypatch, bench_runs=40)
    assert len(run.series.samples_ns) == 40
    assert run.burst is not None and len(run.burst.samples_ns) > 40


def test_a_flush_that_is_too_small_is_called_warm(monkeypatch: pytest.MonkeyPatch) -> None:
    run = timed(0.93, monkeypatch, cache="warm")
    assert run.burst is not None
    assert (run.series.cache, run.burst.cache, run.more) == ("warm", "warm", ())


def test_too_small_a_flush_is_seen_before_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="torch is not installed here")
    from tests.support.timings import CPU

    from mla_var3.measure.worker_prepare import prepare

    job = spec_for(Doubled(), "event", "cpu", Path())
    for times, state in ((2.0, "cold"), (1.9, "warm")):
        flush = int(times * CPU.flush_cache_bytes)
        made = worker_event._job(job, prepare(job), timing.settings("cpu"), CPU, flush)
        assert made.cache == state


def test_what_cannot_look_is_told_and_the_run_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="torch is not installed here")
    monkeypatch.setattr(worker_looks, "find_in_band", lambda torch, sms: "no libcuda.so.1")
    found = look_at("", 132, timing.settings("cuda:0"))
    assert found.cycles is None
    assert found.missing() == {"in-band clock": "no libcuda.so.1"}
    assert found.monitor is not None and not found.monitor.is_reading
    off = look_at("", 132, timing.settings("cuda:0", {"monitor": 0.0, "in_band": 0.0}))
    assert off.monitor is None and off.missing() == {"in-band clock": "not asked for"}
    assert Looks().missing() == {"clock": "the clock of a CPU is not read"}
    assert (Looks().found(0.0), Looks().counters()) == (None, None)
