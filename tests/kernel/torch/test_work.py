"""FLOPs and bytes of every plan against loops that count one multiplication at a time."""

from typing import Any

import pytest

from mla_var3.core.plan import KernelPlan, stages_of
from mla_var3.kernel.torch.mla.demo_concurrent import DemoConcurrent
from mla_var3.kernel.torch.mla.flash_attention import FlashAttention
from mla_var3.kernel.torch.mla.flash_mla import FlashMla

TINY: tuple[dict[str, Any], ...] = (
    {"b": 1, "s": 1, "t": 1, "h": 1, "d": 1, "k": 1, "p": 1},
    {"b": 2, "s": 3, "t": 5, "h": 2, "d": 4, "k": 7, "p": 3},
    {"b": 2, "s": 3, "t": 5, "h": 2, "d": 4, "k": 7, "p": 3, "causal": True},
    {"b": 1, "s": 4, "t": 4, "h": 3, "d": 2, "k": 5, "p": 1, "causal": True, "dtype": "fp32"},
)


def counted_flops(plan: Any, score_size: int, value_size: int) -> int:
    """One multiplication and one addition an element of each of the two products."""
    flops = 0
    for _sequence in range(plan.b):
        for _head in range(plan.h):
            for query in range(plan.s):
                for key in range(plan.t):
                    if plan.causal and key > plan.t - plan.s + query:
                        continue
                    for _element in range(score_size):
                        flops += 2
                    for _element in range(value_size):
                        flops += 2
    return flops


def touched(plan: Any, arrays: dict[str, tuple[int, ...]]) -> int:
    """Different elements that a naive algorithm touches, by walking every index."""
    seen = set()
    for name, shape in arrays.items():
        indices: list[tuple[int, ...]] = [()]
        for size in shape:
            indices = [(*index, i) for index in indices for i in range(size)]
        seen |= {(name, *index) for index in indices}
    return len(seen)


@pytest.mark.parametrize("sizes", TINY, ids=str)
def test_work_of_decompressed_attention(sizes: dict[str, Any]) -> None:
    plan = FlashAttention(**sizes)
    b, s, t, h, d, p = plan.b, plan.s, plan.t, plan.h, plan.d, plan.p
    arrays = {"qn": (b, s, h, d), "qr": (b, s, h, p), "K": (b, t, h, d), "V": (b, t, h, d)}
    width = 4 if plan.dtype == "fp32" else 2
    cost = plan._algorithmic_flops_bytes()
    assert cost.flops == counted_flops(plan, d + p, d)
    assert cost.read_bytes == width * touched(plan, arrays | {"rope": (b, t, p)})
    assert cost.write_bytes == width * touched(plan, {"o": (b, s, h, d)})


@pytest.mark.parametrize("sizes", TINY, ids=str)
def test_work_of_latent_attention(sizes: dict[str, Any]) -> None:
    plan = FlashMla(**sizes)
    b, s, t, h, k, p = plan.b, plan.s, plan.t, plan.h, plan.k, plan.p
    arrays = {"q": (b, s, h, k), "qr": (b, s, h, p), "Z": (b, t, k), "rope": (b, t, p)}
    width = 4 if plan.dtype == "fp32" else 2
    cost = plan._algorithmic_flops_bytes()
    assert cost.flops == counted_flops(plan, k + p, k)
    assert cost.read_bytes == width * touched(plan, arrays)
    assert cost.write_bytes == width * touched(plan, {"o": (b, s, h, k)})


def test_work_at_the_usual_size_by_hand() -> None:
    # 32 x 128 x 4096 pairs of 576 + 512 multiply-adds; 32 x 4096 latents of 576, twice 16.8 M.
    latent = FlashMla()._algorithmic_flops_bytes()
    assert latent.flops == 2 * 16_777_216 * 1088
    assert latent.read_bytes == 2 * (32 * 4096 + 32 * 128) * 576
    plain = FlashAttention()._algorithmic_flops_bytes()
    assert plain.flops == 2 * 16_777_216 * 320
    assert latent.flops / plain.flops == 3.4


def test_work_of_the_concurrent_stages() -> None:
    plan = DemoConcurrent(n=3, rows=2)
    costs = plan.costs()
    assert costs["matmul"].flops == sum(2 for _ in range(3) for _ in range(3) for _ in range(3))
    assert (costs["matmul"].read_bytes, costs["matmul"].write_bytes) == (2 * 18, 2 * 9)
    assert (costs["copy"].read_bytes, costs["copy"].write_bytes) == (0, 2 * 6)
    assert (costs["join"].flops, costs["join"].bytes) == (6, 2 * 18)


@pytest.mark.parametrize("plan", [FlashAttention(), FlashMla(), DemoConcurrent()])
def test_stages_add_up_to_the_whole(plan: KernelPlan) -> None:
    stages = [kernel.cost for kernel in stages_of(plan.plan_empty())]
    total = sum(stages[1:], stages[0])
    assert total == plan._algorithmic_flops_bytes()
    assert all(kernel.launch is None for kernel in stages_of(plan.plan_empty()))
    assert all(kernel.no_compile_reason for kernel in stages_of(plan.plan_empty()))
