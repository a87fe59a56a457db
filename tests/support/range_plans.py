"""Plans whose stages are named as the NVTX ranges of the recordings; nothing of them is run."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from mla_var3.core.plan import (
    ConcurrentKernels,
    Cost,
    Kernel,
    KernelPipeline,
    KernelPlan,
    Language,
    Runnable,
    Tensor,
    Tiling,
    problem,
)


@dataclass(frozen=True, order=True)
class FaTiling(Tiling):
    """Tile sizes of one stage."""

    TUNED_FOR: ClassVar[tuple[str, ...]] = ("sm_90",)

    tile_m: int = problem(128, "rows of a tile", "rows")


@dataclass(frozen=True, kw_only=True)
class RangesPlan(KernelPlan):
    """Attention, a copy and a matmul, as attention_full.ncu-rep holds them."""

    KERNEL: ClassVar[str] = "ranges"
    VERSION: ClassVar[str] = "v1"
    LANGUAGE: ClassVar[Language] = "triton"
    TILINGS: ClassVar[Mapping[str, Tiling]] = {"fa": FaTiling()}

    b: int = problem(128, "batch and heads", "sequences")
    dtype: str = problem("bf16", "element type")

    def prepare_inputs(self, device: str, seed: int = 0) -> tuple[Tensor, ...]:
        return ()

    def reference_fn(self, *inputs: Tensor) -> Tensor:
        raise NotImplementedError

    def plan(self, *inputs: Tensor) -> Runnable:
        return self.plan_empty()

    def plan_empty(self) -> Runnable:
        return KernelPipeline(self.kernels())

    def kernels(self) -> tuple[Kernel, ...]:
        """Work by hand: 4 BH S T D; a copy of 512 MiB; 2 N³ with N = 8192."""
        mb = 2.0**20
        attention = Cost(4.0 * self.b * 2048 * 2048 * 128, 192 * mb, 64 * mb)
        return (
            Kernel("fa", self.tiling("fa"), attention, (16, self.b)),
            Kernel("copy", Tiling(), Cost(0.0, 512 * mb, 512 * mb), ()),
            Kernel("mm", Tiling(), Cost(2.0 * 8192**3, 256 * mb, 128 * mb), ()),
        )  # fmt: skip

    def _algorithmic_flops_bytes(self, tiling: Tiling | None = None) -> Cost:
        total = Cost(0.0, 0.0, 0.0)
        for kernel in self.kernels():
            total = total + kernel.cost
        return total


@dataclass(frozen=True, kw_only=True)
class FewerStages(RangesPlan):
    """The same with a tiling of a stage that there is not at this problem."""

    TILINGS: ClassVar[Mapping[str, Tiling]] = {"fa": FaTiling(), "combine": FaTiling()}


@dataclass(frozen=True, kw_only=True)
class MoreStages(RangesPlan):
    """The same with a stage that the recording does not hold."""

    KERNEL: ClassVar[str] = "more"

    def kernels(self) -> tuple[Kernel, ...]:
        return (*super().kernels(), Kernel("combine", Tiling(), Cost(1e6, 1e6, 1e6), ()))


@dataclass(frozen=True, kw_only=True)
class TogetherPlan(RangesPlan):
    """The copy beside the matmul, on streams of their own, then attention."""

    KERNEL: ClassVar[str] = "together"

    def plan_empty(self) -> Runnable:
        fa, copy, mm = self.kernels()
        return ConcurrentKernels(stages=(copy, mm), after=(fa,))


@dataclass(frozen=True, kw_only=True)
class OpsPlan(RangesPlan):
    """Stages of several kernels, as torch_ops.ncu-rep holds them."""

    KERNEL: ClassVar[str] = "ops"
    TILINGS: ClassVar[Mapping[str, Tiling]] = {}

    def kernels(self) -> tuple[Kernel, ...]:
        cost = Cost(1e9, 1e8, 1e8)
        names = ("elementwise", "norm", "decode bmm", "cumsum")
        return tuple(Kernel(name, Tiling(), cost, (), compute_dtype="fp32") for name in names)
