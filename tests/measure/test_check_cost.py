"""CPU estimates by hand, and refusals with a smaller problem that is accepted."""

import re
from dataclasses import dataclass, fields, replace
from typing import Any

import pytest

from mla_var3.core.errors import MachineCannot
from mla_var3.core.plan import Cost, Kernel, KernelPlan, MlaPlan, Tiling, problem
from mla_var3.kernel.torch.mla.demo_concurrent import DemoConcurrent
from mla_var3.kernel.torch.mla.flash_attention import FlashAttention
from mla_var3.kernel.torch.mla.flash_mla import FlashMla
from mla_var3.measure.check import check_plan
from mla_var3.measure.check_cost import (
    estimate_cpu_seconds,
    reference_seconds,
    refuse_slow_cpu,
    smaller_problem,
)

RATE = 4e10
"""A CPU of 40 GFLOP/s."""


@dataclass(frozen=True, kw_only=True)
class Interpreted(FlashMla):
    """Takes a second a sequence in an interpreter, whatever the FLOPs, and `fixed` more."""

    fixed: float = 0.0

    def plan_empty(self) -> Kernel:
        return replace(super().plan_empty(), cpu_seconds=float(self.b) + self.fixed)

    def prepare_inputs(self, device: str, seed: int = 0) -> Any:
        raise AssertionError("refused before any memory is taken")


@dataclass(frozen=True, kw_only=True)
class OwnSizes(KernelPlan):
    """A plan without b, s, t: its whole numbers are what may shrink."""

    KERNEL = "own"
    rows: int = problem(1000, "rows")
    columns: int = problem(64, "columns")
    eps: float = problem(1e-6, "a fraction stays")
    flag: bool = problem(True, "a switch stays")

    def plan_empty(self) -> Kernel:
        return Kernel("own", Tiling(), Cost(0, 0, 0), (), cpu_seconds=self.rows * self.columns / 64)

    def plan(self, *inputs: Any) -> Kernel:
        return self.plan_empty()

    def prepare_inputs(self, device: str, seed: int = 0) -> Any:
        return ()

    def reference_fn(self, *inputs: Any) -> Any:
        return None

    def _algorithmic_flops_bytes(self, tiling: Tiling | None = None) -> Cost:
        return Cost(0.0, 0.0, 0.0)


def test_the_estimate_by_hand() -> None:
    plan = FlashMla(b=2, s=4, t=1000, h=16)
    flops = 2 * 2 * 16 * 4 * 1000 * (576 + 512)
    read, write = (2 * 1000 + 2 * 4 * 16) * 576, 2 * 4 * 16 * 512
    run = flops / (RATE * 0.5) + (read + write) * 1e-8
    reference = flops / 2e10 + (read + write) / 8e7
    assert estimate_cpu_seconds(plan, RATE) == pytest.approx(run + read * 1.5e-8 + reference)
    assert reference_seconds(plan, "cpu") == pytest.approx(reference)


def test_a_long_reference_counts_only_as_much_as_is_sampled() -> None:
    short, long = FlashMla(b=1, s=64), FlashMla(b=32, s=64)
    assert reference_seconds(long, "cpu") > 60
    grown = estimate_cpu_seconds(long, RATE) - 32 * estimate_cpu_seconds(short, RATE)
    assert grown < 0


def test_an_interpreters_own_estimate_is_used() -> None:
    slow = Interpreted(b=40, t=64, h=1)
    assert estimate_cpu_seconds(slow, RATE) == pytest.approx(40, abs=1)
    refuse_slow_cpu(slow, RATE)


@pytest.mark.parametrize(
    "plan",
    [
        FlashAttention(),
        FlashAttention(b=1, s=4096, t=8192, causal=True),
        FlashMla(s=512),
        FlashMla(b=1, s=16384, t=16384),
        Interpreted(b=61),
        Interpreted(b=5000, h=3),
        DemoConcurrent(n=16384),
        OwnSizes(),
    ],
)
def test_the_smaller_problem_of_a_refusal_is_accepted(plan: KernelPlan) -> None:
    with pytest.raises(MachineCannot) as refused:
        refuse_slow_cpu(plan, RATE)
    text = str(refused.value)
    assert re.search(r"would take about (\d+ s|\d+ min|[\d.]+ h) on this CPU \(limit 60 s\)", text)
    assert "\n" not in text
    typed = dict(re.findall(r"--(\w+)=(\d+)", text.partition("try ")[2]))
    assert typed
    smaller = replace(plan, **{name: int(value) for name, value in typed.items()})
    smaller.validate()
    refuse_slow_cpu(smaller, RATE)
    refuse_slow_cpu(smaller, RATE / 2)  # with room for a measurement that comes out slower
    kept = [f.name for f in fields(plan) if f.name not in typed]
    assert all(getattr(smaller, name) == getattr(plan, name) for name in kept)


def test_exactly_a_minute_is_accepted() -> None:
    plan = OwnSizes(rows=60)
    assert estimate_cpu_seconds(plan, RATE) == 60
    refuse_slow_cpu(plan, RATE)
    with pytest.raises(MachineCannot):
        refuse_slow_cpu(replace(plan, rows=61), RATE)


def test_a_problem_that_no_size_helps_names_the_gpu_only() -> None:
    with pytest.raises(MachineCannot, match="run it on a GPU: --device=cuda") as refused:
        refuse_slow_cpu(Interpreted(b=1, fixed=100.0), RATE)
    assert "try" not in str(refused.value)


def test_sizes_shrink_from_the_one_furthest_above_its_floor() -> None:
    plan = FlashMla(b=4, s=2, t=64, h=64)
    seen: list[tuple[int, ...]] = []

    def never(smaller: KernelPlan) -> bool:
        assert isinstance(smaller, MlaPlan)
        seen.append((smaller.b, smaller.s, smaller.t, smaller.h))
        return False

    assert smaller_problem(plan, never) is None
    assert seen[:4] == [(4, 2, 64, 64), (4, 2, 64, 32), (4, 2, 64, 16), (2, 2, 64, 16)]
    assert seen[-1] == (1, 1, 64, 4)


def test_shrinking_never_makes_s_larger_than_t() -> None:
    smaller = smaller_problem(FlashMla(b=1, h=4, s=300, t=301), lambda p: p.params()["t"] <= 64)
    assert smaller is not None
    assert smaller.params()["s"] <= smaller.params()["t"]


@pytest.mark.kernel
def test_check_refuses_before_it_makes_inputs() -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    with pytest.raises(MachineCannot, match="limit 60 s"):
        check_plan(Interpreted(b=61), "cpu", seed=0)


@pytest.mark.kernel
@pytest.mark.parametrize("plan", [FlashMla(b=1, s=16, t=2048), FlashAttention(b=1, t=1024)])
def test_the_estimate_is_near_what_a_check_takes(plan: KernelPlan) -> None:
    import time

    pytest.importorskip("torch", reason="torch is not installed")
    check_plan(plan, "cpu", seed=0)
    start = time.perf_counter()
    check_plan(plan, "cpu", seed=0)
    seconds = time.perf_counter() - start
    assert seconds / 10 < estimate_cpu_seconds(plan) < seconds * 20


def test_a_run_on_the_cpu_costs_what_it_makes_there() -> None:
    """`plan` makes grids for the default SMs where tensors lie on a CPU, whatever was set."""

    class Split(Interpreted):
        def plan_empty(self) -> Kernel:
            return replace(super().plan_empty(), cpu_seconds=float(self.target_sms or 10))

    assert estimate_cpu_seconds(Split().for_sms(1000), RATE) == estimate_cpu_seconds(Split(), RATE)
