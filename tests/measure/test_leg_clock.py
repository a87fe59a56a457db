"""The clock of a leg from those of its calls: means, cycles, and what is not known."""

from typing import Any

import pytest

from mla_var3.core import quads as core
from mla_var3.measure import quads
from mla_var3.measure.leg_clock import InBandLegs, cycles_on, leg_clock


class Counted:
    """A timer of fixed times in ns and clocks in MHz."""

    def __init__(self, ns: list[float], mhz: list[float | None]) -> None:
        self.ns = ns
        self.mhz = mhz

    def now(self) -> float:
        return 0.0

    def start(self, count: int, cache: str) -> int:
        return count

    def read(self, batch: Any) -> list[float]:
        return (self.ns * batch)[:batch] if isinstance(batch, int) else self.ns

    def mhz_of(self, batch: Any) -> list[float | None]:
        return (self.mhz * batch)[:batch] if isinstance(batch, int) else self.mhz


def test_cycles_are_time_times_clock() -> None:
    """1 ms at 1500 MHz is 1.5 million cycles, 2 ms at 1400 MHz 2.8 million; the mean is 1450."""
    found = leg_clock(Counted([1e6, 2e6], [1500.0, 1400.0]), "batch")
    assert found.mhz == 1450.0
    assert found.cycles == (1.5e6, 2.8e6)


def test_a_call_without_a_clock_gives_no_cycles() -> None:
    found = leg_clock(Counted([1e6, 2e6], [None, 1400.0]), "batch")
    assert (found.mhz, found.cycles) == (1400.0, ())


@pytest.mark.parametrize("mhz", [[], [None, None]])
def test_no_clock_is_none_and_never_zero(mhz: list[float | None]) -> None:
    found = leg_clock(Counted([1e6, 2e6], mhz), "batch")
    assert (found.mhz, found.cycles) == (None, ())


def test_the_same_cycles_at_another_clock_are_no_change() -> None:
    """B takes 3 % longer at a clock that is 3 % lower: the code is the same."""
    a, b = Counted([1e6], [1545.0]), Counted([1.03e6], [1500.0])
    task = quads.Task(quads.settings(), 1.0, 1e6)
    run = quads.take(quads.Pair(a, b), task, InBandLegs())  # type: ignore[arg-type]
    assert run.clock_source == "in-band"
    time = core.effect_of(run.quads, 99.0)
    cycles = core.effect_of(run.quads, 99.0, "cycles")
    assert time is not None and time.change_pct == pytest.approx(3.0)
    assert cycles is not None and cycles.change_pct == pytest.approx(0.0, abs=1e-6)


def test_a_cpu_has_no_cycles() -> None:
    assert cycles_on("cpu", None) == "the clock of a CPU is not read"
