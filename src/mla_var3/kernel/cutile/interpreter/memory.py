"""Loads and stores of tiles: what lies outside an array is poison, padding, or dropped."""

from collections.abc import Callable, Sequence
from typing import Any

import cuda.tile as ct
import torch

from mla_var3.kernel.cutile.interpreter import NotValidCuTile, UnsupportedInInterpreter
from mla_var3.kernel.cutile.interpreter.tiles import Array, Number, Tile, as_tensor, tile_shape

POISON_BYTE = 0xA5
"""Every byte of an integer that was loaded from outside an array without a padding."""
PADDING = {
    ct.PaddingMode.ZERO: 0.0,
    ct.PaddingMode.NEG_ZERO: -0.0,
    ct.PaddingMode.NAN: float("nan"),
    ct.PaddingMode.POS_INF: float("inf"),
    ct.PaddingMode.NEG_INF: float("-inf"),
}
Order = str | Sequence[int]
Window = tuple[tuple[slice, ...], tuple[slice, ...]]
"""The part of the array, and the part of the tile, that lie on each other."""


def load(
    array: Array,
    /,
    index: Any,
    shape: int | Sequence[int],
    *,
    order: Order = "C",
    padding_mode: Any = ct.PaddingMode.UNDETERMINED,
    check_bounds: bool = True,
    latency: int | None = None,
    allow_tma: bool | None = None,
    memory_order: Any = ct.MemoryOrder.WEAK,
    memory_scope: Any = ct.MemoryScope.NONE,
) -> Tile:
    """A tile; a tile wholly outside, and any edge without `check_bounds`, is undefined: poison."""
    _only_weak(memory_order, memory_scope)
    scalar = tile_shape(shape) == ()
    sizes = tile_shape(shape) or (1,) * array.ndim
    data = array.data.permute(_axes(order, array.ndim))
    window = _window(data, index, sizes)
    if window is None:
        return Tile(_filled(sizes, data.dtype, ct.PaddingMode.UNDETERMINED))
    there, here = window
    inside = data[there]
    if tuple(inside.shape) == sizes:
        return Tile(inside.reshape(()).clone() if scalar else inside.clone())
    edge = padding_mode if check_bounds else ct.PaddingMode.UNDETERMINED
    out = _filled(sizes, data.dtype, edge)
    out[here] = inside
    return Tile(out)


def store(
    array: Array,
    /,
    index: Any,
    tile: Tile | Number,
    *,
    order: Order = "C",
    check_bounds: bool = True,
    latency: int | None = None,
    allow_tma: bool | None = None,
    memory_order: Any = ct.MemoryOrder.WEAK,
    memory_scope: Any = ct.MemoryScope.NONE,
) -> None:
    """Write a tile; elements outside are dropped. The type must widen to that of the array."""
    _only_weak(memory_order, memory_scope)
    given = as_tensor(tile, tile.data.dtype if isinstance(tile, Tile) else array.data.dtype)
    if not given.ndim:
        given = given.reshape((1,) * array.ndim)
    if given.ndim != array.ndim:
        raise NotValidCuTile(f"store of {given.ndim} dimensions into {array.ndim}")
    if torch.promote_types(given.dtype, array.data.dtype) != array.data.dtype:
        raise NotValidCuTile(f"store of {given.dtype} into {array.data.dtype}: cast it first")
    data = array.data.permute(_axes(order, array.ndim))
    window = _window(data, index, tuple(given.shape))
    if window is None:
        return
    there, here = window
    if not check_bounds and tuple(data[there].shape) != tuple(given.shape):
        raise NotValidCuTile("store over the edge of an array with check_bounds=False")
    data[there] = given[here].to(data.dtype)


def num_tiles(array: Array, /, axis: int, shape: int | Sequence[int], order: Order = "C") -> int:
    axes = _axes(order, array.ndim)
    return int(-(-array.shape[axes[axis]] // tile_shape(shape)[axis]))


def _axes(order: Order, ndim: int) -> tuple[int, ...]:
    """Axes of the array in the order of the tile space's axes."""
    if order == "C":
        return tuple(range(ndim))
    if order == "F":
        return tuple(reversed(range(ndim)))
    axes = tuple(int(axis) for axis in order)
    if sorted(axes) != list(range(ndim)):
        raise NotValidCuTile(f"order={axes} is no permutation of {ndim} axes")
    return axes


def _window(data: torch.Tensor, index: Any, sizes: tuple[int, ...]) -> Window | None:
    """Where the tile at this index and the array meet; None: nowhere."""
    place = index if isinstance(index, Sequence) else (index,)
    if not len(place) == len(sizes) == data.ndim:
        raise NotValidCuTile(f"index {len(place)}, tile {len(sizes)}, array {data.ndim} dimensions")
    there, here = [], []
    for at, size, length in zip(place, sizes, data.shape, strict=True):
        start = at.__index__() * size
        first, last = max(start, 0), min(start + size, length)
        if first >= last:
            return None
        there.append(slice(first, last))
        here.append(slice(first - start, last - start))
    return tuple(there), tuple(here)


def _filled(sizes: tuple[int, ...], dtype: torch.dtype, padding_mode: Any) -> torch.Tensor:
    """A tile of the padding; NaN or a pattern of `POISON_BYTE` where none was asked for."""
    if padding_mode in PADDING:
        value = PADDING[padding_mode]
        if not dtype.is_floating_point and padding_mode is not ct.PaddingMode.ZERO:
            raise NotValidCuTile(f"{padding_mode} of whole numbers")
        return torch.full(sizes, value if dtype.is_floating_point else 0, dtype=dtype)
    if padding_mode is not ct.PaddingMode.UNDETERMINED:
        raise UnsupportedInInterpreter(f"padding_mode={padding_mode}")
    if dtype.is_floating_point:
        return torch.full(sizes, float("nan"), dtype=dtype)
    if dtype == torch.bool:
        return torch.ones(sizes, dtype=dtype)
    count = dtype.itemsize
    pattern = torch.full((*sizes, count), POISON_BYTE, dtype=torch.uint8)
    return pattern.view(dtype).reshape(sizes)


def _only_weak(memory_order: Any, memory_scope: Any) -> None:
    if memory_order is not ct.MemoryOrder.WEAK or memory_scope is not ct.MemoryScope.NONE:
        raise UnsupportedInInterpreter(f"memory_order={memory_order}")


OPERATIONS: dict[str, Callable[..., Any]] = {"load": load, "num_tiles": num_tiles, "store": store}
"""`ct.` functions by name."""
