"""A plan without any GPU library: two stages, a compiler that writes a listing of its own."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from mla_var3.core.plan import (
    CompiledStage,
    Cost,
    Kernel,
    KernelPipeline,
    KernelPlan,
    Language,
    MlaPlan,
    Tensor,
    Tiling,
    problem,
)

LISTING = """
	code for sm_90
		Function : latent
	.headerflags	@"EF_CUDA_SM90"
    /*0000*/                   LDC R1, c[0x0][0x28] ;  /* 0x00000a00ff017b82 */
  /* 0x000fe20000000800 */
    /*0010*/              @!P0 BRA 0x40 ;  /* 0x000fe20000000800 */
    /*0020*/                   HGMMA.64x64x16.F32.BF16 R24, gdesc[UR4] ;  /* 0x000fe20000000800 */
    /*0030*/                   HGMMA.64x64x16.F32.BF16 R24, gdesc[UR8] ;  /* 0x000fe20000000800 */
    /*0040*/                   WARPGROUP.DEPBAR.LE gsb0, 0x0 ;  /* 0x000fe20000000800 */
    /*0050*/             @UP1  UTMALDG.3D [UR4], [UR8] ;  /* 0x000fe20000000800 */
    /*0060*/               @P1 EXIT ;  /* 0x000fe20000000800 */
"""


@dataclass(frozen=True, order=True)
class LatentTiling(Tiling):
    """Tile sizes of the first stage."""

    TUNED_FOR: ClassVar[tuple[str, ...]] = ("sm_90",)

    tile_m: int = problem(64, "rows of a tile", "rows")
    latency: int | None = problem(3, "load hint, or none", "tiles")

    def validate(self, plan: KernelPlan) -> bool:
        return self.tile_m <= 128


@dataclass(frozen=True, order=True)
class CombineTiling(Tiling):
    """Tile sizes of the second stage."""

    tile_m: int = problem(16, "rows of a tile", "rows")


@dataclass(frozen=True, kw_only=True)
class FakePlan(MlaPlan):
    """Two stages that are compiled into a fixed listing."""

    KERNEL: ClassVar[str] = "fake"
    VERSION: ClassVar[str] = "v1"
    LANGUAGE: ClassVar[Language] = "cutile"
    TILINGS: ClassVar[Mapping[str, Tiling]] = {
        "latent": LatentTiling(),
        "combine": CombineTiling(),
    }

    def prepare_inputs(self, device: str, seed: int = 0) -> tuple[Tensor, ...]:
        return ()

    def reference_fn(self, *inputs: Tensor) -> Tensor:
        raise NotImplementedError

    def plan(self, *inputs: Tensor) -> KernelPipeline:
        return self.plan_empty()

    def plan_empty(self) -> KernelPipeline:
        flops = 2.0 * self.b * self.s * self.h * self.t * (2 * self.k + self.p)
        latent = Kernel(
            name="latent",
            tiling=self.tiling("latent"),
            cost=Cost(flops, 2.0 * self.b * self.t * (self.k + self.p), 0.0),
            grid=(self.s * self.h // 64, self.b, 1),
            compile_to_files=_compile_latent,
        )
        combine = Kernel(
            name="combine",
            tiling=self.tiling("combine"),
            cost=Cost(1e6, 48e6, 48e6),
            grid=(132,),
            compute_dtype="fp32",
            compile_to_files=_compile_combine,
        )
        return KernelPipeline((latent, combine))

    def _algorithmic_flops_bytes(self, tiling: Tiling | None = None) -> Cost:
        return self.plan_empty().stages[0].cost


def _compile_latent(folder: Path, arch: str) -> CompiledStage:
    (folder / "latent.sass").write_text(LISTING)
    return CompiledStage(
        arch=arch,
        files=("latent.sass",),
        registers=168,
        spill_bytes=0,
        static_shared_bytes=156216,
        dynamic_shared_bytes=0,
        threads=384,
        barriers=2,
    )


def _compile_combine(folder: Path, arch: str) -> CompiledStage:
    return CompiledStage(
        arch=arch,
        files=(),
        registers=43,
        spill_bytes=2696,
        static_shared_bytes=0,
        dynamic_shared_bytes=0,
        threads=256,
        opcodes={"HMMA.16816.F32.BF16": 8, "CALL.REL.NOINC": 2, "STL": 3, "LDL": 4},
    )
