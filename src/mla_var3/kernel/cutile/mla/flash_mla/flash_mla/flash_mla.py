"""Latent attention, one latent tile of all k columns: the plain version.

The tile is read, used for the scores and for the result, and only then is the next one loaded.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import cuda.tile as ct

from mla_var3.core.plan import Kernel, KernelPlan, Language, Tensor, Tiling, problem
from mla_var3.kernel.cutile.arguments import ArraySpec, TileCall
from mla_var3.kernel.cutile.interpreter.cost import TileWork
from mla_var3.kernel.cutile.parameters import ZERO, Flag, Size
from mla_var3.kernel.cutile.softmax import HIDDEN, LOG2_E, divide, hide, weigh
from mla_var3.kernel.cutile.stages import tile_stage
from mla_var3.kernel.cutile.tilings import (
    is_tile,
    merge_rows,
    narrow_only,
    power_of_two,
    tiles_over,
)
from mla_var3.kernel.mla_problem.attention import score_scale
from mla_var3.kernel.mla_problem.flash_mla import FlashMlaProblem


@ct.kernel
def flash_mla(
    q_latent: Any,  # [b, s * h, k]
    q_rope: Any,  # [b, s * h, p]
    latent: Any,  # [b, t, k]
    k_rope: Any,  # [b, t, p]
    out: Any,  # [b, s * h, k]
    scale: float,
    history: int,  # t - s: keys before the new ones
    heads: Size,
    rows: Size,
    keys: Size,
    columns: Size,
    rope: Size,
    causal: Flag,
    latency: Size,
) -> None:
    row_tile, b = ct.bid(0), ct.bid(1)
    t = latent.shape[1]
    query = ct.load(q_latent, (b, row_tile, 0), (1, rows, columns), padding_mode=ZERO)
    query = query.reshape((rows, columns))
    query_rope = ct.load(q_rope, (b, row_tile, 0), (1, rows, rope), padding_mode=ZERO)
    query_rope = query_rope.reshape((rows, rope))
    limit, last_key = t, t
    if causal:
        tokens = (row_tile * rows + ct.arange(rows, dtype=ct.int32)) // heads  # [rows]
        limit = ct.minimum(t, history + 1 + tokens).reshape((rows, 1))
        last_key = ct.minimum(t, history + 1 + (row_tile * rows + rows - 1) // heads)
    top = ct.full((rows, 1), HIDDEN, dtype=ct.float32)
    total = ct.full((rows, 1), 0.0, dtype=ct.float32)
    result = ct.full((rows, columns), 0.0, dtype=ct.float32)
    for j in range(ct.cdiv(last_key, keys)):
        z = ct.load(latent, (b, j, 0), (1, keys, columns), padding_mode=ZERO, latency=latency)
        z = z.reshape((keys, columns))
        z_rope = ct.load(k_rope, (b, j, 0), (1, keys, rope), padding_mode=ZERO, latency=latency)
        z_rope = z_rope.reshape((keys, rope))
        scores = ct.full((rows, keys), 0.0, dtype=ct.float32)
        scores = ct.mma(query, ct.transpose(z), scores)
        scores = ct.mma(query_rope, ct.transpose(z_rope), scores)
        scores = hide(scores, j * keys, limit)
        weights, rescale, top = weigh(scores, scale, top)
        total = total * rescale + ct.sum(weights, axis=-1, keepdims=True)
        result = ct.mma(weights.astype(latent.dtype), z, result * rescale)
    result = divide(result, total).astype(out.dtype)
    ct.store(out, (b, row_tile, 0), result.reshape((1, rows, columns)))


@dataclass(frozen=True, order=True)
class FlashMlaTiling(Tiling):
    """One block: 64 rows and all k columns of the latent."""

    TUNED_FOR: ClassVar[tuple[str, ...]] = ("sm_90",)

    tile_m: int = problem(64, "rows (tokens times heads) of a block", "rows")
    tile_n: int = problem(64, "keys of a step", "keys")
    latency: int = problem(3, "how far ahead to load, 1 to 10 (a hint)")
    num_worker_warps: int = problem(8, "warps that compute: 4 or 8; 4 spill", "warps")

    def validate(self, plan: KernelPlan) -> bool:
        return (
            is_tile(self.tile_m, 16, 128)
            and is_tile(self.tile_n, 16, 128)
            and 1 <= self.latency <= 10
            and self.num_worker_warps in (4, 8)
        )


@dataclass(frozen=True, kw_only=True)
class FlashMla(FlashMlaProblem):
    """Latent attention, one tile of k columns."""

    LANGUAGE: ClassVar[Language] = "cutile"
    TILINGS: ClassVar[Mapping[str, Tiling]] = {"flash_mla": FlashMlaTiling()}

    def validate(self) -> None:
        super().validate()
        narrow_only(self.dtype)

    def plan_empty(self) -> Kernel:
        shapes = *self.input_shapes(), (self.b, self.s, self.h, self.k)
        return self._stage(*(ArraySpec(merge_rows(shape), self.dtype) for shape in shapes))

    def plan(self, *inputs: Tensor) -> Kernel:
        out = self.empty_result(inputs[0].device)
        merged = (x.view(merge_rows(x.shape)) for x in (*inputs, out))
        return self._stage(*merged, outputs=(out,))

    def _autotune_configs(self) -> dict[str, tuple[Tiling, ...]]:
        return {"flash_mla": (FlashMlaTiling(), FlashMlaTiling(tile_n=32))}

    def _stage(self, *arrays: Any, outputs: tuple[Tensor, ...] = ()) -> Kernel:
        tiling = self.tiling("flash_mla")
        assert isinstance(tiling, FlashMlaTiling)
        call = self._call(tiling, arrays)
        return tile_stage(
            call,
            self._work(tiling, call),
            name="flash_mla",
            tiling=tiling,
            cost=self._algorithmic_flops_bytes(tiling),
            candidates=self._autotune_configs()["flash_mla"],
            outputs=outputs,
            compute_dtype=self.dtype,
        )

    def _call(self, tiling: FlashMlaTiling, arrays: tuple[Any, ...]) -> TileCall:
        numbers = (
            score_scale(self) * LOG2_E,
            self.t - self.s,
            self.h,
            tiling.tile_m,
            tiling.tile_n,
            power_of_two(self.k),
            power_of_two(self.p),
            self.causal,
            tiling.latency,
        )
        return TileCall(
            function=flash_mla,
            grid=(tiles_over(self.s * self.h, tiling.tile_m), self.b),
            arguments=(*arrays, *numbers),
            hints={"num_worker_warps": tiling.num_worker_warps},
        )

    def _work(self, tiling: FlashMlaTiling, call: TileCall) -> TileWork:
        pairs = tiling.tile_m * tiling.tile_n
        columns, rope = power_of_two(self.k), power_of_two(self.p)
        return TileWork(
            blocks=call.grid[0] * call.grid[1],
            steps=tiles_over(self.t, tiling.tile_n),
            operations=30,
            flops=2.0 * pairs * (2 * columns + rope),
            elements=10.0 * pairs + (3 * tiling.tile_n + 2 * tiling.tile_m) * (columns + rope),
        )
