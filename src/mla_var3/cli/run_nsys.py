"""`--prof_type=nsys` on the screen."""

import sys

from mla_var3.cli.console import say, show
from mla_var3.cli.run_options import Typed
from mla_var3.core.device import load_devices
from mla_var3.core.plan import KernelPlan
from mla_var3.core.timeline import Collector
from mla_var3.render.machine import render_json
from mla_var3.runtime.diagnosing import diagnose_file
from mla_var3.runtime.profiling.nsys import NsysOptions, nsys_profile_plan
from mla_var3.runtime.report_makers import Shown
from mla_var3.runtime.reporting import screen_of
from mla_var3.runtime.result import ProfileResult

COLLECTORS: dict[str, Collector] = {"nsys": "nsys", "kineto": "kineto"}


def run_nsys(plan: KernelPlan, typed: Typed, device: str, command: str) -> int:
    """Record, store and show; returns the exit code."""
    on_terminal = sys.stderr.isatty()
    options = NsysOptions(
        device=device,
        seed=typed.run.seed,
        limit_s=float(typed.run.limit_s),
        collector=COLLECTORS.get(typed.run.collector),
        keep_raw=typed.run.keep_raw,
        on_wait=say,
        on_step=_step if on_terminal else None,
    )
    out_dir = typed.run.out_dir or None
    result = nsys_profile_plan(plan, out_dir, None, typed.run.bench_runs, options)
    if on_terminal:
        sys.stderr.write("\r\x1b[K")
    if typed.run.json:
        known = load_devices().find(result.profile.environment.device)
        show(render_json(result.profile, result.diagnoses, result.out_dir.name, known))
        return 0
    steps = _next_steps(result, typed, device, command)
    shown = Shown(place=result.out_dir.as_posix(), steps=steps)
    show(screen_of(diagnose_file(result.out_dir), result.out_dir, shown))
    return 0


def _step(what: str) -> None:
    """What is being done, on one line of a terminal that is written over again."""
    sys.stderr.write(f"\r\x1b[K{what}")
    sys.stderr.flush()


def _next_steps(
    result: ProfileResult, typed: Typed, device: str, command: str
) -> tuple[tuple[str, str], ...]:
    """Commands that tell more of the same problem."""
    fields = {option.name: value for option, value in typed.plan.items()}
    language = f" --language={typed.run.language}" if typed.run.language else ""

    def with_fields(**changed: int) -> str:
        words = "".join(f" --{name}={value}" for name, value in (fields | changed).items())
        return f"{command}{words}{language}"

    steps = []
    plan = result.profile.plan
    if device != "cpu" and plan is not None and int(plan.params.get("streams", 1)) > 1:
        alone = f"{with_fields(streams=1)} --prof_type=nsys"
        steps.append((alone, "the same stages one after the other"))
    gives = "operators, and a roofline" if device == "cpu" else "stages, with counters"
    steps.append((with_fields(), gives))
    steps.append((f"mla report {result.out_dir.as_posix()}", "the reports again, anywhere"))
    return tuple(steps)
