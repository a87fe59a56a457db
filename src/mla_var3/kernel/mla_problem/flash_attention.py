"""Attention over decompressed keys and values, the rope part of the keys shared by all heads.

q_nope [b, s, h, d], q_rope [b, s, h, p], K [b, t, h, d], V [b, t, h, d], K_rope [b, t, p] give
o [b, s, h, d] = softmax((q_nope Kᵀ + q_rope K_ropeᵀ) / sqrt(d + p)) V. Memory-bound at small s:
K and V of every head are read for s queries only.
"""

from dataclasses import dataclass
from typing import ClassVar

from mla_var3.core.plan import Cost, Tensor, Tiling
from mla_var3.kernel.mla_problem.attention import (
    AttentionProblem,
    attend,
    attention_cost,
    score_scale,
)


@dataclass(frozen=True, kw_only=True)
class FlashAttentionProblem(AttentionProblem):
    """Decompressed attention without a kernel: inputs, float32 reference and work."""

    KERNEL: ClassVar[str] = "flash_attention"

    @property
    def result_size(self) -> int:
        return self.d

    def input_shapes(self) -> tuple[tuple[int, ...], ...]:
        """Of q_nope, q_rope, K, V, K_rope."""
        b, s, t, h, d, p = self.b, self.s, self.t, self.h, self.d, self.p
        return (b, s, h, d), (b, s, h, p), (b, t, h, d), (b, t, h, d), (b, t, p)

    def attend_sequence(self, b: int, heads: list[int], *inputs: Tensor) -> Tensor:
        *by_head, k_rope = inputs
        q_nope, q_rope, keys, values = (x[b, :, heads].transpose(0, 1) for x in by_head)
        products = ((q_nope, keys), (q_rope, k_rope[b]))  # q [n, s, d or p], k [n, t, d], [t, p]
        return attend(products, values, score_scale(self), self.causal)

    def _algorithmic_flops_bytes(self, tiling: Tiling | None = None) -> Cost:
        queries, cached = self.b * self.s * self.h, self.b * self.t
        read = queries * (self.d + self.p) + cached * (2 * self.h * self.d + self.p)
        return attention_cost(self, self.d + self.p, self.d, read, queries * self.d)
