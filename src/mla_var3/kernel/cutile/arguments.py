"""What a cuTile kernel is called with, and the signature that its launch would compile."""

import inspect
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import cuda.tile as ct
from cuda.tile.compilation import (
    ArrayConstraint,
    CallingConvention,
    KernelSignature,
    ScalarConstraint,
)

from mla_var3.core.errors import BadArgument
from mla_var3.core.plan import DTYPE_NAMES, Tensor
from mla_var3.kernel.cutile.hooks import python_function

ALIGNMENT = 16
"""Bytes that a tensor's address, and a divisor that its sizes, are checked for at a launch."""
CT_DTYPES = {"bf16": ct.bfloat16, "fp16": ct.float16, "fp32": ct.float32}


@dataclass(frozen=True)
class ArraySpec:
    """Shape and element type of a contiguous tensor: all that the compiler needs of it."""

    shape: tuple[int, ...]
    dtype: str
    """`bf16`, `fp16` or `fp32`."""

    @property
    def strides(self) -> tuple[int, ...]:
        """In elements."""
        strides, step = [], 1
        for size in reversed(self.shape):
            strides.append(step)
            step *= size
        return tuple(reversed(strides))


@dataclass(frozen=True)
class TileCall:
    """A kernel with its compiler hints, grid and arguments: tensors or specs, and numbers."""

    function: Any
    """What `@ct.kernel` gives."""
    grid: tuple[int, ...]
    arguments: tuple[Any, ...]
    hints: Mapping[str, int | None] = field(default_factory=dict)
    """`num_worker_warps`, `occupancy`, …; None: the compiler's choice."""

    @property
    def kernel(self) -> Any:
        """The kernel with its hints, the same object each time: it holds the compiled code."""
        given = {name: value for name, value in self.hints.items() if value is not None}
        return _with_hints(self.function, tuple(sorted(given.items())))

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        return tensors_of(*self.arguments)


def tensors_of(*values: Any) -> tuple[Tensor, ...]:
    """Those that are tensors, not specs or numbers."""
    return tuple(value for value in values if hasattr(value, "data_ptr"))


@cache
def _with_hints(function: Any, hints: tuple[tuple[str, int], ...]) -> Any:
    return function.replace_hints(**dict(hints)) if hints else function


def spec_of(value: Any) -> Any:
    """The spec of a tensor; anything else as it is. `BadArgument` for a tensor with gaps."""
    if not hasattr(value, "data_ptr"):
        return value
    if not value.is_contiguous():
        raise BadArgument("cuTile plans take contiguous tensors: call .contiguous() first")
    names = {f"torch.{name}": short for short, name in DTYPE_NAMES.items()}
    return ArraySpec(tuple(value.shape), names[str(value.dtype)])


def signature(call: TileCall) -> KernelSignature:
    """The signature that `ct.launch` gives the compiler for such arguments, without a driver.

    Seen in launches of cuda-tile 1.7: sizes and strides of 1 are constants; sizes are known to
    divide by 16, strides and the address by 16 bytes, where they do. The calling convention is v1,
    and v2 where a size is a constant. So a launch finds in the compiler's cache what was compiled
    here, even without a compiler of its own.
    """
    constant = constant_parameters(call.function)
    values = map(spec_of, call.arguments)
    parameters = [
        value if is_constant else _constraint(value)
        for value, is_constant in zip(values, constant, strict=True)
    ]
    arrays = (value for value in map(spec_of, call.arguments) if isinstance(value, ArraySpec))
    second = any(1 in spec.shape for spec in arrays)
    convention = CallingConvention
    made = KernelSignature(
        parameters, convention.cutile_python_v2() if second else convention.cutile_python_v1()
    )
    return made.with_mangled_symbol(python_function(call.function).__name__)


def constant_parameters(function: Any) -> tuple[bool, ...]:
    """Which parameters of a kernel are compile-time constants, in order."""
    python = python_function(function)
    hints = typing.get_type_hints(python, include_extras=True)
    return tuple(_is_constant(hints.get(name)) for name in inspect.signature(python).parameters)


def _is_constant(annotation: Any) -> bool:
    metadata = getattr(annotation, "__metadata__", ())
    return any(isinstance(entry, ct.ConstantAnnotation) for entry in metadata)


def _constraint(value: Any) -> Any:
    if isinstance(value, ArraySpec):
        return _array_constraint(value)
    if isinstance(value, float):
        return ScalarConstraint(ct.float32)
    return ScalarConstraint(ct.int32)


def _array_constraint(spec: ArraySpec) -> ArrayConstraint:
    dtype = CT_DTYPES[spec.dtype]
    per_line = ALIGNMENT * 8 // dtype.bitwidth
    strides = spec.strides
    return ArrayConstraint(
        dtype,
        len(spec.shape),
        index_dtype=ct.int32,
        stride_lower_bound_incl=0,
        alias_groups=(),
        may_alias_internally=False,
        stride_constant=[1 if step == 1 else None for step in strides],
        shape_constant=[1 if size == 1 else None for size in spec.shape],
        stride_divisible_by=[per_line if step % per_line == 0 else 1 for step in strides],
        shape_divisible_by=[ALIGNMENT if size % ALIGNMENT == 0 else 1 for size in spec.shape],
        base_addr_divisible_by=ALIGNMENT,
    )
