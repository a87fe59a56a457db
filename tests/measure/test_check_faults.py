"""`check_plan` passes right results and finds every planted fault, and says which."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from tests.support.faulty_plan import FaultyMla

from mla_var3.core.errors import BadArgument, KernelFailed
from mla_var3.core.plan import Kernel, KernelPipeline
from mla_var3.core.record import Check
from mla_var3.kernel.torch.mla.flash_attention import FlashAttention
from mla_var3.kernel.torch.mla.flash_mla import FlashMla
from mla_var3.measure.check import check_plan
from mla_var3.measure.check_poison import PATTERNS, poison, unwritten

torch = pytest.importorskip("torch", reason="torch is not installed")
pytestmark = pytest.mark.kernel

Fault = Callable[[Any, tuple[Any, ...]], None]


def check(fault: Fault | None = None, before: Fault | None = None, **sizes: Any) -> Check:
    faults = {name: f for name, f in (("fault", fault), ("before", before)) if f is not None}
    return check_plan(FaultyMla(**faults, **sizes), "cpu", seed=4)


@pytest.mark.parametrize(
    "plan",
    [
        FaultyMla(),
        FaultyMla(dtype="fp16", causal=True),
        FaultyMla(dtype="fp32"),
        FlashMla(b=2, s=3, t=200, h=16, causal=True),
        FlashAttention(b=1, s=1, t=77, h=16),
    ],
)
def test_a_right_plan_passes(plan: Any) -> None:
    verdict = check_plan(plan, "cpu", seed=4)
    elements = plan.b * plan.s * plan.h * plan.result_size
    assert verdict.passed
    assert verdict.detail == f"all {elements} elements compared; seed 4, cpu"
    assert verdict.relative_error is not None
    assert verdict.worst_row is not None
    assert verdict.relative_error <= verdict.worst_row


def wrong_scale(out: Any, inputs: tuple[Any, ...]) -> None:
    """The scale of d alone, not of d + p: scores too large by sqrt(24 / 16)."""
    inputs[0].mul_(math.sqrt(24 / 16))
    inputs[1].mul_(math.sqrt(24 / 16))


def test_a_wrong_scale_fails() -> None:
    # The inputs are changed in place: the reference was computed before and does not follow.
    verdict = check(before=wrong_scale)
    assert not verdict.passed
    assert verdict.relative_error is not None
    assert verdict.relative_error > 0.05
    assert "relative error" in verdict.detail


def test_an_element_that_is_never_written_is_told_with_its_place() -> None:
    def skip(out: Any, inputs: tuple[Any, ...]) -> None:
        out[1, 3, 5, -2:] = poison_like(out)

    verdict = check(fault=skip)
    assert not verdict.passed
    assert "2 of 16384 elements never written, the first at b=1 axis1=3 h=5 axis3=30" in (
        verdict.detail
    )
    assert "NaN" not in verdict.detail
    assert verdict.relative_error is None


def poison_like(out: Any) -> Any:
    """One poisoned element of the type of `out`."""
    one = torch.empty(1, dtype=out.dtype)
    poison([Kernel("x", None, None, (), outputs=(one,))], ())
    return one


def test_a_computed_nan_is_not_called_unwritten() -> None:
    def nan(out: Any, inputs: tuple[Any, ...]) -> None:
        out[0, 0, 2, 1] = math.nan

    verdict = check(fault=nan)
    assert not verdict.passed
    assert "1 of 16384 elements NaN, the first at b=0 axis1=0 h=2 axis3=1" in verdict.detail
    assert "never written" not in verdict.detail


def test_one_bad_row_is_found_where_the_whole_hides_it() -> None:
    def one_row(out: Any, inputs: tuple[Any, ...]) -> None:
        out[1, 7, 11] *= 1.05  # one of 512 rows

    verdict = check(fault=one_row)
    assert not verdict.passed
    assert verdict.relative_error is not None
    assert verdict.relative_error < 5e-3
    assert verdict.detail.startswith("row b=1 axis1=7 h=11: error 0.049 > 0.02;")


@pytest.mark.parametrize(
    "fault",
    [
        lambda out, inputs: out.zero_(),
        lambda out, inputs: out.copy_(out.flip(0)),
        lambda out, inputs: out.copy_(out.flip(1)),
        lambda out, inputs: out[:, -1].mul_(2),
        lambda out, inputs: out.fill_(math.inf),
        lambda out, inputs: out.add_(out),
    ],
    ids=["zero", "sequences swapped", "queries swapped", "last row", "infinite", "twice"],
)
def test_other_wrong_results_fail(fault: Fault) -> None:
    assert not check(fault=fault).passed


def test_a_missing_causal_mask_fails() -> None:
    @dataclass(frozen=True, kw_only=True)
    class NoMask(FaultyMla):
        def plan(self, *inputs: Any) -> Any:
            return FaultyMla.plan(replace(self, causal=False), *inputs)

    assert not check_plan(NoMask(causal=True), "cpu", seed=1).passed
    assert check_plan(NoMask(causal=True, s=1), "cpu", seed=1).passed


def test_a_sample_finds_faults_in_it_and_missing_writes_everywhere() -> None:
    def head_3(out: Any, inputs: tuple[Any, ...]) -> None:
        out[1, :, 3] = 0

    def unwritten_head_3(out: Any, inputs: tuple[Any, ...]) -> None:
        out[1, :, 3] = poison_like(out)

    plan = FaultyMla(fault=head_3)
    inside = check_plan(plan, "cpu", 1, sample=((0, 0), (1, 3)))
    assert not inside.passed
    assert "row b=1 axis1=" in inside.detail
    assert "2 of 32 (b, h) compared, all rows of each; seed 1, cpu" in inside.detail
    assert check_plan(plan, "cpu", 1, sample=((0, 0), (1, 2))).passed
    missing = check_plan(replace(plan, fault=unwritten_head_3), "cpu", 1, sample=((0, 0),))
    assert not missing.passed
    assert "512 of 16384 elements never written" in missing.detail


def test_another_seed_draws_other_inputs_and_the_same_seed_the_same() -> None:
    plan = FaultyMla()
    first, again, other = (plan.prepare_inputs("cpu", seed)[0] for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    by_seed = [check_plan(plan, "cpu", seed).relative_error for seed in (1, 1, 2)]
    assert by_seed[0] == by_seed[1] != by_seed[2]


def test_every_stage_is_poisoned_before_the_run() -> None:
    seen = []

    @dataclass(frozen=True, kw_only=True)
    class TwoStages(FaultyMla):
        def plan(self, *inputs: Any) -> Any:
            last = super().plan(*inputs)
            partial = torch.zeros(3, dtype=torch.float32)
            look = Kernel("look", last.tiling, last.cost, (), outputs=(partial,))
            look = replace(look, launch=lambda: seen.append(partial.isnan().all().item()))
            return KernelPipeline((look, last))

    assert check_plan(TwoStages(), "cpu", 1).passed
    assert seen == [True]


@pytest.mark.parametrize("name", PATTERNS)
def test_poison_is_a_nan_of_its_own(name: str) -> None:
    tensor = torch.zeros(4, dtype=getattr(torch, name.removeprefix("torch.")))
    poison([Kernel("x", None, None, (), outputs=(tensor,))], ())
    assert tensor.isnan().all()
    assert unwritten(tensor).all()
    tensor[1] = math.nan
    tensor[2] = tensor[0] * 1 if name == "torch.float32" else torch.nan
    tensor[3] = math.inf - math.inf
    assert unwritten(tensor).tolist()[0] is True
    assert unwritten(tensor).tolist()[1] is False
    assert unwritten(tensor).tolist()[3] is False


def test_a_plan_that_cannot_be_judged_is_refused() -> None:
    @dataclass(frozen=True, kw_only=True)
    class InPlace(FaultyMla):
        def plan(self, *inputs: Any) -> Any:
            return replace(super().plan(*inputs), outputs=(inputs[0],))

    @dataclass(frozen=True, kw_only=True)
    class NoOutputs(FaultyMla):
        def plan(self, *inputs: Any) -> Any:
            return replace(super().plan(*inputs), outputs=())

    with pytest.raises(BadArgument, match="writes over an input"):
        check_plan(InPlace(), "cpu", 1)
    with pytest.raises(BadArgument, match="names no outputs"):
        check_plan(NoOutputs(), "cpu", 1)


def test_a_kernel_that_raises_is_one_line_with_its_stage() -> None:
    def raises(out: Any, inputs: tuple[Any, ...]) -> None:
        raise RuntimeError("tile out of range\nmore lines")

    with pytest.raises(KernelFailed) as caught:
        check(fault=raises)
    assert str(caught.value) == "stage flash_mla failed: RuntimeError: tile out of range"
