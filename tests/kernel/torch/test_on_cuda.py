"""Torch plans on a GPU: products of narrow types kept in float32, overlap, a full-size sample."""

from typing import Any

import pytest

from mla_var3.kernel.torch.mla.demo_concurrent import DemoConcurrent
from mla_var3.kernel.torch.mla.flash_attention import FlashAttention
from mla_var3.kernel.torch.mla.flash_mla import FlashMla
from mla_var3.measure.check import check_plan
from mla_var3.measure.launch import enqueue

torch = pytest.importorskip("torch", reason="torch is not installed")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]


@pytest.mark.parametrize("dtype", ["bf16", "fp16", "fp32"])
@pytest.mark.parametrize("kind", [FlashAttention, FlashMla])
def test_plans_pass_their_check(kind: Any, dtype: str) -> None:
    plan = kind(b=3, s=5, t=333, h=16, dtype=dtype, causal=True)
    verdict = check_plan(plan, "cuda:0", seed=1)
    assert verdict.passed, verdict.detail


def test_a_sample_of_the_full_size_passes() -> None:
    verdict = check_plan(FlashMla(), "cuda:0", seed=1, sample=((0, 0), (31, 127), (7, 5)))
    assert verdict.passed, verdict.detail
    assert verdict.detail.startswith("3 of 4096 (b, h) compared")


@pytest.mark.parametrize("streams", [1, 2])
def test_the_concurrent_demo_passes_its_check(streams: int) -> None:
    verdict = check_plan(DemoConcurrent(streams=streams), "cuda:0", seed=1)
    assert verdict.passed, verdict.detail


def test_two_streams_take_less_time_than_one() -> None:
    def milliseconds(streams: int) -> float:
        plan = DemoConcurrent(streams=streams, n=8192, rows=4096)
        runnable = plan.plan(*plan.prepare_inputs("cuda", seed=1))
        times = []
        for _ in range(9):
            start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            enqueue(runnable)
            stop.record()
            stop.synchronize()
            times.append(start.elapsed_time(stop))
        return sorted(times)[4]

    # An H200 needs 1.6 ms with two and 2.8 ms with one.
    assert milliseconds(2) < 0.8 * milliseconds(1)
