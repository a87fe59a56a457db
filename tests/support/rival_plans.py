"""Plans of one problem, o = 2 x for n elements: a right one, slower ones, and wrong ones."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from mla_var3.core.plan import (
    ConcurrentKernels,
    Cost,
    Kernel,
    KernelPlan,
    Language,
    Runnable,
    Tensor,
    Tiling,
    problem,
)

Launch = Callable[[], Any] | None


@dataclass(frozen=True, kw_only=True)
class Twice(KernelPlan):
    """Right, in one product."""

    KERNEL: ClassVar[str] = "twice"
    LANGUAGE: ClassVar[Language] = "torch"

    n: int = problem(65536, "elements", "elements")

    def prepare_inputs(self, device: str, seed: int = 0) -> tuple[Tensor, ...]:
        import torch

        generator = torch.Generator(device).manual_seed(seed)
        return (torch.randn(self.n, generator=generator, device=device),)

    def reference_fn(self, *inputs: Tensor) -> Tensor:
        return 2 * inputs[0]

    def plan(self, *inputs: Tensor) -> Runnable:
        import torch

        (x,) = inputs
        out = torch.empty_like(x)
        return self.stage(lambda: self.launch(x, out), out)

    def launch(self, x: Tensor, out: Tensor) -> None:
        import torch

        torch.mul(x, 2, out=out)

    def plan_empty(self) -> Runnable:
        return self.stage(None)

    def stage(self, launch: Launch, *outputs: Tensor) -> Kernel:
        return Kernel(
            name="double",
            tiling=Tiling(),
            cost=self._algorithmic_flops_bytes(),
            grid=(),
            launch=launch,
            outputs=outputs,
            no_compile_reason="torch runs kernels that are compiled already",
            compute_dtype="fp32",
        )

    def _algorithmic_flops_bytes(self, tiling: Tiling | None = None) -> Cost:
        return Cost(float(self.n), 4.0 * self.n, 4.0 * self.n)


@dataclass(frozen=True, kw_only=True)
class Slow(Twice):
    """Right, with 64 times the work."""

    def launch(self, x: Tensor, out: Tensor) -> None:
        for _ in range(64):
            super().launch(x, out)


@dataclass(frozen=True, kw_only=True)
class Wrong(Twice):
    """Three times x."""

    def launch(self, x: Tensor, out: Tensor) -> None:
        import torch

        torch.mul(x, 3, out=out)


@dataclass(frozen=True, kw_only=True)
class Nothing(Twice):
    """Writes nothing: fast, and wrong."""

    def launch(self, x: Tensor, out: Tensor) -> None:
        pass


@dataclass(frozen=True, kw_only=True)
class Lazy(Twice):
    """Right on its first call, then it does nothing."""

    def plan(self, *inputs: Tensor) -> Runnable:
        import torch

        (x,) = inputs
        out = torch.empty_like(x)
        calls: list[None] = []

        def launch() -> None:
            if not calls:
                torch.mul(x, 2, out=out)
            calls.append(None)

        return self.stage(launch, out)


@dataclass(frozen=True, kw_only=True)
class Spoils(Twice):
    """A right result, and the input changed after it."""

    def launch(self, x: Tensor, out: Tensor) -> None:
        super().launch(x, out)
        x[0] += 1


@dataclass(frozen=True, kw_only=True)
class Other(Twice):
    """Takes two tensors."""

    def prepare_inputs(self, device: str, seed: int = 0) -> tuple[Tensor, ...]:
        return super().prepare_inputs(device, seed) * 2


@dataclass(frozen=True, kw_only=True)
class Both(Twice):
    """Halves on streams of their own."""

    def plan(self, *inputs: Tensor) -> Runnable:
        import torch

        (x,) = inputs
        out = torch.empty_like(x)
        half = self.n // 2

        def left() -> None:
            torch.mul(x[:half], 2, out=out[:half])

        def right() -> None:
            torch.mul(x[half:], 2, out=out[half:])

        return self._halves((left, right), (out,), (out,))

    def plan_empty(self) -> Runnable:
        return self._halves((None, None), (), ())

    def _halves(
        self, launches: tuple[Launch, Launch], *outputs: tuple[Tensor, ...]
    ) -> ConcurrentKernels:
        left, right = (
            Kernel(
                name=name,
                tiling=Tiling(),
                cost=Cost(0.5 * self.n, 2.0 * self.n, 2.0 * self.n),
                grid=(),
                launch=launch,
                outputs=written,
                compute_dtype="fp32",
            )
            for name, launch, written in zip(("left", "right"), launches, outputs, strict=True)
        )
        return ConcurrentKernels((left, right))
