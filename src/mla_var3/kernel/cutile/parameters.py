"""Kinds of kernel parameters that are constants for the compiler, and the padding of loads."""

from typing import Annotated

import cuda.tile as ct

Size = Annotated[int, ct.ConstantAnnotation()]
"""`ct.Constant[int]`: a tile size, a count, a hint."""
Flag = Annotated[bool, ct.ConstantAnnotation()]
ZERO = ct.PaddingMode.ZERO
"""Elements beyond an array count as 0, which TMA gives for free. Undetermined ones could be NaN,
and a weight of 0 would not remove them. Scores of such keys must be hidden all the same."""
