"""The interpreter against values worked out by hand, and what it refuses."""

import math
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
ct = pytest.importorskip("cuda.tile", reason="cuTile is not installed")

from mla_var3.core.errors import MachineCannot  # noqa: E402
from mla_var3.kernel.cutile.arguments import TileCall  # noqa: E402
from mla_var3.kernel.cutile.hooks import check_version  # noqa: E402
from mla_var3.kernel.cutile.interpreter import (  # noqa: E402
    NotValidCuTile,
    UnsupportedInInterpreter,
)
from mla_var3.kernel.cutile.interpreter.run import run_kernel  # noqa: E402
from mla_var3.kernel.cutile.parameters import Size  # noqa: E402

pytestmark = pytest.mark.kernel
F32, BF16, I32 = torch.float32, torch.bfloat16, torch.int32
INF, NAN = math.inf, math.nan
Body = Callable[..., None]


def run(body: Body, *arguments: Any, grid: tuple[int, ...] = (1,)) -> None:
    run_kernel(TileCall(ct.kernel(body), grid, arguments))


def same(tensor: Any, values: Any) -> bool:
    """Equal by bits, so that NaN is NaN and -0 is not 0."""
    expected = torch.tensor(values, dtype=tensor.dtype)
    as_integers = {1: torch.uint8, 2: torch.int16, 4: torch.int32}[tensor.element_size()]
    nan = tensor.isnan() & expected.isnan() if tensor.is_floating_point() else False
    return bool(((tensor.view(as_integers) == expected.view(as_integers)) | nan).all())


def test_elements_outside_are_nan_and_a_poison_pattern() -> None:
    def body(x: Any, n: Any, out: Any, whole: Any) -> None:
        ct.store(out, (0,), ct.load(x, (1,), (4,)))
        ct.store(whole, (0,), ct.load(n, (1,), (4,)))

    out, whole = torch.zeros(4), torch.zeros(4, dtype=I32)
    run(body, torch.arange(6.0), torch.arange(6, dtype=I32), out, whole)
    assert same(out, [4.0, 5.0, NAN, NAN])
    poison = 0xA5A5A5A5 - 2**32
    assert whole.tolist() == [4, 5, poison, poison]


@pytest.mark.parametrize(
    ("mode", "value"),
    [("ZERO", 0.0), ("NEG_ZERO", -0.0), ("NAN", NAN), ("POS_INF", INF), ("NEG_INF", -INF)],
)
def test_padding_modes(mode: str, value: float) -> None:
    def body(x: Any, out: Any) -> None:
        tile = ct.load(x, (1, 1), (2, 2), padding_mode=getattr(ct.PaddingMode, mode))
        ct.store(out, (0, 0), tile)

    out = torch.zeros(2, 2)
    run(body, torch.arange(9.0).reshape(3, 3), out)
    assert same(out, [[8.0, value], [value, value]])


def test_a_tile_wholly_outside_is_undefined_whatever_the_padding() -> None:
    def body(x: Any, out: Any) -> None:
        ct.store(out, (0,), ct.load(x, (2,), (4,), padding_mode=ct.PaddingMode.ZERO))
        ct.store(out, (1,), ct.load(x, (-1,), (4,), padding_mode=ct.PaddingMode.ZERO))

    out = torch.zeros(8)
    run(body, torch.arange(8.0), out)
    assert same(out, [NAN] * 8)


def test_without_bounds_check_the_padding_does_not_count() -> None:
    def body(x: Any, out: Any) -> None:
        zero = ct.PaddingMode.ZERO
        ct.store(out, (0,), ct.load(x, (0,), (4,), padding_mode=zero, check_bounds=False))

    out = torch.zeros(4)
    run(body, torch.ones(3), out)
    assert same(out, [1.0, 1.0, 1.0, NAN])


def test_stores_outside_are_dropped() -> None:
    def body(out: Any) -> None:
        ct.store(out, (ct.bid(0), 1), ct.full((2, 4), 7.0, dtype=ct.float32))

    out = torch.zeros(3, 6)
    run(body, out, grid=(3,))
    assert out.tolist() == [[0, 0, 0, 0, 7, 7]] * 3


