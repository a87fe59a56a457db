"""The error of a result against its reference, judged by bounds."""

import math
from dataclasses import dataclass
from typing import Any

from mla_var3.conf import table
from mla_var3.core.errors import BadArgument
from mla_var3.core.plan import Tensor

BLOCK = 1 << 24
"""Elements that are compared at a time: 128 MB in float64."""


@dataclass(frozen=True)
class Bounds:
    """Largest errors that pass, as fractions."""

    relative_error: float
    worst_row: float


@dataclass(frozen=True)
class Comparison:
    """Errors as fractions; NaN or infinity where the result or the reference holds one.

    A row is the last axis; `at` is the index of the worst one, the last axis left out.
    """

    relative_error: float
    worst_row: float
    at: tuple[int, ...]
    elements: int

    def passes(self, bounds: Bounds) -> bool:
        """Whether both errors are within the bounds, the bound itself included; NaN never is."""
        return self.relative_error <= bounds.relative_error and self.worst_row <= bounds.worst_row


def bounds_for(dtype: Any) -> Bounds:
    """The bounds for results of a torch element type."""
    name = str(dtype).removeprefix("torch.")
    known = table("check")["bounds"]
    if name not in known:
        raise BadArgument(f"--check knows results in {', '.join(known)}, not in {name}")
    return Bounds(**known[name])


def compare(result: Tensor, reference: Tensor) -> Comparison:
    """Relative Frobenius error and the worst row's error of tensors of one shape, in float64.

    A row that should be zero and is not has an infinite error.
    """
    if result.shape != reference.shape:
        raise ValueError(f"result {tuple(result.shape)}, reference {tuple(reference.shape)}")
    length = reference.shape[-1] if reference.ndim else 1
    size, difference = _row_norms(result.reshape(-1, length), reference.reshape(-1, length))
    by_row = difference / size
    by_row[difference == 0] = 0.0  # 0 / 0: a row that should be zero and is
    worst = int(by_row.argmax())  # NaN counts as the largest
    total = float(size.norm())
    wrong = float(difference.norm())
    return Comparison(
        relative_error=0.0 if wrong == 0 else wrong / total if total else math.inf,
        worst_row=float(by_row[worst]),
        at=_index(worst, tuple(reference.shape[:-1])),
        elements=reference.numel(),
    )


def _row_norms(result: Tensor, reference: Tensor) -> tuple[Tensor, Tensor]:
    """Of each row the norm of the reference and of the difference, in blocks of bounded memory."""
    import torch

    rows = max(1, BLOCK // reference.shape[-1])
    sizes, differences = [], []
    for got, expected in zip(result.split(rows), reference.split(rows), strict=True):
        wide = expected.double()
        sizes.append(wide.norm(dim=-1))
        differences.append((got.double() - wide).norm(dim=-1))
    return torch.cat(sizes), torch.cat(differences)


def _index(flat: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The index of a position in a tensor of that shape."""
    index = []
    for size in reversed(shape):
        flat, at = divmod(flat, size)
        index.append(at)
    return tuple(reversed(index))
