"""Eager attention of one chunk, and the stage that a torch plan launches."""

from collections.abc import Callable

from mla_var3.core.plan import Kernel, MlaPlan, Tensor, Tiling
from mla_var3.kernel.mla_problem.attention import hide_future, score_scale

NOTHING_TO_COMPILE = "torch runs kernels that are compiled already"


def product(a: Tensor, b: Tensor) -> Tensor:
    """a [n, r, x] times b [n, x, c] or [x, c], in float32: never rounded to the narrow type.

    bf16 scores would cost latent attention 0.6 % of its accuracy, three times as much as all else.
    A CPU multiplies float32 up to 80 times faster than bf16, hence the conversion there.
    """
    import torch

    if not a.is_cuda or a.dtype == torch.float32:
        return torch.matmul(a.float(), b.float())
    if b.ndim == 3:
        return torch.bmm(a, b, out_dtype=torch.float32)
    flat = torch.mm(a.flatten(0, 1), b, out_dtype=torch.float32)
    return flat.unflatten(0, a.shape[:2])


def scale_and_mask(plan: MlaPlan, scores: Tensor, first_query: int) -> None:
    """Scores [..., queries, t] as the softmax takes them, in place."""
    scores.mul_(score_scale(plan))
    if plan.causal:
        hide_future(scores, first_query, plan.s)


def multiply_into(out: Tensor, a: Tensor, b: Tensor) -> None:
    """out [n, m] = a [n, x] times b [x, m], in the type of `out`."""
    import torch

    if out.is_cuda:
        torch.mm(a, b, out=out)
    else:
        out.copy_(a.float() @ b.float())


def eager_stage(
    plan: MlaPlan, tiling: Tiling, launch: Callable[[], None] | None = None, *outputs: Tensor
) -> Kernel:
    """The one stage of an eager plan, named as the design."""
    return Kernel(
        name=plan.KERNEL,
        tiling=tiling,
        cost=plan._algorithmic_flops_bytes(tiling),
        grid=(),
        launch=launch,
        outputs=outputs,
        no_compile_reason=NOTHING_TO_COMPILE,
        compute_dtype=plan.dtype,
    )
