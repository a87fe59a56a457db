"""Decompressed attention in eager torch: two products, a softmax, in chunks of one sequence."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from mla_var3.core.plan import Kernel, KernelPlan, Language, Tensor, Tiling
from mla_var3.kernel.mla_problem.flash_attention import FlashAttentionProblem
from mla_var3.kernel.torch.chunking import (
    FLOAT_BYTES,
    MB,
    SCORE_BYTES,
    ChunkTiling,
    Workspace,
    chunks,
    fits,
)
from mla_var3.kernel.torch.eager import eager_stage, product, scale_and_mask


@dataclass(frozen=True, order=True)
class FlashAttentionTiling(ChunkTiling):
    """Memory for intermediate results."""

    def validate(self, plan: KernelPlan) -> bool:
        return isinstance(plan, FlashAttention) and fits(plan.workspace(), self)


@dataclass(frozen=True, kw_only=True)
class FlashAttention(FlashAttentionProblem):
    """Decompressed attention, eager."""

    LANGUAGE: ClassVar[Language] = "torch"
    TILINGS: ClassVar[Mapping[str, Tiling]] = {"flash_attention": FlashAttentionTiling()}

    def workspace(self) -> Workspace:
        """Keys or values of a head as float32 (CPU); scores, query and result of a query."""
        query = SCORE_BYTES * self.t + FLOAT_BYTES * (2 * self.d + self.p)
        return Workspace(FLOAT_BYTES * self.t * self.p, FLOAT_BYTES * self.t * self.d, query)

    def plan_empty(self) -> Kernel:
        return eager_stage(self, self.tiling(self.KERNEL))

    def plan(self, *inputs: Tensor) -> Kernel:
        out = self.empty_result(inputs[0].device)
        return eager_stage(self, self.tiling(self.KERNEL), lambda: self._attend(out, *inputs), out)

    def _attend(self, out: Tensor, *inputs: Tensor) -> None:
        """Write o [b, s, h, d]."""
        import torch

        q_nope, q_rope, keys, values, k_rope = inputs
        tiling = self.tiling(self.KERNEL)
        assert isinstance(tiling, FlashAttentionTiling)
        _, heads, queries = self.workspace().chunk_size(self, tiling.workspace_mb * MB)
        # Heads of several sequences cannot be one batch without a copy of K and V: one at a time.
        for sequence, h, s in chunks(self, (1, heads, queries)):
            b = sequence.start
            key, value = (x[b, :, h].transpose(0, 1) for x in (keys, values))  # [heads, t, d]
            nope, rope = (x[b, s, h].transpose(0, 1) for x in (q_nope, q_rope))  # [heads, s, d | p]
            scores = product(nope, key.mT)  # [heads, s, t]
            scores.add_(product(rope, k_rope[b].mT))
            scale_and_mask(self, scores, s.start)
            weights = torch.softmax(scores, dim=-1).to(out.dtype)
            del scores  # the next product needs its memory
            out[b, s, h] = product(weights, value).transpose(0, 1)
