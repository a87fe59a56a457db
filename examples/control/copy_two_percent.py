"""Control: the copy of copy_torch.py with 2 % more bytes. mla compare must call it slower.

The result is the same: what is copied beyond the source is of no use to anybody.

    mla compare examples/control/copy_torch.py examples/control/copy_two_percent.py
"""

from dataclasses import dataclass

from copy_torch import Copy

from mla_var3 import Kernel, Tensor

MORE = 0.02


@dataclass(frozen=True, kw_only=True)
class CopyTwoPercent(Copy):
    """One contiguous copy of the source and of its first 2 % once more."""

    def plan(self, *inputs: Tensor) -> Kernel:
        import torch

        (source,) = inputs
        extra = int(MORE * source.numel())
        longer = torch.cat((source, source[:extra]))
        target = torch.empty_like(longer)
        return self._stage(lambda: torch.neg(longer, out=target), target[: source.numel()])
