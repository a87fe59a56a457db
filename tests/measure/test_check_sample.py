"""Which parts are compared: corners always, as many as the time allows, the same for a seed."""

import pytest

from mla_var3.kernel.torch.mla.demo_concurrent import DemoConcurrent
from mla_var3.kernel.torch.mla.flash_attention import FlashAttention
from mla_var3.kernel.torch.mla.flash_mla import FlashMla
from mla_var3.measure.check_cost import reference_seconds
from mla_var3.measure.check_sample import choose_sample, place, spread_sample, take


def test_a_small_problem_and_one_without_parts_are_compared_in_full() -> None:
    assert choose_sample(FlashMla(b=2, h=16, t=200), (2, 1, 16, 512), "cpu", 0) is None
    assert choose_sample(DemoConcurrent(n=9999), (9999, 9999), "cpu", 0) is None


@pytest.mark.parametrize("plan", [FlashAttention(), FlashMla(s=16), FlashMla(s=256)])
@pytest.mark.parametrize(("device", "limit"), [("cpu", 2.0), ("cuda:0", 1.0)])
def test_a_sample_keeps_to_the_time_and_has_the_corners(
    plan: FlashMla | FlashAttention, device: str, limit: float
) -> None:
    shape = (plan.b, plan.s, plan.h, plan.result_size)
    sample = choose_sample(plan, shape, device, seed=0)
    whole = reference_seconds(plan, device)
    if sample is None:
        assert whole <= limit
        return
    assert {(0, 0), (0, 127), (31, 0), (31, 127)} <= set(sample)
    assert len(sample) == len(set(sample)) == max(4, int(4096 * limit / whole))
    assert all(0 <= b < 32 and 0 <= h < 128 for b, h in sample)


def test_samples_by_count_and_seed() -> None:
    assert spread_sample([3, 5], 1, 0) == ((0, 0), (0, 4), (2, 0), (2, 4))
    assert spread_sample([1, 1], 9, 0) == ((0, 0),)
    assert spread_sample([1, 4], 2, 0) == ((0, 0), (0, 3))
    assert len(spread_sample([3, 5], 7, 0)) == 7
    everything = tuple((b, h) for b in range(3) for h in range(5))
    assert spread_sample([3, 5], 99, 0) == everything
    assert spread_sample([32, 128], 50, 1) == spread_sample([32, 128], 50, 1)
    assert spread_sample([32, 128], 50, 1) != spread_sample([32, 128], 50, 2)


def test_parts_are_taken_along_the_axes_of_the_plan() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    result = torch.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)
    parts = take(FlashMla(), result, ((1, 2), (0, 3)))
    assert torch.equal(parts, torch.stack([result[1, :, 2], result[0, :, 3]]))


def test_places_are_those_of_the_result() -> None:
    plan = FlashMla()
    assert place(plan, (1, 2, 3, 4), None, 4) == "b=1 axis1=2 h=3 axis3=4"
    assert place(plan, (1, 2, 3), None, 4) == "b=1 axis1=2 h=3"
    assert place(plan, (1, 5), ((0, 0), (7, 9)), 4) == "b=7 axis1=5 h=9"
    assert place(DemoConcurrent(), (4,), None, 2) == "axis0=4"