def test_order_permutes_the_axes_of_the_array() -> None:
    """The example of cuda.tile's documentation, and a tile at the transposed edge."""

    def body(x: Any, out: Any, edge: Any, back: Any) -> None:
        ct.store(out, (0, 0, 0), ct.load(x, (1, 0, 0), (1, 2, 2), order=(0, 2, 1)))
        ct.store(edge, (0, 0), ct.load(x, (0, 1, 0), (2, 1, 1), order="F").reshape((1, 2)))
        ct.store(back, (0, 0, 0), ct.load(x, (0, 0, 0), (2, 2, 2)), order="F")

    x = torch.arange(8.0).reshape(2, 2, 2)
    out, edge, back = torch.zeros(1, 2, 2), torch.zeros(1, 2), torch.zeros(2, 2, 2)
    run(body, x, out, edge, back)
    assert out.tolist() == [[[4, 6], [5, 7]]]
    assert edge.tolist() == [[2, 3]]  # x[0, 1, :]: the last axis first
    assert back.tolist() == x.permute(2, 1, 0).tolist()


def test_scalars_and_tiles_in_order_of_blocks() -> None:
    def body(x: Any, out: Any, factor: float, n: int, size: Size) -> None:
        i, j = ct.bid(0), ct.bid(1)
        one = ct.load(x, (i,), ())
        ct.store(out, (i, j), one * factor + n * ct.num_blocks(1) + size)

    out = torch.zeros(2, 3)
    run(body, torch.tensor([1.0, 2.0]), out, 0.5, 10, 100, grid=(2, 3))
    assert out.tolist() == [[130.5] * 3, [131.0] * 3]


def test_bf16_rounds_to_nearest_even() -> None:
    """At 256 a bf16 step is 2: 257 and 259 are ties."""

    def body(x: Any, out: Any) -> None:
        ct.store(out, (0,), ct.load(x, (0,), (4,)).astype(ct.bfloat16))

    out = torch.zeros(4, dtype=BF16)
    run(body, torch.tensor([257.0, 259.0, 257.0001, -257.0]), out)
    assert out.tolist() == [256, 260, 258, -256]


def test_arithmetic_stays_in_the_type_of_the_tiles() -> None:
    """256 + 1 is 256 in bf16; a Python number takes the tile's type, a float parameter does not."""

    def body(x: Any, out: Any, wide: Any, one: float) -> None:
        tile = ct.load(x, (0,), (2,))
        ct.store(out, (0,), tile + ct.full((2,), 1.0, dtype=ct.bfloat16))
        ct.store(out, (1,), tile + 1.0)
        ct.store(out, (2,), tile + 1)
        ct.store(wide, (0,), tile + one)
        ct.store(wide, (1,), tile.astype(ct.float32) + 1.0)

    out, wide = torch.zeros(6, dtype=BF16), torch.zeros(4)
    run(body, torch.tensor([256.0, 2.0], dtype=BF16), out, wide, 1.0)
    assert out.tolist() == [256, 3] * 3
    assert wide.tolist() == [257, 3] * 2


