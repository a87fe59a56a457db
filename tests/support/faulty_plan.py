"""Latent attention with one planted fault, for tests of `--check`."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from mla_var3.core.plan import Kernel
from mla_var3.kernel.torch.mla.flash_mla.flash_mla.flash_mla import FlashMla


@dataclass(frozen=True, kw_only=True)
class FaultyMla(FlashMla):
    """Runs `FlashMla`, then `fault(out, inputs)`; small sizes of 512 rows."""

    b: int = 2
    s: int = 16
    t: int = 50
    h: int = 16
    k: int = 32
    d: int = 16
    p: int = 8
    fault: Callable[[Any, tuple[Any, ...]], None] = lambda out, inputs: None
    before: Callable[[Any, tuple[Any, ...]], None] = lambda out, inputs: None

    def plan(self, *inputs: Any) -> Kernel:
        kernel = super().plan(*inputs)

        def launch() -> None:
            assert kernel.launch is not None
            self.before(kernel.outputs[0], inputs)
            kernel.launch()
            self.fault(kernel.outputs[0], inputs)

        return replace(kernel, launch=launch)
