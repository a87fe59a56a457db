"""Attention over s new tokens of t: scale, causal mask, inputs, and the plain float32 result."""

import math
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from mla_var3.core.plan import DTYPE_BYTES, DTYPE_NAMES, Cost, MlaPlan, Sample, Tensor

REFERENCE_SCORES = 1 << 27
"""Scores that the reference holds at a time: 0.5 GB of float32."""


def score_scale(plan: MlaPlan) -> float:
    """Factor of the scores before the softmax: 1 / sqrt(d + p) in every design."""
    return 1.0 / math.sqrt(plan.d + plan.p)


def visible_pairs(plan: MlaPlan) -> int:
    """(query, key) pairs over all sequences and heads; causal query i of s sees t - s + i + 1."""
    hidden = plan.s * (plan.s - 1) // 2 if plan.causal else 0
    return plan.b * plan.h * (plan.s * plan.t - hidden)


def attention_cost(
    plan: MlaPlan, score_size: int, value_size: int, read_elements: int, write_elements: int
) -> Cost:
    """Work of the two products, 2 FLOPs a multiply-add; exponentials are not counted.

    Every input and the result cross device memory once.
    """
    size = DTYPE_BYTES[plan.dtype]
    flops = 2 * visible_pairs(plan) * (score_size + value_size)
    return Cost(float(flops), float(read_elements * size), float(write_elements * size))


def hide_future(scores: Tensor, first_query: int, s: int) -> None:
    """Set scores [..., queries, t] of keys after each query to -inf, in place.

    Query i of s, counted from `first_query` on, sees keys up to t - s + i.
    """
    import torch

    queries, t = scores.shape[-2:]
    last_key = torch.arange(queries, device=scores.device) + (first_query + t - s)
    hidden = torch.arange(t, device=scores.device) > last_key[:, None]
    scores.masked_fill_(hidden, -math.inf)


def attend(
    products: Sequence[tuple[Tensor, Tensor]], values: Tensor, scale: float, causal: bool
) -> Tensor:
    """softmax(scale · Σ q kᵀ) v in float32, [n, s, e]; q [n, s, x], k and v [n, t, x] or [t, x]."""
    import torch

    n, s = products[0][0].shape[:2]
    rows = max(1, REFERENCE_SCORES // (n * values.shape[-2]))
    results = []
    for first in range(0, s, rows):
        scores = sum(q[:, first : first + rows].float() @ k.float().mT for q, k in products)
        scores *= scale
        if causal:
            hide_future(scores, first, s)
        results.append(torch.softmax(scores, dim=-1) @ values.float())
    return torch.cat(results, dim=1)


def heads_of_sequences(sample: Sample) -> dict[int, list[tuple[int, int]]]:
    """Sampled heads by sequence, each with its position in the sample."""
    found: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for position, (b, h) in enumerate(sample):
        found[b].append((position, h))
    return found


@dataclass(frozen=True, kw_only=True)
class AttentionProblem(MlaPlan):
    """An attention design without a kernel. A design tells its sizes and one sequence's result."""

    @property
    @abstractmethod
    def result_size(self) -> int:
        """Elements of one query's result."""

    @abstractmethod
    def input_shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shapes of the inputs, in their order."""

    @abstractmethod
    def attend_sequence(self, b: int, heads: list[int], *inputs: Tensor) -> Tensor:
        """float32 results of some heads of sequence b, [n, s, result_size]."""

    def prepare_inputs(self, device: str, seed: int = 0) -> tuple[Tensor, ...]:
        """Normal random tensors; the same for the same seed and kind of device."""
        import torch

        generator = torch.Generator(device).manual_seed(seed)
        dtype = getattr(torch, DTYPE_NAMES[self.dtype])
        return tuple(
            torch.randn(shape, generator=generator, device=device, dtype=dtype)
            for shape in self.input_shapes()
        )

    def empty_result(self, device: str) -> Tensor:
        """o [b, s, h, result_size], not initialised."""
        import torch

        shape = (self.b, self.s, self.h, self.result_size)
        return torch.empty(shape, dtype=getattr(torch, DTYPE_NAMES[self.dtype]), device=device)

    def reference_fn(self, *inputs: Tensor) -> Tensor:
        everything = tuple((b, h) for b in range(self.b) for h in range(self.h))
        parts = self.reference_sample(everything, *inputs)  # [b * h, s, result_size]
        return parts.unflatten(0, (self.b, self.h)).transpose(1, 2)  # [b, s, h, result_size]

    def reference_sample(self, sample: Sample, *inputs: Tensor) -> Tensor:
        """float32 results of the sampled (b, h), [n, s, result_size]."""
        import torch

        shape = (len(sample), self.s, self.result_size)
        out = torch.empty(shape, dtype=torch.float32, device=inputs[0].device)
        for b, found in heads_of_sequences(sample).items():
            positions, heads = map(list, zip(*found, strict=True))
            out[positions] = self.attend_sequence(b, heads, *inputs)
        return out
