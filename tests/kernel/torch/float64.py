"""Attention written another way, in float64 and with einsum: what plans are compared with."""

from typing import Any

from mla_var3.core.plan import MlaPlan


def decompressed(plan: MlaPlan, inputs: tuple[Any, ...]) -> Any:
    """o [b, s, h, d] of flash_attention."""
    import torch

    q_nope, q_rope, keys, values, k_rope = (x.double() for x in inputs)
    scores = torch.einsum("bshd,bthd->bsht", q_nope, keys)
    scores = scores + torch.einsum("bshp,btp->bsht", q_rope, k_rope)
    return torch.einsum("bsht,bthd->bshd", weights(plan, scores), values)


def latent(plan: MlaPlan, inputs: tuple[Any, ...]) -> Any:
    """o [b, s, h, k] of flash_mla."""
    import torch

    q_latent, q_rope, z, k_rope = (x.double() for x in inputs)
    scores = torch.einsum("bshk,btk->bsht", q_latent, z)
    scores = scores + torch.einsum("bshp,btp->bsht", q_rope, k_rope)
    return torch.einsum("bsht,btk->bshk", weights(plan, scores), z)


def weights(plan: MlaPlan, scores: Any) -> Any:
    """exp of scaled scores over their sum, keys after each query left out one by one."""
    import torch

    exp = torch.exp(scores / (plan.d + plan.p) ** 0.5)
    if plan.causal:
        for query in range(plan.s):
            exp[:, query, :, plan.t - plan.s + query + 1 :] = 0
    return exp / exp.sum(-1, keepdim=True)
