"""Small torch plans of one fault each, for the measuring child on a CPU."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from mla_var3.core.plan import Cost, Kernel, KernelPlan, Language, Tensor, Tiling, problem

FAULTS = ("none", "unwritten", "half", "nan", "fails", "sleeps", "in_place")


@dataclass(frozen=True, kw_only=True)
class Doubled(KernelPlan):
    """o = 2 x for n elements, unless it has a fault."""

    KERNEL: ClassVar[str] = "doubled"
    LANGUAGE: ClassVar[Language] = "torch"

    n: int = problem(4096, "elements", "elements")
    fault: str = problem("none", f"one of {', '.join(FAULTS)}")

    def prepare_inputs(self, device: str, seed: int = 0) -> tuple[Tensor, ...]:
        import torch

        generator = torch.Generator(device).manual_seed(seed)
        return (torch.randn(self.n, generator=generator, device=device),)

    def reference_fn(self, *inputs: Tensor) -> Tensor:
        return 2 * inputs[0]

    def plan(self, *inputs: Tensor) -> Kernel:
        import torch

        (x,) = inputs
        out = x if self.fault == "in_place" else torch.empty_like(x)
        half = self.n // 2
        launches: dict[str, Callable[[], Any]] = {
            "none": lambda: torch.mul(x, 2, out=out),
            "unwritten": lambda: None,
            "half": lambda: torch.mul(x[:half], 2, out=out[:half]),
            "nan": lambda: torch.mul(x, float("nan"), out=out),
            "fails": lambda: torch.mul(x, x[:3]),
            "sleeps": lambda: time.sleep(600),
            "in_place": lambda: x.mul_(1.0),
        }
        return self._stage(launches[self.fault], out)

    def plan_empty(self) -> Kernel:
        return self._stage(None)

    def _stage(self, launch: Callable[[], Any] | None, *outputs: Tensor) -> Kernel:
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
