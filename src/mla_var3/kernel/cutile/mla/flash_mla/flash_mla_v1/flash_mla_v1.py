"""Latent attention in column chunks with two latent tiles in flight, and split over the keys.

With the latent in four chunks the compiler loads the next tile while it computes with this one.
Where row tiles do not fill the SMs, several blocks share the keys of one, and a second stage
combines their results by the log-sum-exp of each row.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from mla_var3.core.plan import (
    DTYPE_BYTES,
    Cost,
    Kernel,
    KernelPipeline,
    KernelPlan,
    Language,
    Tensor,
    Tiling,
    problem,
)
from mla_var3.kernel.cutile.arguments import ArraySpec, TileCall, tensors_of
from mla_var3.kernel.cutile.backend import sm_count
from mla_var3.kernel.cutile.interpreter.cost import TileWork
from mla_var3.kernel.cutile.mla.flash_mla.flash_mla_v1.kernels import combine, latent_attention
from mla_var3.kernel.cutile.softmax import LOG2_E
from mla_var3.kernel.cutile.splits import choose_splits, without_empty
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

LSE_BYTES = 4


@dataclass(frozen=True, order=True)
class FlashMlaV1LatentTiling(Tiling):
    """One block: 64 rows, the latent in column chunks, a share of the keys."""

    TUNED_FOR: ClassVar[tuple[str, ...]] = ("sm_90",)

    tile_m: int = problem(64, "rows (tokens times heads) of a block", "rows")
    tile_n: int = problem(64, "keys of a step", "keys")
    chunks: int = problem(4, "column chunks of the latent; 4 let two tiles be in flight", "chunks")
    n_split: int = problem(0, "blocks that share the keys; 0: as fill the SMs", "blocks")
    latency: int = problem(3, "how far ahead to load, 1 to 10 (a hint)")
    tail_tma: bool = problem(True, "load the last, masked tiles by TMA too")
    num_worker_warps: int = problem(8, "warps that compute: 4 or 8; 4 spill", "warps")

    def validate(self, plan: KernelPlan) -> bool:
        return (
            is_tile(self.tile_m, 16, 128)
            and is_tile(self.tile_n, 16, 128)
            and is_tile(self.chunks, 1, 16)
            and 0 <= self.n_split <= tiles_over(getattr(plan, "t", 1), self.tile_n)
            and 1 <= self.latency <= 10
            and self.num_worker_warps in (4, 8)
        )


@dataclass(frozen=True, order=True)
class FlashMlaV1CombineTiling(Tiling):
    """One block of the combination: some rows, some columns, all splits."""

    tile_m: int = problem(16, "rows of a block", "rows")
    tile_k: int = problem(128, "columns of a block", "columns")

    def validate(self, plan: KernelPlan) -> bool:
        return is_tile(self.tile_m, 1, 128) and is_tile(self.tile_k, 16, 1024)


@dataclass(frozen=True, kw_only=True)
class FlashMlaV1(FlashMlaProblem):
    """Latent attention, column chunks, keys split over blocks."""

    VERSION: ClassVar[str] = "v1"
    LANGUAGE: ClassVar[Language] = "cutile"
    TILINGS: ClassVar[Mapping[str, Tiling]] = {
        "latent": FlashMlaV1LatentTiling(),
        "combine": FlashMlaV1CombineTiling(),
    }

    def validate(self) -> None:
        super().validate()
        narrow_only(self.dtype)

    def plan_empty(self) -> KernelPipeline:
        shapes = *self.input_shapes(), (self.b, self.s, self.h, self.k)
        arrays = tuple(ArraySpec(merge_rows(shape), self.dtype) for shape in shapes)
        splits = self._splits(self.target_sms or sm_count(None))
        partial, lse = self._partial_shapes(splits)
        given = ArraySpec(partial, self.dtype), ArraySpec(lse, "fp32")
        return self._pipeline(splits, arrays, *given)

    def plan(self, *inputs: Tensor) -> KernelPipeline:
        import torch

        out = self.empty_result(inputs[0].device)
        arrays = tuple(x.view(merge_rows(x.shape)) for x in (*inputs, out))
        splits = self._splits(sm_count(out))
        partial_shape, lse_shape = self._partial_shapes(splits)
        partial = out.view(partial_shape) if splits == 1 else out.new_empty(partial_shape)
        lse = torch.empty(lse_shape, dtype=torch.float32, device=out.device)
        made = self._pipeline(splits, arrays, partial, lse)
        last = made.stages[-1]
        kept = (out, lse) if splits == 1 else (out,)
        return KernelPipeline((*made.stages[:-1], replace(last, outputs=kept)))

    def _autotune_configs(self) -> dict[str, tuple[Tiling, ...]]:
        buffering = ((3, True), (3, False), (10, True), (10, False))
        latent = tuple(
            FlashMlaV1LatentTiling(latency=latency, tail_tma=tma) for latency, tma in buffering
        )
        shapes = ((16, 128), (8, 512), (32, 128))
        merging = tuple(FlashMlaV1CombineTiling(tile_m=m, tile_k=k) for m, k in shapes)
        return {"latent": latent, "combine": merging}

    def latent_tiling(self) -> FlashMlaV1LatentTiling:
        """The tiling in use for the first stage."""
        tiling = self.tiling("latent")
        assert isinstance(tiling, FlashMlaV1LatentTiling)
        return tiling

    def combine_tiling(self) -> FlashMlaV1CombineTiling:
        """The tiling in use for the second stage."""
        tiling = self.tiling("combine")
        assert isinstance(tiling, FlashMlaV1CombineTiling)
        return tiling

    def _splits(self, sms: int) -> int:
        tiling = self.latent_tiling()
        key_tiles = tiles_over(self.t, tiling.tile_n)
        if tiling.n_split:
            return without_empty(tiling.n_split, key_tiles)
        blocks = tiles_over(self.s * self.h, tiling.tile_m) * self.b
        return choose_splits(blocks, key_tiles, sms)

    def _partial_shapes(self, splits: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Of the partial results and their log-sum-exp."""
        rows = (splits, self.b, self.s * self.h)
        return (*rows, self.k), rows

    def _pipeline(
        self, splits: int, arrays: tuple[Any, ...], partial: Any, lse: Any
    ) -> KernelPipeline:
        *inputs, out = arrays
        latent = self._latent(splits, (*inputs, partial, lse))
        if splits == 1:
            return KernelPipeline((latent,))
        return KernelPipeline((latent, self._combine(splits, (partial, lse, out))))

    def _latent(self, splits: int, arrays: tuple[Any, ...]) -> Kernel:
        tiling = self.latent_tiling()
        chunk = power_of_two(tiles_over(self.k, tiling.chunks))
        sizes = (
            self.h,
            splits,
            tiling.tile_m,
            tiling.tile_n,
            chunk,
            tiles_over(self.k, chunk),
            power_of_two(self.p),
            self.causal,
            tiling.latency,
            tiling.tail_tma,
        )
        call = TileCall(
            function=latent_attention,
            grid=(tiles_over(self.s * self.h, tiling.tile_m), self.b, splits),
            arguments=(*arrays, score_scale(self) * LOG2_E, self.t - self.s, *sizes),
            hints={"num_worker_warps": tiling.num_worker_warps},
        )
        return tile_stage(
            call,
            self._latent_work(tiling, call),
            name="latent",
            tiling=tiling,
            cost=self._latent_cost(splits),
            candidates=self._autotune_configs()["latent"],
            outputs=tensors_of(*arrays[-2:]),
            compute_dtype=self.dtype,
        )

    def _combine(self, splits: int, arrays: tuple[Any, ...]) -> Kernel:
        tiling = self.combine_tiling()
        columns = min(tiling.tile_k, power_of_two(self.k))
        rows = tiles_over(self.s * self.h, tiling.tile_m)
        call = TileCall(
            function=combine,
            grid=(rows, self.b, tiles_over(self.k, columns)),
            arguments=(*arrays, splits, tiling.tile_m, columns),
        )
        work = TileWork(
            blocks=math.prod(call.grid),
            steps=splits,
            operations=12,
            flops=0.0,
            elements=4.0 * tiling.tile_m * columns,
        )
        return tile_stage(
            call,
            work,
            name="combine",
            tiling=tiling,
            cost=self._combine_cost(splits),
            candidates=self._autotune_configs()["combine"],
            outputs=tensors_of(arrays[-1]),
            compute_dtype="fp32",
        )

    def _latent_cost(self, splits: int) -> Cost:
        """Of the algorithm, and with several splits the partial results in place of the result."""
        whole = self._algorithmic_flops_bytes()
        if splits == 1:
            return whole
        return Cost(whole.flops, whole.read_bytes, self._partial_bytes(splits))

    def _combine_cost(self, splits: int) -> Cost:
        """A multiply-add an element and split; partial results read, the result written."""
        elements = self.b * self.s * self.h * self.k
        written = elements * DTYPE_BYTES[self.dtype]
        return Cost(2.0 * splits * elements, self._partial_bytes(splits), float(written))

    def _partial_bytes(self, splits: int) -> float:
        rows = splits * self.b * self.s * self.h
        return float(rows * (self.k * DTYPE_BYTES[self.dtype] + LSE_BYTES))

    def _latent_work(self, tiling: FlashMlaV1LatentTiling, call: TileCall) -> TileWork:
        pairs = tiling.tile_m * tiling.tile_n
        columns, rope = power_of_two(self.k), power_of_two(self.p)
        return TileWork(
            blocks=math.prod(call.grid),
            steps=tiles_over(tiles_over(self.t, tiling.tile_n), call.grid[2]),
            operations=20 + 60 * tiling.chunks,
            flops=2.0 * pairs * (2 * columns + rope),
            elements=10.0 * pairs + (3 * tiling.tile_n + 2 * tiling.tile_m) * (columns + rope),
        )
