"""Decompressed attention, one loop with a mask: the plain version, two blocks an SM."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
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


@ct.kernel
def flash_attention(
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
) -> None:
    row_tile, head, b = ct.bid(0), ct.bid(1), ct.bid(2)
    t = k_nope.shape[1]
    place = (b, row_tile, head, 0)
    query = ct.load(q_nope, place, (1, rows, 1, size), padding_mode=ZERO).reshape((rows, size))
    query_rope = ct.load(q_rope, place, (1, rows, 1, rope), padding_mode=ZERO)
    query_rope = query_rope.reshape((rows, rope))
    limit, last_key = t, t
    if causal:
        tokens = row_tile * rows + ct.arange(rows, dtype=ct.int32)  # [rows]
        limit = ct.minimum(t, history + 1 + tokens).reshape((rows, 1))
        last_key = ct.minimum(t, history + (row_tile + 1) * rows)
    top = ct.full((rows, 1), HIDDEN, dtype=ct.float32)
    total = ct.full((rows, 1), 0.0, dtype=ct.float32)
    result = ct.full((rows, size), 0.0, dtype=ct.float32)
    for j in range(ct.cdiv(last_key, keys)):
        shape = (1, keys, 1, size)
        k = ct.load(k_nope, (b, j, head, 0), shape, padding_mode=ZERO, latency=latency)
        kr = ct.load(k_rope, (b, j, 0), (1, keys, rope), padding_mode=ZERO, latency=latency)
        scores = ct.full((rows, keys), 0.0, dtype=ct.float32)
        scores = ct.mma(query, ct.transpose(k.reshape((keys, size))), scores)
        scores = ct.mma(query_rope, ct.transpose(kr.reshape((keys, rope))), scores)
        scores = hide(scores, j * keys, limit)
        weights, rescale, top = weigh(scores, scale, top)
        total = total * rescale + ct.sum(weights, axis=-1, keepdims=True)
        v = ct.load(values, (b, j, head, 0), shape, padding_mode=ZERO, latency=latency)
        narrow = weights.astype(values.dtype)
        result = ct.mma(narrow, v.reshape((keys, size)), result * rescale)
    result = divide(result, total).astype(out.dtype)
    ct.store(out, place, result.reshape((1, rows, 1, size)))


@dataclass(frozen=True, order=True)
class FlashAttentionTiling(Tiling):
    """One block: up to 64 query tokens of one head. Two blocks an SM keep the memory busy."""

    TUNED_FOR: ClassVar[tuple[str, ...]] = ("sm_90",)

    tile_m: int = problem(64, "query tokens of a block", "rows")
    tile_n: int = problem(64, "keys of a step", "keys")
    latency: int = problem(8, "how far ahead to load, 1 to 10 (a hint)")
    num_worker_warps: int = problem(4, "warps that compute: 4 or 8", "warps")
    occupancy: int = problem(2, "blocks an SM that the compiler leaves room for", "blocks")

    def validate(self, plan: KernelPlan) -> bool:
        return (
            is_tile(self.tile_m, 16, 128)
            and is_tile(self.tile_n, 16, 128)
            and 1 <= self.latency <= 10
            and self.num_worker_warps in (4, 8)
            and 1 <= self.occupancy <= 32
        )


@dataclass(frozen=True, kw_only=True)
class FlashAttention(FlashAttentionProblem):
    """Decompressed attention, one masked loop."""

    LANGUAGE: ClassVar[Language] = "cutile"
    TILINGS: ClassVar[Mapping[str, Tiling]] = {"flash_attention": FlashAttentionTiling()}

    def validate(self) -> None:
        super().validate()
        narrow_only(self.dtype)

    def plan_empty(self) -> Kernel:
        return self._stage(*attention_arrays(self))

    def plan(self, *inputs: Tensor) -> Kernel:
        out = self.empty_result(inputs[0].device)
        return self._stage(*inputs, out, outputs=(out,))

    def _autotune_configs(self) -> dict[str, tuple[Tiling, ...]]:
        default = FlashAttentionTiling()
        return {
            "flash_attention": (default, replace(default, tile_n=32), replace(default, occupancy=1))
        }

    def _stage(self, *arrays: Any, outputs: tuple[Tensor, ...] = ()) -> Kernel:
        tiling = self.tiling("flash_attention")
        assert isinstance(tiling, FlashAttentionTiling)
        call = TileCall(
            function=flash_attention,
            grid=query_grid(self, tiling.tile_m),
            arguments=(
                *arrays,
                *attention_numbers(self, tiling.tile_m, tiling.tile_n),
                tiling.latency,
            ),
            hints={"num_worker_warps": tiling.num_worker_warps, "occupancy": tiling.occupancy},
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
