"""Control: one copy in device memory. What the workbench says of it is known beforehand.

source [elements] is written to target with its sign turned: a plain `copy_` is a copy of the
driver, no kernel, and ncu does not see it. 512 MiB read and 512 MiB written: an H200 reaches about
4.27 TB/s of its 4.8.
"""

from dataclasses import dataclass
from typing import ClassVar

from mla_var3 import Cost, Kernel, KernelPlan, Tensor, Tiling, problem
from mla_var3.core.plan import DTYPE_BYTES, DTYPE_NAMES, Language

MIB = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Copy(KernelPlan):
    """One contiguous copy by torch, the sign turned on the way."""

    KERNEL: ClassVar[str] = "copy"
    LANGUAGE: ClassVar[Language] = "torch"

    mib: int = problem(512, "size of the source", "MiB")
    dtype: str = problem("bf16", "element type: bf16, fp16 or fp32")

    def prepare_inputs(self, device: str, seed: int = 0) -> tuple[Tensor, ...]:
        import torch

        generator = torch.Generator(device).manual_seed(seed)
        count = self.mib * MIB // DTYPE_BYTES[self.dtype]
        dtype = getattr(torch, DTYPE_NAMES[self.dtype])
        return (torch.randn(count, generator=generator, device=device, dtype=dtype),)

    def reference_fn(self, *inputs: Tensor) -> Tensor:
        return -inputs[0].float()

    def plan(self, *inputs: Tensor) -> Kernel:
        import torch

        (source,) = inputs
        target = torch.empty_like(source)
        return self._stage(lambda: torch.neg(source, out=target), target)

    def plan_empty(self) -> Kernel:
        return self._stage(None)

    def _stage(self, launch, *outputs: Tensor) -> Kernel:
        return Kernel(
            name="copy",
            tiling=Tiling(),
            cost=self._algorithmic_flops_bytes(),
            grid=(),
            launch=launch,
            outputs=outputs,
            no_compile_reason="torch runs kernels that are compiled already",
            compute_dtype="fp32",
        )

    def _algorithmic_flops_bytes(self, tiling: Tiling | None = None) -> Cost:
        """No FLOPs; every byte read once and written once."""
        size = float(self.mib * MIB)
        return Cost(0.0, size, size)
