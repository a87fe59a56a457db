"""What the versions of decompressed attention share on the host: arrays, numbers, grid, work."""

import math

from mla_var3.kernel.cutile.arguments import ArraySpec, TileCall
from mla_var3.kernel.cutile.interpreter.cost import TileWork
from mla_var3.kernel.cutile.softmax import LOG2_E
from mla_var3.kernel.cutile.tilings import power_of_two, tiles_over
from mla_var3.kernel.mla_problem.attention import score_scale
from mla_var3.kernel.mla_problem.flash_attention import FlashAttentionProblem


def attention_arrays(plan: FlashAttentionProblem) -> tuple[ArraySpec, ...]:
    """Specs of the inputs and the result [b, s, h, d]."""
    shapes = *plan.input_shapes(), (plan.b, plan.s, plan.h, plan.d)
    return tuple(ArraySpec(shape, plan.dtype) for shape in shapes)


def attention_numbers(
    plan: FlashAttentionProblem, rows: int, keys: int
) -> tuple[float | int | bool, ...]:
    """scale, history, rows, keys, size, rope, causal: parameters of the kernels, in order."""
    return (
        score_scale(plan) * LOG2_E,
        plan.t - plan.s,
        rows,
        keys,
        power_of_two(plan.d),
        power_of_two(plan.p),
        plan.causal,
    )


def query_grid(plan: FlashAttentionProblem, rows: int) -> tuple[int, int, int]:
    """Row tiles of one head lie next to each other: they share its keys in the L2 cache."""
    return tiles_over(plan.s, rows), plan.h, plan.b


def attention_work(plan: FlashAttentionProblem, call: TileCall, rows: int, keys: int) -> TileWork:
    """What a block does in the interpreter."""
    size, rope = power_of_two(plan.d), power_of_two(plan.p)
    return TileWork(
        blocks=math.prod(call.grid),
        steps=tiles_over(plan.t, keys),
        operations=65,
        flops=2.0 * rows * keys * (2 * size + rope),
        elements=10.0 * rows * keys + (2 * keys + rows) * (2 * size + rope),
    )
