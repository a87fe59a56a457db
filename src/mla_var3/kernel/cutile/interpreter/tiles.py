"""Tiles and arrays as a kernel sees them, over torch tensors, with cuTile's type promotion."""

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import cuda.tile as ct
import torch

from mla_var3.kernel.cutile.interpreter import NotValidCuTile, UnsupportedInInterpreter

TORCH_DTYPES = {
    ct.bool_: torch.bool,
    ct.int8: torch.int8,
    ct.int16: torch.int16,
    ct.int32: torch.int32,
    ct.int64: torch.int64,
    ct.uint8: torch.uint8,
    ct.float16: torch.float16,
    ct.bfloat16: torch.bfloat16,
    ct.float32: torch.float32,
    ct.float64: torch.float64,
}
CT_DTYPES = {theirs: ours for ours, theirs in TORCH_DTYPES.items()}
Number = bool | int | float
SMALLEST_NORMAL = torch.finfo(torch.float32).smallest_normal


class Tile:
    """A tile: immutable, every dimension a power of two. Scalars of run time have no dimension."""

    __slots__ = ("data",)

    def __init__(self, data: torch.Tensor) -> None:
        self.data = data

    @property
    def dtype(self) -> Any:
        return CT_DTYPES[self.data.dtype]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.data.shape)

    @property
    def ndim(self) -> int:
        return int(self.data.ndim)

    def item(self) -> "Tile":
        return Tile(self.data.reshape(()))

    def reshape(self, shape: int | Sequence[int]) -> "Tile":
        sizes = tile_shape(shape, allow_rest=True)
        return Tile(broadcast(lambda data: data.reshape(sizes), self.data))

    def permute(self, axes: Sequence[int]) -> "Tile":
        return Tile(self.data.permute(*axes))

    def transpose(self, axis0: int | None = None, axis1: int | None = None) -> "Tile":
        if axis0 is None or axis1 is None:
            if self.ndim != 2:
                raise NotValidCuTile(f"transpose of {self.ndim} dimensions needs both axes")
            axis0, axis1 = 0, 1
        return Tile(self.data.transpose(axis0, axis1))

    def astype(self, dtype: Any, *, rounding_mode: Any = None) -> "Tile":
        if rounding_mode not in (None, ct.RoundingMode.RN):
            raise UnsupportedInInterpreter(f"astype(rounding_mode={rounding_mode})")
        return Tile(self.data.to(torch_dtype(dtype)))

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise UnsupportedInInterpreter(f"Tile.{name}")

    def __getitem__(self, index: Any) -> NoReturn:
        raise UnsupportedInInterpreter("indexing a tile")

    def _no_operator(self, *others: Any) -> NoReturn:
        raise UnsupportedInInterpreter("an operator @, **, <<, >>, ~, abs() or len() of a tile")

    __matmul__ = __rmatmul__ = __pow__ = __rpow__ = _no_operator
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _no_operator
    __invert__ = __abs__ = __len__ = _no_operator

    def __index__(self) -> int:
        if self.ndim or self.data.is_floating_point():
            raise NotValidCuTile("only an integer scalar can be an index")
        return int(self.data)

    def __bool__(self) -> bool:
        if self.ndim:
            raise NotValidCuTile("a condition must be a scalar, not a tile")
        return bool(self.data)

    __hash__ = None  # type: ignore[assignment]  # tiles compare by element


class Array:
    """An array parameter: what a kernel may ask of it; its elements go through load and store."""

    __slots__ = ("data",)

    def __init__(self, data: torch.Tensor) -> None:
        self.data = data

    @property
    def dtype(self) -> Any:
        return CT_DTYPES[self.data.dtype]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.data.shape)

    @property
    def strides(self) -> tuple[int, ...]:
        return tuple(self.data.stride())

    @property
    def ndim(self) -> int:
        return int(self.data.ndim)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise UnsupportedInInterpreter(f"Array.{name}")

    def __getitem__(self, index: Any) -> NoReturn:
        raise UnsupportedInInterpreter("indexing an array")

    def __len__(self) -> NoReturn:
        raise UnsupportedInInterpreter("len() of an array")


