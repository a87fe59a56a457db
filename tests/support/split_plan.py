"""A plan whose grid, stages and work follow the SMs of the device, as split attention does."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from tests.support.fake_plan import FakePlan, LatentTiling

from mla_var3.core.plan import Cost, KernelPipeline, Language, Tiling


@dataclass(frozen=True, order=True)
class JoinTiling(Tiling):
    """Tile sizes of the stage that joins the splits."""

    tile_m: int = 16


@dataclass(frozen=True, kw_only=True)
class SplitPlan(FakePlan):
    """`b` blocks, shared by as many splits as fill the SMs; one split needs no joining.

    b=120: 132 SMs make 2 splits and `join`, 108 SMs make 1 and no `join`. b=40: 4 and 3 splits.
    """

    KERNEL: ClassVar[str] = "split"
    LANGUAGE: ClassVar[Language] = "triton"
    TILINGS: ClassVar[Mapping[str, Tiling]] = {"latent": LatentTiling(), "join": JoinTiling()}

    def splits(self) -> int:
        return -(-(self.target_sms or 132) // self.b)

    def plan_empty(self) -> KernelPipeline:
        splits = self.splits()
        (first, second) = FakePlan(b=self.b, s=self.s).plan_empty().stages
        latent = replace(
            first,
            tiling=self.tiling("latent"),
            grid=(self.b, splits),
            cost=Cost(first.cost.flops, first.cost.read_bytes, 1e6 * splits),
        )
        join = replace(
            second,
            name="join",
            tiling=self.tiling("join"),
            grid=(self.b,),
            cost=Cost(0.0, 1e6 * splits, 1e6),
        )
        return KernelPipeline((latent, join) if splits > 1 else (latent,))
