"""Control: cuBLAS times two square matrices. What the workbench says of it is known beforehand.

a [n, n] times b [n, n] gives c. At n = 8192 in bf16 an H200 reaches about 690 TFLOP/s sustained and
790 in a short burst: the power limit, not the kernel, takes the rest.
"""

from dataclasses import dataclass
from typing import ClassVar

from mla_var3 import Cost, Kernel, KernelPlan, Tensor, Tiling, problem
from mla_var3.core.plan import DTYPE_BYTES, DTYPE_NAMES, Language


@dataclass(frozen=True, kw_only=True)
class Matmul(KernelPlan):
    """One product of square matrices by torch (cuBLAS on a GPU)."""

    KERNEL: ClassVar[str] = "matmul"
    LANGUAGE: ClassVar[Language] = "torch"

    n: int = problem(8192, "rows and columns of each matrix", "elements")
    dtype: str = problem("bf16", "element type: bf16, fp16 or fp32")

    def prepare_inputs(self, device: str, seed: int = 0) -> tuple[Tensor, ...]:
        """a scaled so that the elements of the product are near 1."""
        import torch

        generator = torch.Generator(device).manual_seed(seed)
        shape, dtype = (self.n, self.n), getattr(torch, DTYPE_NAMES[self.dtype])
        a, b = (
            torch.randn(shape, generator=generator, device=device, dtype=dtype) for _ in range(2)
        )
        return a.mul_(self.n**-0.5), b

    def reference_fn(self, *inputs: Tensor) -> Tensor:
        a, b = (tensor.float() for tensor in inputs)
        return a @ b

    def plan(self, *inputs: Tensor) -> Kernel:
        import torch

        a, b = inputs
        c = torch.empty_like(a)
        return self._stage(lambda: torch.mm(a, b, out=c), c)

    def plan_empty(self) -> Kernel:
        return self._stage(None)

    def _stage(self, launch, *outputs: Tensor) -> Kernel:
        return Kernel(
            name="matmul",
            tiling=Tiling(),
            cost=self._algorithmic_flops_bytes(),
            grid=(),
            launch=launch,
            outputs=outputs,
            no_compile_reason="torch runs kernels that are compiled already",
            compute_dtype=self.dtype,
        )

    def _algorithmic_flops_bytes(self, tiling: Tiling | None = None) -> Cost:
        """2 n³ FLOPs; both inputs read once, the product written once."""
        square = float(self.n**2 * DTYPE_BYTES[self.dtype])
        return Cost(2.0 * self.n**3, 2 * square, square)
