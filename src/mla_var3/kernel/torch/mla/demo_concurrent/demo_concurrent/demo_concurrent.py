"""A product on one stream, a copy from the host on another, a join: two engines that overlap.

a [n, n] times b [n, n] gives c; source [rows, n] lies in host memory and is copied to the device;
the join adds it to the last rows of c. With `--streams=1` the three run one after the other: what
overlap is worth. (Two kernels would not do: each fills the GPU, so the second waits.)
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
    rows: int = problem(1024, "rows of n elements to copy from the host, at most n", "rows")
    streams: int = problem(2, "streams: 1 runs the stages one after the other", "streams")
    dtype: str = problem("bf16", "element type: bf16 or fp16")

    def validate(self) -> None:
        super().validate()
        if self.rows > self.n:
            raise BadArgument(f"--rows={self.rows}: at most --n={self.n}, the rows of the product")
        if self.streams > 2:
            raise BadArgument(f"--streams={self.streams}: there are two stages to spread, 1 or 2")

    def prepare_inputs(self, device: str, seed: int = 0) -> tuple[Tensor, ...]:
        """a [n, n] scaled so that the elements of a b are near 1, b [n, n]; on the host: source."""
        import torch

        def normal(rows: int, where: str) -> Tensor:
            generator = torch.Generator(where).manual_seed(seed + rows)
            dtype = getattr(torch, DTYPE_NAMES[self.dtype])
            return torch.randn(rows, self.n, generator=generator, device=where, dtype=dtype)

        a, b = normal(2 * self.n, device).chunk(2)
        source = normal(self.rows, "cpu")
        # Only pinned memory is copied while the host goes on.
        return a.mul_(self.n**-0.5), b, source if device == "cpu" else source.pin_memory()

    def reference_fn(self, *inputs: Tensor) -> Tensor:
        a, b, source = inputs
        result = a.float() @ b.float()
        result[-self.rows :] += source.to(a.device).float()
        return result

    def plan_empty(self) -> ConcurrentKernels:
        return self._stages((None, None, None))

    def plan(self, *inputs: Tensor) -> ConcurrentKernels:
        import torch

        a, b, source = inputs
        c, copied = torch.empty_like(a), torch.empty_like(source, device=a.device)

        def copy() -> None:
            copied.copy_(source, non_blocking=True)

        def join() -> None:
            c[-self.rows :].add_(copied)

        launches = (lambda: multiply_into(c, a, b), copy, join)
        return self._stages(launches, ((c,), (copied,), (c,)))

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
        """Work of each stage by its name; what is read from the host is not device memory."""
        size = DTYPE_BYTES[self.dtype]
        square, part = float(size * self.n**2), float(size * self.rows * self.n)
        return {
            "matmul": Cost(2.0 * self.n**3, 2 * square, square),
            "copy": Cost(0.0, 0.0, part),
            "join": Cost(float(self.rows * self.n), 2 * part, part),
        }

    def _algorithmic_flops_bytes(self, tiling: Tiling | None = None) -> Cost:
        # A fused algorithm would keep neither product nor copy; here the traffic is the point.
        matmul, copy, join = self.costs().values()
        return matmul + copy + join
