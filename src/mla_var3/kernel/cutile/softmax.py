"""What the attention kernels share inside a tile: hidden scores and the running softmax.

Everything is in base 2: `scale` holds log2(e), since a GPU computes exp2 in one instruction.
"""

import math
from typing import Any

import cuda.tile as ct

LOG2_E = math.log2(math.e)
HIDDEN = -1.0e30
"""Score of a key that a row must not see, and the maximum of a row that saw none. Finite: a row
whose keys are all hidden in one tile gives weights that the next rescaling makes 0, not NaN."""
LEAST_SUM = 1.0e-30
"""Divides rows that saw no key, whose partial result counts nothing; other sums are at least 1."""


def hide(scores: Any, first_key: Any, limit: Any) -> Any:
    """Scores [rows, keys] with the keys from `limit` ([rows, 1] or one number) on hidden.

    `first_key` is the key of the first column.
    """
    keys = first_key + ct.arange(scores.shape[1], dtype=ct.int32).reshape((1, scores.shape[1]))
    return ct.where(keys < limit, scores, HIDDEN)


def weigh(scores: Any, scale: Any, top: Any) -> Any:
    """Weights of one tile, the factor for what was summed before, and the new row maximum.

    `top` [rows, 1] is the largest scaled score so far. Weights are exp2(score · scale - maximum).
    """
    new_top = ct.maximum(top, ct.max(scores, axis=-1, keepdims=True) * scale)
    weights = ct.exp2(scores * scale - new_top, flush_to_zero=True)
    rescale = ct.exp2(top - new_top, flush_to_zero=True)
    return weights, rescale, new_top


def divide(sums: Any, total: Any) -> Any:
    """sums / total, approximately: an exact division would call a routine."""
    return ct.truediv(sums, total, flush_to_zero=True, rounding_mode=ct.RoundingMode.APPROX)
