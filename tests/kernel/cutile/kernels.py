"""Copies of the product's kernels with one line changed, and runs of them in the interpreter."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from mla_var3.core.plan import KernelPlan, stages_of
from mla_var3.kernel.cutile.mla.flash_attention.flash_attention import flash_attention
from mla_var3.kernel.cutile.mla.flash_attention.flash_attention_v1 import flash_attention_v1
from mla_var3.kernel.cutile.mla.flash_mla.flash_mla import flash_mla
from mla_var3.kernel.cutile.mla.flash_mla.flash_mla_v1 import flash_mla_v1, kernels

PLANS: dict[str, Any] = {
    "flash_mla": flash_mla.FlashMla,
    "flash_mla_v1": flash_mla_v1.FlashMlaV1,
    "flash_attention": flash_attention.FlashAttention,
    "flash_attention_v1": flash_attention_v1.FlashAttentionV1,
}
MODULES: dict[str, ModuleType] = {
    "flash_mla": flash_mla,
    "flash_mla_v1": flash_mla_v1,
    "flash_attention": flash_attention,
    "flash_attention_v1": flash_attention_v1,
}
KERNELS: dict[str, tuple[ModuleType, tuple[str, ...]]] = {
    "flash_mla": (flash_mla, ("flash_mla",)),
    "flash_mla_v1": (kernels, ("latent_attention", "combine")),
    "flash_attention": (flash_attention, ("flash_attention",)),
    "flash_attention_v1": (flash_attention_v1, ("flash_attention_v1",)),
}
"""Where the kernels of each version stand, and their names."""


def changed(version: str, old: str, new: str, folder: Path) -> dict[str, Any]:
    """The kernels of a copy of the file in which every `old` is `new`."""
    module, names = KERNELS[version]
    assert module.__file__ is not None
    source = Path(module.__file__).read_text(encoding="utf-8")
    assert old in source, f"{version} has no line with {old!r}"
    copy = folder / f"{version}_changed.py"
    copy.write_text(source.replace(old, new), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(copy.stem, copy)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[copy.stem] = made  # dataclasses look their module up
    spec.loader.exec_module(made)
    return {name: getattr(made, name) for name in names}


def run(
    plan: KernelPlan, seed: int = 0, inputs: tuple[Any, ...] | None = None
) -> tuple[tuple[Any, ...], Any]:
    """Inputs (made of the seed unless given) and the result on the CPU, the outputs NaN before."""
    inputs = inputs or plan.prepare_inputs("cpu", seed)
    stages = stages_of(plan.plan(*inputs))
    for stage in stages:
        for output in stage.outputs:
            output.fill_(float("nan"))
    for stage in stages:
        assert stage.launch is not None
        stage.launch()
    return inputs, stages[-1].outputs[0]


def errors(result: Any, expected: Any) -> tuple[float, float]:
    """Relative Frobenius error, and that of the worst row."""
    rows = (result.double() - expected.double()).flatten(0, -2)
    norms = expected.double().flatten(0, -2)
    worst = (rows.norm(dim=-1) / norms.norm(dim=-1)).max()
    return float(rows.norm() / norms.norm()), float(worst)
