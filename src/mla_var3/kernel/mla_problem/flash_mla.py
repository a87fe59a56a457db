"""Attention in the latent space: one latent is key and value of all heads (absorbed MLA).

q_latent [b, s, h, k], q_rope [b, s, h, p], Z [b, t, k], K_rope [b, t, p] give
o [b, s, h, k] = softmax((q_latent Zᵀ + q_rope K_ropeᵀ) / sqrt(d + p)) Z. The scale is that of the
decompressed head, since q_latent holds the query times W_UK. 3.4 times the FLOPs of decompressed
attention at d = 128, k = 512, p = 64, but each latent is read once for all heads.
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
class FlashMlaProblem(AttentionProblem):
    """Latent attention without a kernel: inputs, float32 reference and work."""

    KERNEL: ClassVar[str] = "flash_mla"

    @property
    def result_size(self) -> int:
        return self.k

    def input_shapes(self) -> tuple[tuple[int, ...], ...]:
        """Of q_latent, q_rope, Z, K_rope."""
        b, s, t, h, k, p = self.b, self.s, self.t, self.h, self.k, self.p
        return (b, s, h, k), (b, s, h, p), (b, t, k), (b, t, p)

    def attend_sequence(self, b: int, heads: list[int], *inputs: Tensor) -> Tensor:
        q_latent, q_rope, latent, k_rope = inputs
        queries, rope = (x[b, :, heads].transpose(0, 1) for x in (q_latent, q_rope))
        products = ((queries, latent[b]), (rope, k_rope[b]))  # q [n, s, k or p], k [t, k or p]
        return attend(products, latent[b], score_scale(self), self.causal)

    def _algorithmic_flops_bytes(self, tiling: Tiling | None = None) -> Cost:
        queries, cached = self.b * self.s * self.h, self.b * self.t
        read = (queries + cached) * (self.k + self.p)
        return attention_cost(self, self.k + self.p, self.k, read, queries * self.k)
