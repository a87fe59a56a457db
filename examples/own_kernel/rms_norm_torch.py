"""RMS norm in eager torch: what a fused kernel would have to beat.

x [rows, columns] and weight [columns] give o = x / sqrt(mean(x²) + eps) · weight, row by row.
"""

from dataclasses import dataclass
from typing import ClassVar

from mla_var3 import Cost, Kernel, KernelPlan, Tensor, Tiling, problem
from mla_var3.core.plan import DTYPE_BYTES, DTYPE_NAMES, Language


@dataclass(frozen=True, kw_only=True)
class RmsNorm(KernelPlan):
    """RMS norm over the last axis of a matrix."""

    KERNEL: ClassVar[str] = "rms_norm"
    LANGUAGE: ClassVar[Language] = "torch"

    rows: int = problem(4096, "rows of the matrix", "rows")
    columns: int = problem(7168, "columns of the matrix", "elements")
    eps: float = problem(1e-6, "added to the mean square")
    dtype: str = problem("bf16", "element type: bf16, fp16 or fp32")

    def prepare_inputs(self, device: str, seed: int = 0) -> tuple[Tensor, ...]:
        import torch

        generator = torch.Generator(device).manual_seed(seed)
        dtype = getattr(torch, DTYPE_NAMES[self.dtype])
        return tuple(
            torch.randn(shape, generator=generator, device=device, dtype=dtype)
            for shape in ((self.rows, self.columns), (self.columns,))
        )

    def reference_fn(self, *inputs: Tensor) -> Tensor:
        x, weight = (tensor.float() for tensor in inputs)
        return x / (x.pow(2).mean(-1, keepdim=True) + self.eps).sqrt() * weight

    def plan(self, *inputs: Tensor) -> Kernel:
        import torch

        x, weight = inputs
        o = torch.empty_like(x)

        def launch() -> None:
            wide = x.float()
            scale = torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.eps)
            o.copy_(wide * scale * weight)

        return self._stage(launch, o)

    def plan_empty(self) -> Kernel:
        return self._stage(None)

    def _stage(self, launch, *outputs: Tensor) -> Kernel:
        return Kernel(
            name="rms_norm",
            tiling=Tiling(),
            cost=self._algorithmic_flops_bytes(),
            grid=(),
            launch=launch,
            outputs=outputs,
            no_compile_reason="torch runs kernels that are compiled already",
            compute_dtype="fp32",
        )

    def _algorithmic_flops_bytes(self, tiling: Tiling | None = None) -> Cost:
        """A row of n: n squares, n - 1 sums, 2 n products, and 3 for mean, eps and root."""
        width = DTYPE_BYTES[self.dtype]
        matrix = float(self.rows * self.columns * width)
        flops = self.rows * (4 * self.columns + 2)
        return Cost(float(flops), matrix + self.columns * width, matrix)
