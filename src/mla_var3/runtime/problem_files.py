"""What every mode stores of the problem: which plan it is, its parameters and its tilings."""

import hashlib
import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from mla_var3.core import artifacts
from mla_var3.core.locate import import_path, kernel_name
from mla_var3.core.params import Value, tiling_document
from mla_var3.core.plan import KernelPlan
from mla_var3.core.record import PlanIdentity


def identity(plan: KernelPlan) -> PlanIdentity:
    """Which plan it is: names, problem, and the hash of its source file."""
    try:
        source = Path(inspect.getfile(type(plan))).read_bytes()
        digest = hashlib.sha256(source).hexdigest()
    except (OSError, TypeError):
        digest = ""
    return PlanIdentity(
        kernel=kernel_name(type(plan)),
        version=plan.VERSION,
        language=plan.LANGUAGE,
        import_path=import_path(type(plan)),
        params=plan.params(),
        source_sha256=digest,
    )


def write_problem(plan: KernelPlan, where: Mapping[str, Value], folder: Path) -> None:
    """params.json, with what it ran on or was compiled for, and the tiling of every stage with its
    candidates.
    """
    named = {"kernel": kernel_name(type(plan)), "version": plan.VERSION, "language": plan.LANGUAGE}
    write_json(folder / artifacts.PARAMS, {**plan.params(), **named, **where})
    for stage, tiling in plan.tilings().items():
        document = tiling_document(plan, stage, tiling)
        write_json(folder / artifacts.tiling_file(stage), document)
        tried = {"tiling": tiling.as_dict(), "chosen": True, "measured": False}
        history = {"stage": stage, "source": document["source"], "candidates": [tried]}
        write_json(folder / artifacts.autotuning_file(stage), history)


def write_json(path: Path, value: msgspec.Struct | Mapping[str, Any]) -> None:
    """A value as indented JSON; folders are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n")
