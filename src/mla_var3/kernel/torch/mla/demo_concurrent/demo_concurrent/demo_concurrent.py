"""A product on one stream, a copy on another, a join: one needs the tensor cores, one the DRAM.

a [n, n] times b [n, n] gives c; source [rows, n] is copied; the result is c + the last n rows of
the copy, [n, n]. With `--streams=1` the three run one after the other: what overlap is worth.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from mla_var3.core.errors import BadArgument
from mla_var3.core.plan import (
    DTYPE_BYTES,
    DTYPE_NAMES,
    ConcurrentKernels,
    Cost,
    Kernel,
    KernelPlan,
    Language,
    Tensor,
    Tiling,
    problem,
)
from mla_var3.kernel.torch.eager import NOTHING_TO_COMPILE, multiply_into

Launches = tuple[Callable[[], None] | None, ...]


@dataclass(frozen=True, kw_only=True)
class DemoConcurrent(KernelPlan):
    """matmul and copy on streams of their own, then join."""

    KERNEL: ClassVar[str] = "demo_concurrent"
    LANGUAGE: ClassVar[Language] = "torch"
    SHRINK: ClassVar[Mapping[str, int]] = {"n": 64, "rows": 64}

    n: int = problem(4096, "rows and columns of the product", "elements")
    rows: int = problem(65536, "rows of n elements to copy, at least n", "rows")
    streams: int = problem(2, "streams: 1 runs the stages one after the other", "streams")
    dtype: str = problem("bf16", "element type: bf16 or fp16")

    def validate(self) -> None:
        super().validate()
        if self.rows < self.n:
            raise BadArgument(f"--rows={self.rows} is smaller than --n={self.n}: the join reads n")
        if self.streams > 2:
            raise BadArgument(f"--streams={self.streams}: there are two stages to spread, 1 or 2")

    def prepare_inputs(self, device: str, seed: int = 0) -> tuple[Tensor, ...]:
        """a [n, n] scaled so that the elements of a b are near 1, b [n, n], source [rows, n]."""
        import torch

        generator = torch.Generator(device).manual_seed(seed)
        dtype = getattr(torch, DTYPE_NAMES[self.dtype])
        a, b, source = (
            torch.randn(rows, self.n, generator=generator, device=device, dtype=dtype)
            for rows in (self.n, self.n, self.rows)
        )
        return a.mul_(self.n**-0.5), b, source

    def reference_fn(self, *inputs: Tensor) -> Tensor:
        a, b, source = inputs
        return a.float() @ b.float() + source[-self.n :].float()

    def plan_empty(self) -> ConcurrentKernels:
        return self._stages((None, None, None))

    def plan(self, *inputs: Tensor) -> ConcurrentKernels:
        import torch

        a, b, source = inputs
        c, result = torch.empty_like(a), torch.empty_like(a)
        copied = torch.empty_like(source)

        def multiply() -> None:
            multiply_into(c, a, b)

        def copy() -> None:
            copied.copy_(source)

        def join() -> None:
            torch.add(c, copied[-self.n :], out=result)

        return self._stages((multiply, copy, join), ((c,), (copied,), (result,)))

    def _stages(
        self, launches: Launches, outputs: tuple[tuple[Tensor, ...], ...] = ((), (), ())
    ) -> ConcurrentKernels:
        matmul, copy, join = (
            Kernel(
                name=name,
                tiling=Tiling(),
                cost=cost,
                grid=(),
                launch=launch,
                outputs=written,
                no_compile_reason=NOTHING_TO_COMPILE,
                compute_dtype=self.dtype,
            )
            for (name, cost), launch, written in zip(
                self.costs().items(), launches, outputs, strict=True
            )
        )
        return ConcurrentKernels((matmul, copy), after=(join,), streams=self.streams)

    def costs(self) -> dict[str, Cost]:
        """Work of each stage by its name."""
        size = DTYPE_BYTES[self.dtype]
        square, copied = float(size * self.n**2), float(size * self.rows * self.n)
        return {
            "matmul": Cost(2.0 * self.n**3, 2 * square, square),
            "copy": Cost(0.0, copied, copied),
            "join": Cost(float(self.n**2), 2 * square, square),
        }

    def _algorithmic_flops_bytes(self, tiling: Tiling | None = None) -> Cost:
        # A fused algorithm would keep neither product nor copy; here the traffic is the point.
        matmul, copy, join = self.costs().values()
        return matmul + copy + join
