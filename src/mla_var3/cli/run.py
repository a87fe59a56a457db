"""`mla run KERNEL [VERSION]` = `python -m mla_var3.kernel`: one plan under one mode."""

import sys

import msgspec

from mla_var3.cli.console import say, show
from mla_var3.cli.run_options import Typed, early, help_text, is_help, parse
from mla_var3.cli.run_refusals import (
    chosen_device,
    find_mode,
    needs_gpu,
    no_gpu_lines,
    not_built,
    typed_gpu,
)
from mla_var3.core.errors import BadArgument, MachineCannot
from mla_var3.core.locate import (
    PACKAGES,
    find,
    is_foreign,
    is_installed,
    kernel_name,
    language_order,
    list_kernels,
)
from mla_var3.core.params import build_plan, problem_text
from mla_var3.core.plan import KernelPlan
from mla_var3.measure.gpus import cuda_devices
from mla_var3.render.layout import flow
from mla_var3.runtime.profiling import Mode

USAGE = """\
usage: mla run KERNEL [VERSION] [--option=value …]      python -m mla_var3.kernel does the same

KERNEL is a design below, LANGUAGE:DESIGN, my_pkg.my_mod:MyPlan or path/to/file.py:MyPlan.

{table}

Try:  mla run flash_mla --help                           its options, with defaults and units
      mla run flash_mla --b=32 --s=16 --t=4096 --prof_type=static --target=h200
"""


def main_for(package: str | None) -> int:
    """The command line of a design's package: `python -m mla_var3.kernel.<language>.mla.<design>`.

    `package` is the `__package__` of its `__main__.py`.
    """
    from mla_var3.cli.main import main

    words = (package or "").split(".")
    return main(["run", f"{words[-3]}:{words[-1]}", *sys.argv[1:]])


def run(argv: list[str]) -> int:
    """Run what was typed; returns the exit code."""
    if not argv or (is_help(argv) and argv[0].startswith("-")):
        show(listing() if not argv else USAGE.format(table=listing().rstrip()))
        return 0
    if argv[0].startswith("-"):
        raise BadArgument("give the kernel first: mla run KERNEL [VERSION] --option=value …")
    name, rest = argv[0], argv[1:]
    version = rest.pop(0) if rest and not rest[0].startswith("-") else None
    command = f"mla run {name}{f' {version}' if version else ''}"
    plan = _plan_class(name, version, rest)
    if is_help(rest):
        title = f"{kernel_name(plan)} {plan.VERSION} ({plan.LANGUAGE})"
        show(help_text(plan, title, command))
        return 0
    typed = parse(plan, rest, f"({command} --help)")
    mode = find_mode(typed.run.prof_type)
    made = build_plan(plan, typed.plan)
    if mode.name == "static":
        return _static(made, typed, command)
    device = chosen_device(typed.run.device)
    if typed.run.target is not None:
        raise BadArgument(f"--target is what static compiles for; {mode.name} runs on --device")
    if mode.measures:
        return _measure(made, typed, mode, device, command)
    return _disabled(made, typed, device, command)


def listing() -> str:
    """All languages, designs and versions, and which languages are installed here."""
    files = list_kernels()
    table = [("kernel", "language", "versions")]
    for kernel, language in dict.fromkeys((file.kernel, file.language) for file in files):
        own = [f.version for f in files if (f.kernel, f.language) == (kernel, language)]
        table.append((kernel, language, " ".join(own)))
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]
    here = [language for language in PACKAGES if is_installed(language)]
    devices = ", ".join(gpu.name for gpu in cuda_devices()) or "none"
    state = f"installed here: {', '.join(here) or 'no language'} · CUDA devices: {devices}"
    return "\n".join([*lines, "", state, "Next: mla run KERNEL [VERSION] --help"]) + "\n"


def _plan_class(name: str, version: str | None, words: list[str]) -> type[KernelPlan]:
    """The plan that was typed, in the typed language or the first that can do the mode here."""
    language = early(words, "language")
    if is_foreign(name):
        return find(name, version, language)
    compiles = bool(cuda_devices()) or early(words, "prof_type") == "static"
    return find(name, version, language, language_order(compiles))


