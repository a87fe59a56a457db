"""Operations by element: arithmetic, comparisons, choices, functions. Also as Tile's operators."""

from collections.abc import Callable
from typing import Any

import cuda.tile as ct
import torch

from mla_var3.kernel.cutile.interpreter import NotValidCuTile, UnsupportedInInterpreter
from mla_var3.kernel.cutile.interpreter.tiles import (
    Number,
    Tile,
    as_tensor,
    broadcast,
    common_dtype,
    flush,
    torch_dtype,
)

Operand = Tile | Number
Compute = Callable[..., torch.Tensor]
EXACT = (None, ct.RoundingMode.RN)
NEARLY = (*EXACT, ct.RoundingMode.FULL, ct.RoundingMode.APPROX)
"""Roundings of a division: full and approximate ones differ in the last bits only."""


def arithmetic(
    compute: Compute, x: Operand, y: Operand, ftz: bool = False, to_float: bool = False
) -> Operand:
    """`compute` in the common type of both; two Python numbers stay one."""
    if not isinstance(x, Tile) and not isinstance(y, Tile):
        both = (torch.tensor(v, dtype=torch.float64 if to_float else None) for v in (x, y))
        return compute(*both).item()  # type: ignore[no-any-return]
    dtype = common_dtype(x, y, force_float=to_float)
    if dtype == torch.bool:
        raise NotValidCuTile("arithmetic of booleans: cast them to integers")
    operands = (flush(as_tensor(value, dtype), ftz) for value in (x, y))
    return Tile(flush(broadcast(compute, *operands), ftz))


def add(
    x: Operand, y: Operand, /, *, rounding_mode: Any = None, flush_to_zero: bool = False
) -> Operand:
    return arithmetic(torch.add, x, y, _checked(rounding_mode, EXACT, flush_to_zero))


def sub(
    x: Operand, y: Operand, /, *, rounding_mode: Any = None, flush_to_zero: bool = False
) -> Operand:
    return arithmetic(torch.sub, x, y, _checked(rounding_mode, EXACT, flush_to_zero))


def mul(
    x: Operand, y: Operand, /, *, rounding_mode: Any = None, flush_to_zero: bool = False
) -> Operand:
    return arithmetic(torch.mul, x, y, _checked(rounding_mode, EXACT, flush_to_zero))


def truediv(
    x: Operand, y: Operand, /, *, rounding_mode: Any = None, flush_to_zero: bool = False
) -> Operand:
    ftz = _checked(rounding_mode, NEARLY, flush_to_zero)
    return arithmetic(torch.true_divide, x, y, ftz, to_float=True)


def floordiv(x: Operand, y: Operand, /) -> Operand:
    return arithmetic(torch.floor_divide, x, y)


def mod(x: Operand, y: Operand, /) -> Operand:
    return arithmetic(torch.remainder, x, y)


def maximum(
    x: Operand, y: Operand, /, *, flush_to_zero: bool = False, propagate_nan: bool = False
) -> Operand:
    return arithmetic(torch.maximum if propagate_nan else torch.fmax, x, y, flush_to_zero)


def minimum(
    x: Operand, y: Operand, /, *, flush_to_zero: bool = False, propagate_nan: bool = False
) -> Operand:
    return arithmetic(torch.minimum if propagate_nan else torch.fmin, x, y, flush_to_zero)


def _checked(rounding_mode: Any, known: tuple[Any, ...], flush_to_zero: bool) -> bool:
    if rounding_mode not in known:
        raise UnsupportedInInterpreter(f"rounding_mode={rounding_mode}")
    return flush_to_zero


def compare(compute: Compute, x: Operand, y: Operand) -> Tile:
    """Booleans; both sides in their common type."""
    dtype = common_dtype(x, y)
    return Tile(broadcast(compute, as_tensor(x, dtype), as_tensor(y, dtype)))


def bitwise(compute: Compute, x: Operand, y: Operand) -> Tile:
    """Of booleans or whole numbers."""
    dtype = common_dtype(x, y)
    if dtype.is_floating_point:
        raise NotValidCuTile("a bitwise operation of floats")
    return Tile(broadcast(compute, as_tensor(x, dtype), as_tensor(y, dtype)))


def where(cond: Operand, x: Operand, y: Operand, /) -> Tile:
    dtype = common_dtype(x, y)
    chosen = (as_tensor(x, dtype), as_tensor(y, dtype))
    return Tile(broadcast(torch.where, as_tensor(cond, torch.bool), *chosen))


