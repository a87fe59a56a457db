"""Attention over decompressed keys; shapes and maths in `kernel.mla_problem.flash_attention`.

A block owns some query tokens of one head and runs over that head's keys and values once. The rope
part of the keys is one copy for all heads: a second, narrow product adds its scores.
"""

try:
    from mla_var3.kernel.cutile.mla.flash_attention.flash_attention.flash_attention import (
        FlashAttention,
        FlashAttentionTiling,
    )
    from mla_var3.kernel.cutile.mla.flash_attention.flash_attention_v1.flash_attention_v1 import (
        FlashAttentionV1,
        FlashAttentionV1Tiling,
    )
except ModuleNotFoundError as absent:
    # Without cuda.tile the command of this package still runs, to say how to install it.
    if not (absent.name or "").startswith("cuda"):
        raise

__all__ = [
    "FlashAttention",
    "FlashAttentionTiling",
    "FlashAttentionV1",
    "FlashAttentionV1Tiling",
]
