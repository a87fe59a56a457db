"""`--prof_type=ncu` on the screen."""

import sys

from mla_var3.cli.console import say, show
from mla_var3.cli.run_options import Typed
from mla_var3.core import artifacts
from mla_var3.core.device import load_devices
from mla_var3.core.plan import KernelPlan
from mla_var3.render.machine import render_json
from mla_var3.runtime.diagnosing import diagnose_file
from mla_var3.runtime.ncu_reports import AnnotationRequest, screen
from mla_var3.runtime.profiling.ncu import NcuOptions, ncu_profile_plan
from mla_var3.runtime.result import ProfileResult


def run_ncu(plan: KernelPlan, typed: Typed, device: str, command: str) -> int:
    """Profile, store and show; returns the exit code."""
    options = NcuOptions(
        device=device,
        seed=typed.run.seed,
        cache="warm" if typed.run.cache == "warm" else "cold",
        limit_s=float(typed.run.limit_s),
        on_wait=say,
        on_step=_step if sys.stderr.isatty() else None,
    )
    result = ncu_profile_plan(plan, typed.run.out_dir or None, None, typed.run.bench_runs, options)
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
    show(screen(diagnose_file(result.out_dir), result.out_dir, request, device))
    return 0


def _step(what: str) -> None:
    """What is being done, on one line of a terminal that is written over again."""
    sys.stderr.write(f"\r\x1b[K{what[:99]}")
    sys.stderr.flush()


def _next_steps(result: ProfileResult, typed: Typed, command: str) -> tuple[tuple[str, str], ...]:
    """Commands of this version that tell more of the same problem."""
    same = command + "".join(f" --{option.name}={value}" for option, value in typed.plan.items())
    if typed.run.language:
        same += f" --language={typed.run.language}"
    folder = result.out_dir.as_posix()
    return (
        (f"mla diagnose {folder}/{artifacts.FULL_REPORT}", "each launch on its own"),
        (same, "end to end, against the roofline"),
        (f"mla report {folder}", "the reports again, anywhere"),
    )
