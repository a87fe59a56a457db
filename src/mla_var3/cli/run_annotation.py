"""`--prof_type=annotation`, the default mode, on the screen."""

import sys
from pathlib import Path

from mla_var3.cli.console import say, show
from mla_var3.cli.run_options import Typed
from mla_var3.core import artifacts
from mla_var3.core.device import load_devices
from mla_var3.core.plan import KernelPlan
from mla_var3.render.annotation_screen import AnnotationRequest
from mla_var3.render.machine import render_json
from mla_var3.runtime.annotation_reports import screen
from mla_var3.runtime.diagnosing import diagnose_file
from mla_var3.runtime.profiling.annotation import AnnotationOptions, annotation_profile_plan
from mla_var3.runtime.result import ProfileResult


def run_annotation(plan: KernelPlan, typed: Typed, device: str, command: str) -> int:
    """Measure, store and show; returns the exit code."""
    options = AnnotationOptions(
        device=device,
        seed=typed.run.seed,
        cache="warm" if typed.run.cache == "warm" else "cold",
        regime="burst" if typed.run.regime == "burst" else "sustained",
        strict=typed.run.strict,
        baseline=Path(typed.run.baseline) if typed.run.baseline else None,
        limit_s=float(typed.run.limit_s),
        on_wait=say,
        on_step=_step if sys.stderr.isatty() else None,
    )
    out_dir = typed.run.out_dir or None
    result = annotation_profile_plan(plan, out_dir, None, typed.run.bench_runs, options)
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
    if typed.run.json:
        known = load_devices().find(result.profile.environment.device)
        show(render_json(result.profile, result.diagnoses, result.out_dir.name, known))
        return 0
    request = AnnotationRequest(
        folder=result.out_dir.as_posix(),
        no_contract=result.no_contract,
        next_steps=_next_steps(result, typed, command),
    )
    read = diagnose_file(result.out_dir)
    show(screen(read, result.out_dir, request, "" if device == "cpu" else device))
    return 0


def _step(what: str) -> None:
    """What is being done, on one line of a terminal that is written over again."""
    sys.stderr.write(f"\r\x1b[K{what}")
    sys.stderr.flush()


def _next_steps(result: ProfileResult, typed: Typed, command: str) -> tuple[tuple[str, str], ...]:
    """Commands of this version that tell more of the same problem."""
    same = command + "".join(f" --{option.name}={value}" for option, value in typed.plan.items())
    if typed.run.language:
        same += f" --language={typed.run.language}"
    steps = []
    report = result.out_dir / artifacts.NCU_REPORT
    if report.is_file():
        steps.append((f"mla diagnose {report.as_posix()}", "each launch on its own"))
    plan = result.profile.plan
    if plan is not None and plan.language != "torch":
        steps.append((f"{same} --prof_type=static", "registers, spills, occupancy"))
    steps.append((f"{same} --check", "numerics"))
    steps.append((f"mla report {result.out_dir.as_posix()}", "the reports again, anywhere"))
    return tuple(steps)
