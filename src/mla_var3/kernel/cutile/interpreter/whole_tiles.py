"""Operations on whole tiles: making, reshaping, reducing and multiplying them."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from mla_var3.kernel.cutile.interpreter import NotValidCuTile, UnsupportedInInterpreter
from mla_var3.kernel.cutile.interpreter.tiles import (
    Number,
    Tile,
    as_tensor,
    broadcast,
    tile_shape,
    torch_dtype,
)

Axis = int | Sequence[int] | None
ACCUMULATORS = {
    torch.float16: (torch.float32, torch.float16),
    torch.bfloat16: (torch.float32,),
    torch.float32: (torch.float32,),
    torch.float64: (torch.float64,),
}
"""Element type of the factors to those an mma may sum in."""


def full(shape: int | Sequence[int], fill_value: Tile | Number, dtype: Any) -> Tile:
    return Tile(as_tensor(fill_value, torch_dtype(dtype)).expand(tile_shape(shape)))


def zeros(shape: int | Sequence[int], dtype: Any) -> Tile:
    return full(shape, 0, dtype)


def ones(shape: int | Sequence[int], dtype: Any) -> Tile:
    return full(shape, 1, dtype)


def arange(size: int, /, *, dtype: Any, start: Any = 0, step: Any = 1) -> Tile:
    (length,) = tile_shape(size)
    counted = torch.arange(length).to(torch_dtype(dtype))
    given = (as_tensor(value, counted.dtype) for value in (start, step))
    first, stride = given
    return Tile(first + counted * stride)


def reshape(x: Tile, /, shape: int | Sequence[int]) -> Tile:
    return x.reshape(shape)


def permute(x: Tile, /, axes: Sequence[int]) -> Tile:
    return x.permute(axes)


def transpose(x: Tile, /, axis0: int | None = None, axis1: int | None = None) -> Tile:
    return x.transpose(axis0, axis1)


def expand_dims(x: Tile, /, axis: int) -> Tile:
    return Tile(x.data.unsqueeze(axis))


def broadcast_to(x: Tile, /, shape: int | Sequence[int]) -> Tile:
    sizes = tile_shape(shape)
    return Tile(broadcast(lambda data: data.expand(sizes), x.data))


def mma(x: Tile, y: Tile, /, acc: Tile, *, use_fast_acc: bool = False) -> Tile:
    """x @ y + acc: factors exact in float32, sums in float32 (float64 for float64)."""
    if use_fast_acc:
        raise UnsupportedInInterpreter("mma(use_fast_acc=True)")
    if x.data.dtype not in ACCUMULATORS:
        raise UnsupportedInInterpreter(f"mma of {x.dtype.name}")
    if x.data.dtype != y.data.dtype or acc.data.dtype not in ACCUMULATORS[x.data.dtype]:
        kinds = f"{x.dtype.name}, {y.dtype.name} and {acc.dtype.name}"
        raise NotValidCuTile(f"mma of {kinds}: no such instruction")
    wide = torch.promote_types(x.data.dtype, torch.float32)
    product = broadcast(torch.matmul, x.data.to(wide), y.data.to(wide))
    if product.shape != acc.data.shape:
        raise NotValidCuTile(f"mma: product {tuple(product.shape)}, accumulator {acc.shape}")
    return Tile((product + acc.data.to(wide)).to(acc.data.dtype))


def reduce_max(
    x: Tile,
    /,
    axis: Axis = None,
    *,
    keepdims: bool = False,
    flush_to_zero: bool = False,
    propagate_nan: bool = False,
) -> Tile:
    return _extreme(torch.amax, x, axis, keepdims, (flush_to_zero, propagate_nan, "-inf"))


def reduce_min(
    x: Tile,
    /,
    axis: Axis = None,
    *,
    keepdims: bool = False,
    flush_to_zero: bool = False,
    propagate_nan: bool = False,
) -> Tile:
    return _extreme(torch.amin, x, axis, keepdims, (flush_to_zero, propagate_nan, "inf"))


def _extreme(
    compute: Callable[..., torch.Tensor],
    x: Tile,
    axis: Axis,
    keepdims: bool,
    how: tuple[bool, bool, str],
) -> Tile:
    """Largest or smallest elements; NaN does not count unless it is asked for."""
    flush_to_zero, propagate_nan, neutral = how
    if flush_to_zero:
        raise UnsupportedInInterpreter("flush_to_zero of a reduction")
    axes = _axes(axis, x.ndim)
    data = x.data
    if not data.is_floating_point() or propagate_nan:
        return Tile(compute(data, axes, keepdim=keepdims))
    nan = data.isnan()
    found = compute(torch.where(nan, float(neutral), data), axes, keepdim=keepdims)
    only_nan = nan.sum(axes, keepdim=keepdims) == nan.numel() // max(1, found.numel())
    return Tile(torch.where(only_nan, float("nan"), found))


def reduce_sum(
    x: Tile,
    /,
    axis: Axis = None,
    *,
    keepdims: bool = False,
    rounding_mode: Any = None,
    flush_to_zero: bool = False,
) -> Tile:
    if rounding_mode is not None or flush_to_zero:
        raise UnsupportedInInterpreter("rounding_mode or flush_to_zero of a sum")
    dtype = torch.int32 if x.data.dtype == torch.bool else x.data.dtype
    return Tile(x.data.sum(_axes(axis, x.ndim), keepdim=keepdims, dtype=dtype))


def _axes(axis: Axis, ndim: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    return (axis,) if isinstance(axis, int) else tuple(axis)


OPERATIONS: dict[str, Callable[..., Any]] = {
    "arange": arange,
    "broadcast_to": broadcast_to,
    "expand_dims": expand_dims,
    "full": full,
    "max": reduce_max,
    "min": reduce_min,
    "mma": mma,
    "ones": ones,
    "permute": permute,
    "reshape": reshape,
    "sum": reduce_sum,
    "transpose": transpose,
    "zeros": zeros,
}
"""`ct.` functions by name."""
