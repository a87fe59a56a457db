"""The CUDA timer against a stand-in for torch that records the order of everything queued."""

from typing import Any

import pytest

from mla_var3.core.errors import KernelFailed, MachineCannot
from mla_var3.measure.events import EventTimer, failure


class FakeTorch:
    """Records what is put on the stream, and every wait of the host."""

    int32, float32 = "int32", "float32"

    def __init__(self) -> None:
        self.log: list[str] = []
        self.events = 0
        self.cuda = self
        self.fault: RuntimeError | None = None

    def empty(self, size: Any, dtype: str, device: str) -> "FakeTensor":
        return FakeTensor(self, size)

    def zeros(self, size: Any, dtype: str, device: str) -> "FakeTensor":
        return FakeTensor(self, size)

    def sum(self, tensor: "FakeTensor", dim: int, out: "FakeTensor") -> None:
        self.log.append(f"read {tensor.size}")

    def _sleep(self, cycles: int) -> None:
        self.log.append(f"spin {cycles}")

    def synchronize(self) -> None:
        self.log.append("wait")

    def Event(self, enable_timing: bool) -> "FakeEvent":
        assert enable_timing
        self.events += 1
        return FakeEvent(self)


class FakeTensor:
    def __init__(self, torch: FakeTorch, size: Any) -> None:
        self.torch, self.size = torch, size

    def fill_(self, value: int) -> None:
        self.torch.log.append(f"write {self.size}")


class FakeEvent:
    def __init__(self, torch: FakeTorch) -> None:
        self.torch = torch
        self.at = 0

    def record(self) -> None:
        self.torch.log.append("event")
        self.at = len(self.torch.log)

    def synchronize(self) -> None:
        self.torch.log.append("wait")
        if self.torch.fault:
            raise self.torch.fault

    def elapsed_time(self, other: "FakeEvent") -> float:
        """Milliseconds: one for each thing queued between."""
        return float(other.at - self.at)


@pytest.fixture
def torch() -> FakeTorch:
    return FakeTorch()


@pytest.fixture
def timer(torch: FakeTorch) -> EventTimer:
    return EventTimer(lambda: torch.log.append("call"), 4000, torch)


def test_a_cold_sample_flushes_outside_the_events(timer: EventTimer, torch: FakeTorch) -> None:
    timer.start(1, "cold")
    assert torch.log == ["write 1000", "read 1000", "event", "call", "event"]


def test_other_states_of_the_cache(timer: EventTimer, torch: FakeTorch) -> None:
    timer.start(1, "cold, written only")
    assert torch.log == ["write 1000", "event", "call", "event"]
    torch.log.clear()
    timer.start(1, "warm")
    assert torch.log == ["event", "call", "event"]


def test_the_host_waits_only_when_a_batch_is_read(timer: EventTimer, torch: FakeTorch) -> None:
    timer.hold(80_000)
    first = timer.start(10, "cold")
    timer.start(10, "cold")
    assert "wait" not in torch.log
    assert torch.log.count("spin 280000") == 20
    begin = torch.log.index("event")
    assert torch.log[begin - 1 : begin + 3] == ["spin 280000", "event", "call", "event"]
    assert timer.read(first) == [2e6] * 10  # call and stop event: 2 ms in ns
    assert torch.log.count("wait") == 1


def test_the_hosts_time_is_the_median_of_launches_on_an_idle_stream(
    torch: FakeTorch, monkeypatch: pytest.MonkeyPatch
) -> None:
    spent = iter([90, 30, 40, 50, 60, 20, 10, 70, 80, 9000])
    now = [0]

    def launch() -> None:
        torch.log.append("call")
        now[0] += next(spent)

    monkeypatch.setattr("mla_var3.measure.events.time.perf_counter_ns", lambda: now[0])
    assert EventTimer(launch, 4000, torch).host_ns() == 60.0
    assert torch.log == ["call", "wait"] * 10


def test_windows_of_calls_have_two_events_and_one_wait(timer: EventTimer, torch: FakeTorch) -> None:
    assert timer.calls(5) == 6e6
    assert torch.log == ["event", *["call"] * 5, "event", "wait"]


def test_the_floor_is_taken_around_nothing_and_an_empty_kernel(
    timer: EventTimer, torch: FakeTorch
) -> None:
    nothing, empty = timer.floor(3)
    assert (nothing, empty) == ([1e6] * 3, [2e6] * 3)
    assert torch.log.count("spin 0") == 3
    assert "call" not in torch.log and "write 1000" not in torch.log
    assert torch.log.count("spin 100000") == 6  # both are queued before the first event
    torch.log.clear()
    timer.start(1, "warm")
    assert torch.log == ["event", "call", "event"]  # the hold is as it was


def test_an_empty_batch_has_no_samples(timer: EventTimer) -> None:
    assert timer.read(timer.start(0, "cold")) == []
    assert timer.mhz_of(timer.start(3, "cold")) == []  # nobody counts cycles


class FakeCycles:
    """Notes rows into the log; the clock of sample i is 1000 + i MHz."""

    def __init__(self, torch: FakeTorch) -> None:
        self.torch = torch

    def slots(self, count: int) -> int:
        return count

    def stamp(self, slots: int, row: int) -> None:
        self.torch.log.append(f"note {row}")

    def mhz(self, slots: int) -> list[float | None]:
        return [1000.0 + at for at in range(slots)]


def test_cycles_are_noted_around_the_sample_and_outside_the_events(
    torch: FakeTorch, monkeypatch: pytest.MonkeyPatch
) -> None:
    timer = EventTimer(lambda: torch.log.append("call"), 4000, torch, FakeCycles(torch))
    timer.hold(80_000)
    batch = timer.start(2, "cold")
    one = ["write 1000", "read 1000", "spin 280000"]
    timed = ["event", "call", "event"]
    assert torch.log == [
        *(*one, "note 0", *timed, "note 1"),
        *(*one, "note 2", *timed, "note 3"),
        "event",
    ]
    waited = FakeEvent.synchronize
    after = []
    monkeypatch.setattr(
        FakeEvent, "synchronize", lambda event: (after.append(event.at), waited(event))
    )
    queued = len(torch.log)
    assert timer.read(batch) == [2e6, 2e6]
    assert after == [queued]  # for the note after the last sample, not for the sample alone
    torch.log.clear()
    assert timer.mhz_of(batch) == [1000.0, 1001.0]
    assert torch.log == []
    torch.log.clear()
    timer.calls(2)
    assert torch.log == ["event", "call", "call", "event", "wait"]
    assert timer.mhz_of(timer.start(0, "warm")) == []


def test_a_fault_on_the_device_shows_when_it_is_waited_for(
    timer: EventTimer, torch: FakeTorch
) -> None:
    torch.fault = RuntimeError("CUDA error: an illegal memory access was encountered\nmore")
    with pytest.raises(KernelFailed, match=r"illegal memory access was encountered$"):
        timer.read(timer.start(1, "warm"))


def test_too_little_memory_is_the_machines_limit() -> None:
    class OutOfMemoryError(RuntimeError):
        pass

    told = failure(OutOfMemoryError("CUDA out of memory. Tried to allocate 9 GB"))
    assert isinstance(told, MachineCannot)