def function(compute: Compute, x: Operand, ftz: bool = False) -> Tile:
    """A function of floats, computed in float32 at least and rounded once; integers as float32."""
    if not isinstance(x, Tile):
        x = Tile(torch.tensor(float(x), dtype=torch.float32))
    dtype = x.data.dtype if x.data.is_floating_point() else torch.float32
    wide = x.data.to(torch.promote_types(dtype, torch.float32))
    if ftz and dtype != torch.float32:
        raise NotValidCuTile(f"flush_to_zero is for float32, not {dtype}")
    return Tile(flush(compute(flush(wide, ftz)), ftz).to(dtype))


def exp2(x: Operand, /, *, flush_to_zero: bool = False) -> Tile:
    return function(torch.exp2, x, flush_to_zero)


def exp(x: Operand, /, *, rounding_mode: Any = None) -> Tile:
    return function(torch.exp, x, _checked(rounding_mode, NEARLY, False))


def log2(x: Operand, /) -> Tile:
    return function(torch.log2, x)


def log(x: Operand, /) -> Tile:
    return function(torch.log, x)


def sqrt(x: Operand, /, *, rounding_mode: Any = None, flush_to_zero: bool = False) -> Tile:
    return function(torch.sqrt, x, _checked(rounding_mode, NEARLY, flush_to_zero))


def rsqrt(x: Operand, /, *, flush_to_zero: bool = False) -> Tile:
    return function(torch.rsqrt, x, flush_to_zero)


def absolute(x: Tile, /) -> Tile:
    return Tile(x.data.abs())


def negative(x: Tile, /) -> Tile:
    return Tile(-x.data)


def isnan(x: Tile, /) -> Tile:
    return Tile(x.data.isnan())


def astype(x: Tile, dtype: Any, /, *, rounding_mode: Any = None) -> Tile:
    return x.astype(dtype, rounding_mode=rounding_mode)


def bitcast(x: Tile, /, dtype: Any) -> Tile:
    return Tile(x.data.view(torch_dtype(dtype)))


_COMPARE = {"lt": torch.lt, "le": torch.le, "gt": torch.gt, "ge": torch.ge}
_COMPARE |= {"eq": torch.eq, "ne": torch.ne}
_BITWISE = {"and": torch.bitwise_and, "or": torch.bitwise_or, "xor": torch.bitwise_xor}
_LONG_NAMES = {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}
_LONG_NAMES |= {"eq": "equal", "ne": "not_equal"}
_ARITHMETIC: dict[str, Callable[..., Operand]] = {
    "add": add,
    "sub": sub,
    "mul": mul,
    "truediv": truediv,
    "floordiv": floordiv,
    "mod": mod,
}


def _comparison(compute: Compute) -> Callable[[Operand, Operand], Tile]:
    return lambda x, y, /: compare(compute, x, y)


def _bits(compute: Compute) -> Callable[[Operand, Operand], Tile]:
    return lambda x, y, /: bitwise(compute, x, y)


def _install_operators() -> None:
    """`a + b`, `2 - a`, `a < b`, … of tiles, as the functions above."""
    for name, compute in _COMPARE.items():
        setattr(Tile, f"__{name}__", _comparison(compute))
    both = _ARITHMETIC | {name: _bits(compute) for name, compute in _BITWISE.items()}
    for name, function_of_two in both.items():
        setattr(Tile, f"__{name}__", _forward(function_of_two))
        setattr(Tile, f"__r{name}__", _reflected(function_of_two))
    setattr(Tile, "__neg__", negative)  # noqa: B010  # mypy knows no such operator of Tile


def _forward(call: Callable[..., Operand]) -> Callable[[Operand, Operand], Operand]:
    return lambda self, other: call(self, other)


def _reflected(call: Callable[..., Operand]) -> Callable[[Operand, Operand], Operand]:
    return lambda self, other: call(other, self)


_install_operators()

OPERATIONS: dict[str, Callable[..., Any]] = {
    **_ARITHMETIC,
    **{_LONG_NAMES[name]: _comparison(compute) for name, compute in _COMPARE.items()},
    **{f"bitwise_{name}": _bits(compute) for name, compute in _BITWISE.items()},
    "abs": absolute,
    "astype": astype,
    "bitcast": bitcast,
    "exp": exp,
    "exp2": exp2,
    "isnan": isnan,
    "log": log,
    "log2": log2,
    "maximum": maximum,
    "minimum": minimum,
    "negative": negative,
    "rsqrt": rsqrt,
    "sqrt": sqrt,
    "where": where,
}
"""`ct.` functions by name."""