def test_promotion_of_whole_numbers_and_of_fp16_with_bf16() -> None:
    def kinds(out: Any) -> None:
        whole = ct.arange(2, dtype=ct.int32)
        assert (whole + 1).dtype == ct.int32
        assert (whole + 0.5).dtype == ct.float32
        assert (whole / 2).dtype == ct.float32
        assert (whole * ct.full((2,), 1.0, dtype=ct.float16)).dtype == ct.float16
        assert (whole < 1).dtype == ct.bool_
        assert ct.exp2(whole).dtype == ct.float32
        ct.store(out, (0,), whole // 2 - 7 // 2 * (whole % 2))

    def mixed(out: Any) -> None:
        ct.full((2,), 1.0, dtype=ct.float16) + ct.full((2,), 1.0, dtype=ct.bfloat16)

    out = torch.zeros(2, dtype=I32)
    run(kinds, out)
    assert out.tolist() == [0, -3]
    with pytest.raises(NotValidCuTile, match="float16 and bfloat16 have no common type"):
        run(mixed, out)


def test_float_parameters_are_float32() -> None:
    def body(out: Any, scale: float) -> None:
        ct.store(out, (0,), ct.full((1,), 1.0, dtype=ct.float32) * scale)

    out = torch.zeros(1)
    run(body, out, 0.1)
    assert out.item() == torch.tensor(0.1, dtype=F32).item() != 0.1


def test_mma_sums_in_float32() -> None:
    """1 + 64 · 2^-9 in bf16 factors: bf16 sums would stay at 1."""

    def body(x: Any, y: Any, out: Any) -> None:
        acc = ct.full((1, 1), 1.0, dtype=ct.float32)
        ct.store(out, (0, 0), ct.mma(ct.load(x, (0, 0), (1, 64)), ct.load(y, (0, 0), (64, 1)), acc))

    out = torch.zeros(1, 1)
    run(body, torch.full((1, 64), 2.0**-9, dtype=BF16), torch.ones(64, 1, dtype=BF16), out)
    assert out.item() == 1.125


def test_mma_of_float32_is_no_tf32() -> None:
    """1 + 2^-12 has 12 bits after the point; TF32 keeps 10."""

    def body(x: Any, out: Any) -> None:
        tile = ct.load(x, (0, 0), (1, 1))
        ct.store(out, (0, 0), ct.mma(tile, tile, ct.zeros((1, 1), ct.float32)))

    out = torch.zeros(1, 1)
    run(body, torch.full((1, 1), 1 + 2.0**-12), out)
    assert out.item() == 1 + 2.0**-11  # the square, rounded to float32


def test_nan_times_a_weight_of_zero_shows() -> None:
    """A missing mask on V cannot hide: undetermined elements are NaN in the product."""

    def body(x: Any, out: Any) -> None:
        weights = ct.full((1, 4), 0.0, dtype=ct.float32)
        v = ct.load(x, (0, 0), (4, 1))
        ct.store(out, (0, 0), ct.mma(weights, v, ct.zeros((1, 1), ct.float32)))

    out = torch.zeros(1, 1)
    run(body, torch.ones(3, 1), out)
    assert math.isnan(out.item())


def test_flush_to_zero_keeps_the_sign() -> None:
    tiny = 2.0**-130

    def body(x: Any, kept: Any, flushed: Any) -> None:
        tile = ct.load(x, (0,), (4,))
        ct.store(kept, (0,), ct.mul(tile, 1.0))
        ct.store(flushed, (0,), ct.mul(tile, 1.0, flush_to_zero=True))
        ct.store(kept, (1,), ct.exp2(tile - 140.0))
        ct.store(flushed, (1,), ct.exp2(tile - 140.0, flush_to_zero=True))

    kept, flushed = torch.zeros(8), torch.zeros(8)
    run(body, torch.tensor([tiny, -tiny, 1.0, 2.0**-126]), kept, flushed)
    assert kept[:4].tolist() == [tiny, -tiny, 1.0, 2.0**-126]
    assert same(flushed[:4], [0.0, -0.0, 1.0, 2.0**-126])
    assert kept[4:].tolist() == [2.0**-140, 2.0**-140, 2.0**-139, 2.0**-140]
    assert flushed[4:].tolist() == [0.0] * 4


def test_largest_and_smallest_ignore_nan_unless_asked() -> None:
    def body(x: Any, out: Any) -> None:
        tile = ct.load(x, (0, 0), (2, 2))
        ct.store(out, (0, 0), ct.max(tile, axis=-1, keepdims=True))
        ct.store(out, (1, 0), ct.max(tile, axis=1, keepdims=True, propagate_nan=True))
        ct.store(out, (2, 0), ct.min(tile, 0).reshape((2, 1)))
        ct.store(out, (3, 0), ct.sum(tile, 1, keepdims=True))
        ct.store(out, (4, 0), ct.maximum(tile, 1.5).reshape((4, 1)).reshape((2, 2)).permute((1, 0)))

    out = torch.zeros(8, 1)
    run(body, torch.tensor([[1.0, NAN], [NAN, NAN]]), out)
    assert same(out[:, 0], [1.0, NAN, NAN, NAN, 1.0, NAN, NAN, NAN])


def test_masks_and_choices_broadcast() -> None:
    def body(out: Any) -> None:
        columns = ct.arange(4, dtype=ct.int32).reshape((1, 4))
        rows = ct.arange(2, dtype=ct.int32, start=1, step=2).reshape((2, 1))
        seen = (columns < rows) | ((columns == 3) & (rows > 1))
        ct.store(out, (0, 0), ct.where(seen, columns.astype(ct.float32), -1.0))

    out = torch.zeros(2, 4)
    run(body, out)
    assert out.tolist() == [[0, -1, -1, -1], [0, 1, 2, 3]]


def test_tile_counts_and_loops() -> None:
    def body(x: Any, out: Any, size: Size) -> None:
        count = ct.num_tiles(x, axis=1, shape=(1, size))
        total = ct.zeros((1, size), ct.float32)
        for j in range(ct.minimum(count, ct.cdiv(x.shape[1], size))):
            total = total + ct.load(x, (0, j), (1, size), padding_mode=ct.PaddingMode.ZERO)
        parts = tuple(total * i for i in ct.static_iter(range(3)))
        ct.store(out, (0, 0), parts[2])

    out = torch.zeros(1, 4)
    run(body, torch.arange(10.0).reshape(1, 10), out, 4)
    assert out.tolist() == [[24, 30, 16, 20]]  # twice 0+4+8, 1+5+9, 2+6, 3+7


def operation(out: Any) -> None:
    ct.atomic_add(out, 0, 1)


def keyword(out: Any) -> None:
    ct.store(out, (0,), ct.load(out, (0,), (1,), hardware_magic=1))


def method(out: Any) -> None:
    ct.load(out, (0,), (1,)).extract((0,), (1,))


def array_method(out: Any) -> None:
    out.slice(0, 0, 1)


def memory_order(out: Any) -> None:
    scope = ct.MemoryScope.DEVICE
    ct.load(out, (0,), (1,), memory_order=ct.MemoryOrder.ACQUIRE, memory_scope=scope)


def rounding(out: Any) -> None:
    ct.add(1.0, ct.load(out, (0,), (1,)), rounding_mode=ct.RoundingMode.RZ)


def element_type(out: Any) -> None:
    ct.load(out, (0,), (1,)).astype(ct.tfloat32)


def matrix_operator(out: Any) -> None:
    tile = ct.full((1, 1), 1.0, dtype=ct.float32)
    tile @ tile


def power(out: Any) -> None:
    2.0 ** ct.load(out, (0,), (1,))


def inversion(out: Any) -> None:
    ~(ct.load(out, (0,), (1,)) < 1.0)


def shift(out: Any) -> None:
    ct.arange(4, dtype=ct.int32) << 1


def element(out: Any) -> None:
    out[0]


def length(out: Any) -> None:
    len(out)


@pytest.mark.parametrize(
    ("body", "named"),
    [
        *((body, "an operator @, **,") for body in (matrix_operator, power, inversion, shift)),
        (element, "indexing an array"),
        (length, "len() of an array"),
        (operation, "ct.atomic_add"),
        (keyword, "ct.load(hardware_magic=…)"),
        (method, "Tile.extract"),
        (array_method, "Array.slice"),
        (memory_order, "memory_order=MemoryOrder.ACQUIRE"),
        (rounding, "rounding_mode=RoundingMode.RZ"),
        (element_type, "element type tfloat32"),
    ],
)
def test_what_is_not_known_is_refused_by_name(body: Body, named: str) -> None:
    with pytest.raises(UnsupportedInInterpreter) as caught:
        run(body, torch.zeros(1))
    assert str(caught.value).startswith(named)
    assert caught.value.exit_code == 3


def shape_of_three(out: Any) -> None:
    ct.full((3,), 0.0, dtype=ct.float32)


def accumulate_in_bf16(out: Any) -> None:
    one = ct.full((1, 1), 1.0, dtype=ct.bfloat16)
    ct.mma(one, one, one)


def narrowing_store(out: Any) -> None:
    ct.store(out, (0,), ct.full((1,), 1.0, dtype=ct.float64))


def misfit(out: Any) -> None:
    ct.full((2, 4), 1.0, dtype=ct.float32) + ct.full((2, 2), 1.0, dtype=ct.float32)


def wrong_rank(out: Any) -> None:
    ct.load(out, (0, 0), (1,))


def wrong_reshape(out: Any) -> None:
    ct.load(out, (0,), (4,)).reshape((2, 4))


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (wrong_reshape, "do not fit each other"),
        (shape_of_three, "powers of two"),
        (accumulate_in_bf16, "no such instruction"),
        (narrowing_store, "cast it first"),
        (misfit, "do not fit each other"),
        (wrong_rank, "dimensions"),
    ],
)
def test_what_the_compiler_refuses_is_refused(body: Body, reason: str) -> None:
    with pytest.raises(NotValidCuTile, match=reason):
        run(body, torch.zeros(1))


@pytest.mark.parametrize("version", ["1.6.2", "1.8.0", "2.0", "unknown"])
def test_other_versions_of_cuda_tile_are_refused(version: str) -> None:
    with pytest.raises(MachineCannot, match=r"pip install 'cuda-tile\[tileiras\]>=1.7,<1.8'"):
        check_version(version)


@pytest.mark.parametrize("version", ["1.7.0", "1.7.3rc1"])
def test_versions_in_the_range_are_taken(version: str) -> None:
    check_version(version)
