"""Decompressed attention with larger tiles and eight worker warps.

128 queries read each key and value once, and the loop over whole tiles has no mask; what is masked,
the last tiles, has a loop of its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import cuda.tile as ct

from mla_var3.core.plan import Kernel, KernelPlan, Language, Tensor, Tiling, problem
from mla_var3.kernel.cutile.arguments import TileCall
from mla_var3.kernel.cutile.decompressed import (
    attention_arrays,
    attention_numbers,
    attention_work,
    query_grid,
)
from mla_var3.kernel.cutile.parameters import ZERO, Flag, Size
from mla_var3.kernel.cutile.softmax import HIDDEN, divide, hide, weigh
from mla_var3.kernel.cutile.stages import tile_stage
from mla_var3.kernel.cutile.tilings import is_tile, narrow_only
from mla_var3.kernel.mla_problem.flash_attention import FlashAttentionProblem


def load_tile(array: Any, place: Any, rows: Any, columns: Any, latency: Any, tma: Any) -> Any:
    """A tile [rows, columns] of one head's part of an array [b, tokens, h, columns]."""
    tile = ct.load(
        array, place, (1, rows, 1, columns), padding_mode=ZERO, latency=latency, allow_tma=tma
    )
    return tile.reshape((rows, columns))


def load_rope(array: Any, place: Any, keys: Any, rope: Any, latency: Any, tma: Any) -> Any:
    """A tile [keys, rope] of the rope part that all heads share."""
    tile = ct.load(array, place, (1, keys, rope), padding_mode=ZERO, latency=latency, allow_tma=tma)
    return tile.reshape((keys, rope))


def score(query: Any, query_rope: Any, k: Any, kr: Any) -> Any:
    """Unscaled scores [rows, keys]."""
    scores = ct.full((query.shape[0], k.shape[0]), 0.0, dtype=ct.float32)
    scores = ct.mma(query, ct.transpose(k), scores)
    return ct.mma(query_rope, ct.transpose(kr), scores)


@ct.kernel
def flash_attention_v1(
    q_nope: Any,  # [b, s, h, d]
    q_rope: Any,  # [b, s, h, p]
    k_nope: Any,  # [b, t, h, d]
    values: Any,  # [b, t, h, d]
    k_rope: Any,  # [b, t, p]
    out: Any,  # [b, s, h, d]
    scale: float,
    history: int,  # t - s: keys before the new ones
    rows: Size,
    keys: Size,
    size: Size,
    rope: Size,
    causal: Flag,
    latency: Size,
    tail_tma: Flag,
) -> None:
    row_tile, head, b = ct.bid(0), ct.bid(1), ct.bid(2)
    t = k_nope.shape[1]
    place = (b, row_tile, head, 0)
    query = load_tile(q_nope, place, rows, size, None, None)
    query_rope = load_tile(q_rope, place, rows, rope, None, None)
    limit, first_limit, last_key = t, t, t
    if causal:
        tokens = row_tile * rows + ct.arange(rows, dtype=ct.int32)  # [rows]
        limit = ct.minimum(t, history + 1 + tokens).reshape((rows, 1))
        first_limit = ct.minimum(t, history + 1 + row_tile * rows)
        last_key = ct.minimum(t, history + (row_tile + 1) * rows)
    top = ct.full((rows, 1), HIDDEN, dtype=ct.float32)
    total = ct.full((rows, 1), 0.0, dtype=ct.float32)
    result = ct.full((rows, size), 0.0, dtype=ct.float32)
    whole = first_limit // keys
    for j in range(whole):
        k = load_tile(k_nope, (b, j, head, 0), keys, size, latency, None)
        kr = load_rope(k_rope, (b, j, 0), keys, rope, latency, None)
        scores = score(query, query_rope, k, kr)
        weights, rescale, top = weigh(scores, scale, top)
        total = total * rescale + ct.sum(weights, axis=-1, keepdims=True)
        v = load_tile(values, (b, j, head, 0), keys, size, latency, None)
        result = ct.mma(weights.astype(values.dtype), v, result * rescale)
    for j in range(whole, ct.cdiv(last_key, keys)):
        k = load_tile(k_nope, (b, j, head, 0), keys, size, latency, tail_tma)
        kr = load_rope(k_rope, (b, j, 0), keys, rope, latency, tail_tma)
        scores = score(query, query_rope, k, kr)
        scores = hide(scores, j * keys, limit)
        weights, rescale, top = weigh(scores, scale, top)
        total = total * rescale + ct.sum(weights, axis=-1, keepdims=True)
        v = load_tile(values, (b, j, head, 0), keys, size, latency, tail_tma)
        result = ct.mma(weights.astype(values.dtype), v, result * rescale)
    result = divide(result, total).astype(out.dtype)
    ct.store(out, place, result.reshape((1, rows, 1, size)))


