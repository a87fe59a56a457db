"""Eager plans and their float32 reference against float64 einsums, on shapes that fit nothing."""

import weakref
from dataclasses import replace
from typing import Any

import pytest
from tests.kernel.torch.float64 import decompressed, latent

from mla_var3.core.plan import MlaPlan
from mla_var3.kernel.torch.chunking import MB
from mla_var3.kernel.torch.mla.flash_attention import FlashAttention, FlashAttentionTiling
from mla_var3.kernel.torch.mla.flash_mla import FlashMla, FlashMlaTiling

torch = pytest.importorskip("torch", reason="torch is not installed")
pytestmark = pytest.mark.kernel

DESIGNS = [(FlashAttention, decompressed), (FlashMla, latent)]
SHAPES: tuple[dict[str, Any], ...] = (
    {"b": 1, "s": 1, "t": 1, "h": 1},
    {"b": 2, "s": 1, "t": 77, "h": 16},
    {"b": 3, "s": 3, "t": 130, "h": 16, "causal": True},
    {"b": 1, "s": 67, "t": 67, "h": 5, "causal": True},
    {"b": 2, "s": 5, "t": 63, "h": 3, "dtype": "fp16"},
    {"b": 2, "s": 5, "t": 63, "h": 3, "d": 24, "k": 40, "p": 12, "dtype": "fp32", "causal": True},
)
ROUNDING = {"bf16": 2.0**-8, "fp16": 2.0**-11, "fp32": 1e-6}


def relative(result: Any, expected: Any) -> float:
    return float((result.double() - expected).norm() / expected.norm())


def run(plan: Any, inputs: tuple[Any, ...]) -> Any:
    kernel = plan.plan(*inputs)
    kernel.launch()
    return kernel.outputs[0]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(("kind", "truth"), DESIGNS)
def test_plan_and_reference_are_the_float64_result(
    kind: Any, truth: Any, shape: dict[str, Any]
) -> None:
    plan = kind(**shape)
    inputs = plan.prepare_inputs("cpu", seed=5)
    expected = truth(plan, inputs)
    result = run(plan, inputs)
    assert result.shape == expected.shape
    assert relative(result, expected) < ROUNDING[plan.dtype]
    assert relative(plan.reference_fn(*inputs), expected) < 1e-6


@pytest.mark.parametrize(("kind", "truth"), DESIGNS)
def test_a_sample_of_the_reference_is_that_part_of_the_whole(kind: Any, truth: Any) -> None:
    plan = kind(b=3, s=4, t=50, h=6, causal=True)
    inputs = plan.prepare_inputs("cpu", seed=1)
    expected = truth(plan, inputs)
    sample = ((2, 5), (0, 0), (2, 1))
    parts = plan.reference_sample(sample, *inputs)
    for part, (b, h) in zip(parts, sample, strict=True):
        assert relative(part, expected[b, :, h]) < 1e-6


def test_a_causal_query_sees_itself_and_nothing_later() -> None:
    plan = FlashMla(b=1, s=3, t=5, h=1, dtype="fp32", causal=True)
    inputs = plan.prepare_inputs("cpu", seed=2)
    before = run(plan, inputs).clone()
    inputs[2][0, 3] += 1.0  # key 3 belongs to query 1 (of 0, 1, 2)
    changed = (run(plan, inputs) != before).flatten(2).any(-1)[0]
    assert changed.tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("plan", "tiling"),
    [
        (FlashAttention(b=2, s=19, t=4000, h=6, causal=True), FlashAttentionTiling(workspace_mb=3)),
        (FlashMla(b=3, s=19, t=4000, h=6, k=64, causal=True), FlashMlaTiling(workspace_mb=2)),
    ],
)
def test_chunked_is_unchunked(plan: MlaPlan, tiling: Any) -> None:
    plan = replace(plan, dtype="fp32")
    small = plan.with_tilings({plan.KERNEL: tiling})
    size = small.workspace().chunk_size(small, tiling.workspace_mb * MB)
    assert size[2] < plan.s or size[1] < plan.h
    inputs = plan.prepare_inputs("cpu", seed=3)
    # The same products, but a library may sum them in another order.
    assert relative(run(small, inputs), run(plan, inputs).double()) < 5e-6


class Live(torch.utils._python_dispatch.TorchDispatchMode):
    """Counts the bytes of tensors that are alive, and the most there were."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes = self.most = 0
        self.known: set[int] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        before = {id(x.untyped_storage()) for x in args if isinstance(x, torch.Tensor)}
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor):
            storage = result.untyped_storage()
            if id(storage) not in before | self.known:
                self._born(storage)
        return result

    def _born(self, storage: Any) -> None:
        self.known.add(id(storage))
        self.bytes += storage.nbytes()
        self.most = max(self.most, self.bytes)
        weakref.finalize(storage, self._died, id(storage), storage.nbytes())

    def _died(self, key: int, size: int) -> None:
        self.known.discard(key)
        self.bytes -= size


@pytest.mark.parametrize("dtype", ["bf16", "fp32"])
@pytest.mark.parametrize(
    ("plan", "tiling"),
    [
        (FlashAttention(b=2, s=32, t=1000, h=16), FlashAttentionTiling(workspace_mb=2)),
        (FlashAttention(b=2, s=1, t=2000, h=16, causal=True), FlashAttentionTiling(workspace_mb=3)),
        (FlashMla(b=4, s=32, t=500, h=16, causal=True), FlashMlaTiling(workspace_mb=3)),
        (FlashMla(b=16, s=1, t=100, h=8), FlashMlaTiling(workspace_mb=1)),
    ],
)
def test_memory_while_running_stays_within_the_workspace(
    plan: Any, tiling: Any, dtype: str
) -> None:
    plan = replace(plan, dtype=dtype).with_tilings({plan.KERNEL: tiling})
    inputs = plan.prepare_inputs("cpu", seed=3)
    kernel = plan.plan(*inputs)
    with Live() as live:
        kernel.launch()
    size = plan.workspace().chunk_size(plan, tiling.workspace_mb * MB)
    assert live.most <= tiling.workspace_mb * MB
    if dtype == "bf16":  # float32 inputs are not converted: they need less
        assert live.most > 0.3 * plan.workspace().bytes(*size)