def _headline(plan: KernelPlan, where: str) -> None:
    """What runs on what."""
    title = f"{kernel_name(type(plan))} {plan.VERSION}"
    show("\n".join(flow([title, plan.LANGUAGE, problem_text(plan), where], indent="  ")) + "\n")


def _static(plan: KernelPlan, typed: Typed, command: str) -> int:
    if typed.run.check:
        raise BadArgument("--check runs the kernel, static only compiles it: leave one of them out")
    if typed.run.bench_runs is not None:
        raise BadArgument("--bench_runs has no meaning for static: nothing is run")
    from mla_var3.cli.run_static import run_static

    target = typed.run.target
    if typed.run.device:
        if target is not None:
            raise BadArgument("static compiles for --target or for the GPU of --device, not both")
        if chosen_device(typed.run.device) == "cpu":
            raise BadArgument("static compiles for a GPU: --target=h200, or --device=cuda:0")
        target = typed_gpu(typed.run.device).name
    return run_static(plan, typed, target, command)


def _measure(plan: KernelPlan, typed: Typed, mode: Mode, device: str, command: str) -> int:
    """Measure, or say what does work on this machine."""
    if not needs_gpu(type(plan), device, mode):
        if not mode.built:
            raise not_built(mode)
        return _measured(plan, typed, mode, device, command)
    if cuda_devices():
        raise MachineCannot(f"{kernel_name(type(plan))} needs a CUDA device, not --device={device}")
    name, _, version = command.removeprefix("mla run ").partition(" ")
    version = f" {version}" if version else ""
    sys.stdout.flush()
    for line in no_gpu_lines(type(plan), typed.plan, name + version, mode):
        sys.stderr.write(f"{line}\n")
    return MachineCannot.exit_code


def _measured(plan: KernelPlan, typed: Typed, mode: Mode, device: str, command: str) -> int:
    """Run the recipe of a mode that is built."""
    if typed.run.check:
        raise BadArgument("--check compares once and times nothing: leave --prof_type out")
    if mode.name == "ncu":
        from mla_var3.cli.run_ncu import run_ncu

        return run_ncu(plan, typed, device, command)
    if mode.name == "annotation":
        from mla_var3.cli.run_annotation import run_annotation

        return run_annotation(plan, typed, device, command)
    if mode.name == "nsys":
        from mla_var3.cli.run_nsys import run_nsys

        return run_nsys(plan, typed, device, command)
    from mla_var3.cli.run_event import run_event
    from mla_var3.measure.timing_cpu import cpu_name

    if not typed.run.json:
        _headline(plan, cpu_name() if device == "cpu" else _place(plan, device))
    return run_event(plan, typed, device, command)


def _disabled(plan: KernelPlan, typed: Typed, device: str, command: str) -> int:
    from mla_var3.runtime.profiling.disabled import check_once, failed, run_once

    for name in ("out_dir", "bench_runs"):
        if getattr(typed.run, name):
            raise BadArgument(f"--{name} has no meaning for disabled: nothing is stored or timed")
    if typed.run.json and not typed.run.check:
        raise BadArgument("--json shows the result of static or --check: give one of them")
    if not typed.run.json:
        _headline(plan, _place(plan, device))
    if not typed.run.check:
        run_once(plan, device, typed.run.seed)
        show("ran once\n")
        return 0
    check = check_once(plan, device, typed.run.seed)
    if typed.run.json:
        show(msgspec.json.encode(check).decode() + "\n")
    if not check.passed:
        raise failed(plan, check)
    if typed.run.json:
        return 0
    error, worst = check.relative_error, check.worst_row
    show(f"check passed: relative error {error:.2e}, worst row {worst:.2e}; {check.detail}\n")
    if not cuda_devices():
        say(f"Next: {command} --prof_type=static")
    return 0


def _place(plan: KernelPlan, device: str) -> str:
    """The product's name, or how a CPU runs it."""
    for gpu in cuda_devices():
        if device == f"cuda:{gpu.index}":
            return f"{gpu.name} ({device})"
    return "CPU" if plan.LANGUAGE == "torch" else "CPU, interpreter"