def torch_dtype(dtype: Any) -> torch.dtype:
    """The torch type of a cuTile type; tf32 and 8-bit floats are not interpreted."""
    found = TORCH_DTYPES.get(dtype)
    if found is None:
        raise UnsupportedInInterpreter(f"element type {getattr(dtype, 'name', dtype)}")
    return found


def tile_shape(shape: int | Sequence[int], allow_rest: bool = False) -> tuple[int, ...]:
    """The shape as a tuple; `NotValidCuTile` for a dimension that is no power of two."""
    sizes = (shape,) if isinstance(shape, int) else tuple(int(size) for size in shape)
    for size in sizes:
        if (size < 1 or size & (size - 1)) and not (allow_rest and size == -1):
            raise NotValidCuTile(f"tile shape {sizes}: dimensions are powers of two")
    return sizes


def common_dtype(x: Tile | Number, y: Tile | Number, force_float: bool = False) -> torch.dtype:
    """The type that cuTile computes in: a Python number takes the tile's type unless it is of a
    stronger kind; fp16 and bf16 do not mix.
    """
    if isinstance(x, Tile) and isinstance(y, Tile):
        found = _promote(x.data.dtype, y.data.dtype)
    elif isinstance(x, Tile):
        found = _with_number(x.data.dtype, y)
    elif isinstance(y, Tile):
        found = _with_number(y.data.dtype, x)
    else:
        found = _promote(_number_dtype(x), _number_dtype(y))
    return found if found.is_floating_point or not force_float else torch.float32


def _promote(x: torch.dtype, y: torch.dtype) -> torch.dtype:
    narrow = {torch.float16, torch.bfloat16}
    unsigned = torch.uint8
    if {x, y} == narrow or (x != y and unsigned in (x, y) and _kind(x) == _kind(y)):
        raise NotValidCuTile(f"{CT_DTYPES[x].name} and {CT_DTYPES[y].name} have no common type")
    return torch.promote_types(x, y)


def _with_number(dtype: torch.dtype, number: Any) -> torch.dtype:
    loose = _number_dtype(number)
    return loose if _kind(loose) > _kind(dtype) else dtype


def _number_dtype(number: Any) -> torch.dtype:
    if isinstance(number, bool):
        return torch.bool
    if isinstance(number, int):
        return torch.int32
    if isinstance(number, float):
        return torch.float32
    raise NotValidCuTile(f"{type(number).__name__} is no operand of a tile")


def _kind(dtype: torch.dtype) -> int:
    """bool < whole numbers < floats."""
    return 2 if dtype.is_floating_point else int(dtype != torch.bool)


def as_tensor(value: Tile | Number, dtype: torch.dtype) -> torch.Tensor:
    """A tile's elements, or the number, in that type."""
    if isinstance(value, Tile):
        return value.data.to(dtype)
    return torch.tensor(value, dtype=dtype)


def flush(data: torch.Tensor, wanted: bool) -> torch.Tensor:
    """float32 subnormals as zeros of their sign, where wanted."""
    if not wanted:
        return data
    if data.dtype != torch.float32:
        raise NotValidCuTile(f"flush_to_zero is for float32, not {data.dtype}")
    zero = torch.copysign(torch.zeros_like(data), data)
    return torch.where(data.abs() < SMALLEST_NORMAL, zero, data)


def broadcast(compute: Callable[..., torch.Tensor], *operands: torch.Tensor) -> torch.Tensor:
    """The result of an operation by element; `NotValidCuTile` where shapes do not fit."""
    try:
        return compute(*operands)
    except RuntimeError as error:
        shapes = ", ".join(str(tuple(operand.shape)) for operand in operands)
        raise NotValidCuTile(f"shapes {shapes} do not fit each other") from error
