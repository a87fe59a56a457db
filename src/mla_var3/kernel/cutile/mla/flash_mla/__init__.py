"""Latent attention; shapes and maths in `kernel.mla_problem.flash_mla`.

The s new tokens and the h heads are one axis of rows, token by token (row = token · h + head): all
of them read the same latent. A block owns 64 rows and runs over the keys once; the latent tile in
shared memory is key for the scores and value for the result.
"""

try:
    from mla_var3.kernel.cutile.mla.flash_mla.flash_mla.flash_mla import FlashMla, FlashMlaTiling
    from mla_var3.kernel.cutile.mla.flash_mla.flash_mla_v1.flash_mla_v1 import (
        FlashMlaV1,
        FlashMlaV1CombineTiling,
        FlashMlaV1LatentTiling,
    )
except ModuleNotFoundError as absent:
    # Without cuda.tile the command of this package still runs, to say how to install it.
    if not (absent.name or "").startswith("cuda"):
        raise

__all__ = [
    "FlashMla",
    "FlashMlaTiling",
    "FlashMlaV1",
    "FlashMlaV1CombineTiling",
    "FlashMlaV1LatentTiling",
]
