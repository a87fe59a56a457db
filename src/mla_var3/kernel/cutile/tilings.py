"""Rules for tile sizes and for how a problem is cut into blocks."""

from mla_var3.core.errors import BadArgument

NARROW = ("bf16", "fp16")


def narrow_only(dtype: str) -> None:
    """Raise `BadArgument` for float32: its products use no tensor cores in cuTile."""
    if dtype not in NARROW:
        raise BadArgument(f"--dtype={dtype}: cuTile kernels take {' or '.join(NARROW)}")


def power_of_two(size: int, least: int = 16) -> int:
    """The smallest power of two that covers `size`; the tensor cores need 16."""
    return max(least, 1 << (size - 1).bit_length())


def is_tile(size: int, least: int, most: int) -> bool:
    """Whether `size` is a power of two from `least` to `most`."""
    return least <= size <= most and not size & (size - 1)


def tiles_over(size: int, tile: int) -> int:
    """Tiles that cover `size`."""
    return -(-size // tile)


def merge_rows(shape: tuple[int, ...]) -> tuple[int, ...]:
    """[b, s, h, x] as [b, s * h, x]: tokens and heads as one axis. Other shapes as they are."""
    if len(shape) != 4:
        return tuple(shape)
    b, s, h, size = shape
    return b, s * h, size
