"""Softmax of each row in Triton: one program a row, three passes over its tiles.

x [rows, columns] gives o [rows, columns]. The first pass reads from DRAM, the others from L2.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

# Triton decides when it is imported whether it compiles or interprets. Without a GPU: interpret.
if not os.path.exists("/dev/nvidiactl"):
    os.environ.setdefault("TRITON_INTERPRET", "1")

import triton
import triton.language as tl

from mla_var3 import Cost, Kernel, KernelPlan, Tensor, Tiling, problem
from mla_var3.core.errors import MachineCannot
from mla_var3.core.plan import DTYPE_BYTES, DTYPE_NAMES, Language

STAGE = "row_softmax"


@triton.jit
def row_softmax(x, o, columns, TILE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    lanes = tl.arange(0, TILE)

    top = tl.full((TILE,), -float("inf"), tl.float32)
    for first in range(0, columns, TILE):
        at = first + lanes
        top = tl.maximum(top, tl.load(x + row + at, mask=at < columns, other=-float("inf")))
    top = tl.max(top, axis=0)

    total = tl.zeros((TILE,), tl.float32)
    for first in range(0, columns, TILE):
        at = first + lanes
        part = tl.load(x + row + at, mask=at < columns, other=-float("inf")).to(tl.float32)
        total += tl.exp(part - top)
    total = tl.sum(total, axis=0)

    for first in range(0, columns, TILE):
        at = first + lanes
        part = tl.load(x + row + at, mask=at < columns, other=-float("inf")).to(tl.float32)
        weight = tl.exp(part - top) / total
        tl.store(o + row + at, weight.to(o.dtype.element_ty), mask=at < columns)


@dataclass(frozen=True, order=True)
class RowSoftmaxTiling(Tiling):
    tile: int = problem(1024, "columns a pass works on at a time, a power of two", "elements")
    num_warps: int = problem(4, "warps a program", "warps")

    def validate(self, plan: KernelPlan) -> bool:
        return self.tile & (self.tile - 1) == 0 and self.num_warps in (1, 2, 4, 8, 16, 32)


@dataclass(frozen=True, kw_only=True)
class RowSoftmax(KernelPlan):
    """Softmax over the last axis of a matrix."""

    KERNEL: ClassVar[str] = "row_softmax"
    LANGUAGE: ClassVar[Language] = "triton"
    TILINGS: ClassVar[Mapping[str, Tiling]] = {STAGE: RowSoftmaxTiling()}

    rows: int = problem(4096, "rows of the matrix", "rows")
    columns: int = problem(8192, "columns of the matrix", "elements")
    dtype: str = problem("bf16", "element type: bf16, fp16 or fp32")

    def prepare_inputs(self, device: str, seed: int = 0) -> tuple[Tensor, ...]:
        import torch

        generator = torch.Generator(device).manual_seed(seed)
        dtype = getattr(torch, DTYPE_NAMES[self.dtype])
        shape = (self.rows, self.columns)
        return (torch.randn(shape, generator=generator, device=device, dtype=dtype),)

    def reference_fn(self, *inputs: Tensor) -> Tensor:
        import torch

        return torch.softmax(inputs[0].float(), dim=-1)

    def plan(self, *inputs: Tensor) -> Kernel:
        import torch

        (x,) = inputs
        o = torch.empty_like(x)
        tiling = self.tiling(STAGE)

        def launch() -> None:
            if not x.is_cuda and isinstance(tl.max, triton.JITFunction):
                raise MachineCannot(
                    "Triton runs on the CPU only with TRITON_INTERPRET=1 set from the start"
                )
            row_softmax[(self.rows,)](
                x, o, self.columns, TILE=tiling.tile, num_warps=tiling.num_warps
            )

        return self._stage(launch, o)

    def plan_empty(self) -> Kernel:
        return self._stage(None)

    def _stage(self, launch, *outputs: Tensor) -> Kernel:
        tiling = self.tiling(STAGE)
        passes = 3 * self.rows * -(-self.columns // tiling.tile)
        return Kernel(
            name=STAGE,
            tiling=tiling,
            cost=self._algorithmic_flops_bytes(tiling),
            grid=(self.rows,),
            launch=launch,
            outputs=outputs,
            no_compile_reason="this example only runs its kernel",
            compute_dtype="fp32",
            cpu_seconds=passes * 5e-3,  # in Triton's interpreter, measured
        )

    def _algorithmic_flops_bytes(self, tiling: Tiling | None = None) -> Cost:
        """A row of n: n - 1 comparisons, n differences, exponentials and divisions, n - 1 sums."""
        size = float(self.rows * self.columns * DTYPE_BYTES[self.dtype])
        return Cost(float(self.rows * (5 * self.columns - 2)), size, size)
