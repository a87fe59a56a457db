"""The error of a result against its reference, judged by bounds."""

import math
from dataclasses import dataclass
from typing import Any

from mla_var3.conf import table
from mla_var3.core.errors import BadArgument
from mla_var3.core.plan import Tensor


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
    rows = reference.reshape(-1, reference.shape[-1]) if reference.ndim else reference.view(1, 1)
    expected = rows.double()
    difference = (result.reshape(rows.shape).double() - expected).norm(dim=-1)
    size = expected.norm(dim=-1)
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


def _index(flat: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The index of a position in a tensor of that shape."""
    index = []
    for size in reversed(shape):
        flat, at = divmod(flat, size)
        index.append(at)
    return tuple(reversed(index))