@dataclass(frozen=True, order=True)
class FlashAttentionV1Tiling(Tiling):
    """One block: 128 query tokens of one head: for many new tokens."""

    TUNED_FOR: ClassVar[tuple[str, ...]] = ("sm_90",)

    tile_m: int = problem(128, "query tokens of a block", "rows")
    tile_n: int = problem(128, "keys of a step", "keys")
    latency: int = problem(4, "how far ahead to load, 1 to 10 (a hint)")
    tail_tma: bool = problem(True, "load the last, masked tiles by TMA too")
    num_worker_warps: int = problem(8, "warps that compute: 4 or 8", "warps")

    def validate(self, plan: KernelPlan) -> bool:
        return (
            is_tile(self.tile_m, 16, 256)
            and is_tile(self.tile_n, 16, 128)
            and 1 <= self.latency <= 10
            and self.num_worker_warps in (4, 8)
        )


@dataclass(frozen=True, kw_only=True)
class FlashAttentionV1(FlashAttentionProblem):
    """Decompressed attention, larger tiles, eight worker warps."""

    VERSION: ClassVar[str] = "v1"
    LANGUAGE: ClassVar[Language] = "cutile"
    TILINGS: ClassVar[Mapping[str, Tiling]] = {"flash_attention": FlashAttentionV1Tiling()}

    def validate(self) -> None:
        super().validate()
        narrow_only(self.dtype)

    def plan_empty(self) -> Kernel:
        return self._stage(*attention_arrays(self))

    def plan(self, *inputs: Tensor) -> Kernel:
        out = self.empty_result(inputs[0].device)
        return self._stage(*inputs, out, outputs=(out,))

    def _autotune_configs(self) -> dict[str, tuple[Tiling, ...]]:
        shapes = ((128, 128, 4), (128, 64, 4), (128, 64, 8), (64, 128, 4))
        found = (
            FlashAttentionV1Tiling(tile_m=m, tile_n=n, latency=ahead) for m, n, ahead in shapes
        )
        return {"flash_attention": tuple(found)}

    def _stage(self, *arrays: Any, outputs: tuple[Tensor, ...] = ()) -> Kernel:
        tiling = self.tiling("flash_attention")
        assert isinstance(tiling, FlashAttentionV1Tiling)
        call = TileCall(
            function=flash_attention_v1,
            grid=query_grid(self, tiling.tile_m),
            arguments=(
                *arrays,
                *attention_numbers(self, tiling.tile_m, tiling.tile_n),
                tiling.latency,
                tiling.tail_tma,
            ),
            hints={"num_worker_warps": tiling.num_worker_warps},
        )
        return tile_stage(
            call,
            attention_work(self, call, tiling.tile_m, tiling.tile_n),
            name="flash_attention",
            tiling=tiling,
            cost=self._algorithmic_flops_bytes(tiling),
            candidates=self._autotune_configs()["flash_attention"],
            outputs=outputs,
            compute_dtype=self.dtype,
        )
