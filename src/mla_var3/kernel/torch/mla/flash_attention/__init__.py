"""Decompressed attention; shapes and maths in `kernel.mla_problem.flash_attention`."""

from mla_var3.kernel.torch.mla.flash_attention.flash_attention.flash_attention import (
    FlashAttention,
    FlashAttentionTiling,
)

__all__ = ["FlashAttention", "FlashAttentionTiling"]
