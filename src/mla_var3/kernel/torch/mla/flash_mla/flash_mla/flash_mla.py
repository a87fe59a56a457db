"""Latent attention in eager torch: the heads are rows of one product with the latent."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from mla_var3.core.plan import Kernel, KernelPlan, Language, Tensor, Tiling
from mla_var3.kernel.mla_problem.flash_mla import FlashMlaProblem
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
class FlashMlaTiling(ChunkTiling):
    """Memory for intermediate results."""

    def validate(self, plan: KernelPlan) -> bool:
        return isinstance(plan, FlashMla) and fits(plan.workspace(), self)


@dataclass(frozen=True, kw_only=True)
class FlashMla(FlashMlaProblem):
    """Latent attention, eager."""

    LANGUAGE: ClassVar[Language] = "torch"
    TILINGS: ClassVar[Mapping[str, Tiling]] = {"flash_mla": FlashMlaTiling()}

    def workspace(self) -> Workspace:
        """Latents of a sequence as float32 (CPU); scores, query (twice) and result of a query."""
        query = SCORE_BYTES * self.t + 2 * FLOAT_BYTES * (2 * self.k + self.p)
        return Workspace(FLOAT_BYTES * self.t * max(self.k, self.p), 0, query)

    def plan_empty(self) -> Kernel:
        return eager_stage(self, self.tiling(self.KERNEL))

    def plan(self, *inputs: Tensor) -> Kernel:
        out = self.empty_result(inputs[0].device)
        return eager_stage(self, self.tiling(self.KERNEL), lambda: self._attend(out, *inputs), out)

    def _attend(self, out: Tensor, *inputs: Tensor) -> None:
        """Write o [b, s, h, k]."""
        import torch

        q_latent, q_rope, latent, k_rope = inputs
        tiling = self.tiling(self.KERNEL)
        assert isinstance(tiling, FlashMlaTiling)
        size = self.workspace().chunk_size(self, tiling.workspace_mb * MB)
        for b, h, s in chunks(self, size):
            query, rope = (x[b, s, h].flatten(1, 2) for x in (q_latent, q_rope))  # [b, s*h, k | p]
            scores = product(query, latent[b].mT)  # [b, s*h, t]
            scores.add_(product(rope, k_rope[b].mT))
            rows = (s.stop - s.start, h.stop - h.start)
            scale_and_mask(self, scores.unflatten(1, rows).transpose(1, 2), s.start)
            weights = torch.softmax(scores, dim=-1).to(out.dtype)
            del scores  # the next product needs its memory
            out[b, s, h] = product(weights, latent[b]).unflatten(1, rows)
