"""`--prof_type=static` on the screen."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mla_var3.cli.console import show
from mla_var3.cli.progress import Progress
from mla_var3.cli.run_options import Typed
from mla_var3.cli.run_refusals import SMALL, for_running
from mla_var3.core.device import load_devices
from mla_var3.core.locate import file_of, is_installed
from mla_var3.core.plan import KernelPlan
from mla_var3.measure.gpus import cuda_devices
from mla_var3.render.machine import render_json
from mla_var3.render.static_screen import headline, render_static
from mla_var3.runtime.problem_files import identity
from mla_var3.runtime.profiling.static import choose_target, static_profile_plan
from mla_var3.runtime.report_makers import static_request


def run_static(plan: KernelPlan, typed: Typed, target: str | None, command: str) -> int:
    """Compile, store and show; returns the exit code."""
    out_dir = Path(typed.run.out_dir) if typed.run.out_dir else None
    chosen = choose_target(target)
    if not typed.run.json:
        show("\n".join(headline(identity(plan), chosen.name, chosen.arch)) + "\n")
        sys.stdout.flush()  # compiling may take seconds
    with _torch_kept_out(plan), Progress(f"compile for {chosen.arch}", "stages") as progress:
        result = static_profile_plan(plan, out_dir, None, None, target, progress.update)
    if typed.run.json:
        device = load_devices().find(result.profile.environment.device)
        show(render_json(result.profile, result.diagnoses, result.out_dir.name, device))
        return 0
    place = result.out_dir.as_posix()
    steps = _next_steps(plan, command)
    request = static_request(result.profile, place, result.no_contract, steps)
    show(render_static(result.profile, result.diagnoses, request))
    return 0


@contextmanager
def _torch_kept_out(plan: KernelPlan) -> Iterator[None]:
    """Without torch while our cuTile kernels compile: it is not needed, and loads for seconds.

    cuda.tile imports it, where it can, to know its element types. This process compiles and ends:
    nothing is launched in it afterwards.
    """
    ours = plan.LANGUAGE == "cutile" and file_of(type(plan)) is not None
    if not ours or "torch" in sys.modules:
        yield
        return
    sys.modules["torch"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules["torch"]


def _next_steps(plan: KernelPlan, command: str) -> tuple[tuple[str, str], ...]:
    """Commands that work here; small sizes where an interpreter would have to run it."""
    steps = []
    command = for_running(type(plan), command)
    if is_installed("torch") and cuda_devices():
        steps.append((f"{command} --check", "numerics, on this GPU"))
    elif is_installed("torch"):
        names = {field.name for field in plan.problem_fields()}
        sizes = "".join(f" --{name}={size}" for name, size in SMALL.items() if name in names)
        if sizes or plan.LANGUAGE == "torch":  # an interpreter is slow at sizes we cannot judge
            steps.append((f"{command}{sizes} --check", "numerics, on this CPU"))
    steps.append(("mla list", "the stored profiles"))
    return tuple(steps)
