"""`--prof_type=event` on the screen."""

import sys
from pathlib import Path

from mla_var3.cli.console import say, show
from mla_var3.cli.run_options import Typed
from mla_var3.core import artifacts
from mla_var3.core.device import load_devices
from mla_var3.core.plan import KernelPlan
from mla_var3.core.timing import load_timing
from mla_var3.render.event_screen import EventRequest, render_event
from mla_var3.render.machine import render_json
from mla_var3.runtime.measuring import MeasureOptions
from mla_var3.runtime.profiling import MODES
from mla_var3.runtime.profiling.event import event_profile_plan


def run_event(plan: KernelPlan, typed: Typed, device: str, command: str) -> int:
    """Time, store and show; returns the exit code."""
    sys.stdout.flush()  # measuring takes seconds
    options = MeasureOptions(
        device=device,
        seed=typed.run.seed,
        cache="warm" if typed.run.cache == "warm" else "cold",
        regime="burst" if typed.run.regime == "burst" else "sustained",
        strict=typed.run.strict,
        baseline=Path(typed.run.baseline) if typed.run.baseline else None,
        limit_s=float(typed.run.limit_s),
        on_wait=say,
    )
    out_dir = Path(typed.run.out_dir) if typed.run.out_dir else None
    result = event_profile_plan(plan, out_dir, None, typed.run.bench_runs, options)
    if typed.run.json:
        known = load_devices().find(result.profile.environment.device)
        show(render_json(result.profile, result.diagnoses, result.out_dir.name, known))
        return 0
    request = EventRequest(
        folder=result.out_dir.as_posix(),
        no_contract=result.no_contract,
        next_steps=_next_steps(plan, typed, device, command),
    )
    timing = load_timing(result.out_dir / artifacts.TIMING)
    show(render_event(result.profile, result.diagnoses, timing, request))
    return 0


def _next_steps(
    plan: KernelPlan, typed: Typed, device: str, command: str
) -> tuple[tuple[str, str], ...]:
    """Commands of this version that tell more of the same problem."""
    same = command + "".join(f" --{option.name}={value}" for option, value in typed.plan.items())
    if typed.run.language:
        same += f" --language={typed.run.language}"
    steps = []
    if MODES["annotation"].built:
        gives = "operators, and a roofline" if device == "cpu" else "stages, with counters"
        steps.append((same, gives))
    if plan.LANGUAGE != "torch":
        steps.append((f"{same} --prof_type=static", "registers, spills, occupancy"))
    steps.append((f"{same} --check", "numerics"))
    steps.append(("mla list", "the stored profiles"))
    return tuple(steps)
