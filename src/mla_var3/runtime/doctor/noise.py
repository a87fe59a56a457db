"""The noise floor of this machine: A against a second build of A, as mla compare does it."""

import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mla_var3 import conf
from mla_var3.core.comparison_verdict import ShapeVerdict
from mla_var3.core.errors import KernelFailed, Unreliable
from mla_var3.core.locate import find_file, is_installed, language_order, load, missing_package
from mla_var3.core.plan import KernelPlan
from mla_var3.measure.gpu_lock import CPU
from mla_var3.measure.gpus import Gpu
from mla_var3.measure.noise_floor import Floor, save_floor
from mla_var3.runtime.comparing import CompareOptions, compare_plans
from mla_var3.runtime.contenders import Contender
from mla_var3.runtime.machine_facts import MachineFacts, facts_of
from mla_var3.runtime.on_device import gpu_of

ONE_PROCESS = {"self_check": 0.0}
"""A against A is the check itself."""
Measure = Callable[[str, dict[str, Any], str], ShapeVerdict]
"""Kernel, problem and device to the verdict of A against A."""


def measure_noise(
    device: str, say: Callable[[str], None] | None = None, measure: Measure | None = None
) -> tuple[str, ...]:
    """Measure both kernels and store the larger bound; what was seen, in words.

    `device`: `cuda:0` or `cpu`. Raises what a comparison raises, and `Unreliable` without a time.
    """
    if not is_installed("torch"):
        raise missing_package("torch")
    gpu = gpu_of(device)
    facts = facts_of(gpu)
    bounds: dict[str, float] = {}
    lines = []
    for entry in conf.table("doctor")["noise"]:
        kernel, waits = entry["kernel"], entry["waits_for"]
        if say is not None:
            say(f"A against A: {kernel}, which waits for {waits}")
        problem = entry["problem"] if gpu else entry["problem_cpu"]
        verdict = (measure or a_against_a)(kernel, problem, device)
        bounds[kernel] = _bound(kernel, verdict)
        lines.append(f"{kernel} ({waits}): A against A within {bounds[kernel]:.2f} %")
    return (*lines, _store(gpu, facts, bounds))


def a_against_a(kernel: str, problem: dict[str, Any], device: str) -> ShapeVerdict:
    """Two builds of the base version in one process, interleaved; nothing is kept."""
    file = find_file(kernel, None, None, language_order(device != "cpu"))
    plan_class: type[KernelPlan] = load(file)
    plan = plan_class(**problem)
    sides = (Contender(plan_class, "A"), Contender(plan_class, "A again"))
    options = CompareOptions(device=device, protocol=ONE_PROCESS)
    with tempfile.TemporaryDirectory(prefix="mla-noise-") as folder:
        found = compare_plans(sides, [(plan, plan)], Path(folder) / "aa", options)
    return found.verdict.shapes[0]


def _bound(kernel: str, verdict: ShapeVerdict) -> float:
    """The end of the interval that is further from no change, in percent."""
    if verdict.word == "failed":
        raise KernelFailed(f"{kernel} {verdict.detail}")
    if verdict.time is None:
        raise Unreliable(f"A against A of {kernel} gave no interval: {verdict.word}")
    return max(abs(verdict.time.low_pct), abs(verdict.time.high_pct))


def _store(gpu: Gpu | None, facts: MachineFacts, bounds: dict[str, float]) -> str:
    floor = Floor(
        pct=max(bounds.values()),
        measured=datetime.now(UTC).isoformat(timespec="seconds"),
        kernels=bounds,
    )
    save_floor(gpu.uuid if gpu else CPU, facts.driver, facts.locked, floor)
    return f"stored: {floor.pct:.2f} %; mla compare calls no smaller change one on this machine"
