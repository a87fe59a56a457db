"""Latent attention; shapes and maths in `kernel.mla_problem.flash_mla`."""

from mla_var3.kernel.torch.mla.flash_mla.flash_mla.flash_mla import FlashMla, FlashMlaTiling

__all__ = ["FlashMla", "FlashMlaTiling"]
