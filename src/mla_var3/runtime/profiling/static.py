"""`--prof_type=static`: compile every stage for a target, on any machine; nothing is run."""

from datetime import UTC, datetime
from pathlib import Path

import msgspec

from mla_var3 import __version__
from mla_var3.analyse.predict import with_prediction
from mla_var3.core import artifacts
from mla_var3.core.device import load_devices
from mla_var3.core.errors import BadArgument
from mla_var3.core.locate import folder_name, with_version
from mla_var3.core.params import check_tilings, depends_on_sms, problem_folder
from mla_var3.core.plan import ConcurrentKernels, Kernel, KernelPlan, stages_of
from mla_var3.core.record import Environment, Profile, Stage
from mla_var3.core.record_file import save_profile
from mla_var3.core.target import DEFAULT, Target, find_target, of_driver
from mla_var3.measure.gpus import cuda_devices
from mla_var3.measure.occupancy import known_capabilities
from mla_var3.measure.static import compile_stage, read_stage
from mla_var3.runtime.diagnosing import Progress
from mla_var3.runtime.problem_files import identity, write_problem
from mla_var3.runtime.reporting import write_reports
from mla_var3.runtime.result import ProfileResult
from mla_var3.runtime.store import new_folder, timestamp

MODE = "static"


def static_profile_plan(
    plan: KernelPlan,
    out_dir: Path | None = None,
    version: str | None = None,
    bench_runs: int | None = None,
    target: str | None = None,
    progress: Progress | None = None,
) -> ProfileResult:
    """Compile a plan for `target` (`h200`, `sm_90`; default: the first CUDA device, else H200).

    `version` takes the plan's class of that version. Stored below `out/profiles/static/` unless
    `out_dir` is given; the folder appears whole or not at all. `progress` is told the stages that
    are compiled and their number.
    """
    if bench_runs is not None:
        raise BadArgument("--bench_runs has no meaning for static: nothing is run")
    chosen = choose_target(target)
    plan = with_version(plan, version).for_sms(chosen.sm_count)
    plan.validate()
    check_tilings(plan)
    now = datetime.now(UTC)
    wanted = out_dir or artifacts.profile_folder(
        artifacts.PROFILES, MODE, folder_name(type(plan)), problem_folder(plan), timestamp(now)
    )
    with new_folder(wanted) as folder:
        stages = _compiled_stages(plan, chosen, folder.work, progress)
        save_profile(_profile(plan, chosen, stages, now), folder.work)
        write_problem(plan, {"target": chosen.name, "arch": chosen.arch}, folder.work)
        reports = write_reports(folder.work)
    return ProfileResult(
        out_dir=folder.final,
        profile=reports.read.profile,
        diagnoses=reports.read.diagnosis,
        no_contract=reports.no_contract,
    )


def choose_target(word: str | None) -> Target:
    """The target of a typed word, else of the first CUDA device, else H200."""
    devices = load_devices()
    if word is not None:
        return find_target(word, devices, known_capabilities())
    for gpu in cuda_devices():
        return of_driver(gpu.name, gpu.capability, devices, gpu.sm_count)
    return find_target(DEFAULT, devices, known_capabilities())


def _compiled_stages(
    plan: KernelPlan, target: Target, folder: Path, progress: Progress | None
) -> tuple[Stage, ...]:
    runnable = plan.plan_empty()
    together = runnable.stages if isinstance(runnable, ConcurrentKernels) else ()
    shared = together if isinstance(runnable, ConcurrentKernels) and runnable.streams > 1 else ()
    stages: list[Stage] = []
    for position, kernel in enumerate(stages_of(runnable)):
        if progress is not None:
            progress(position, len(stages_of(runnable)))
        stage = _compiled_stage(kernel, position, target, folder)
        stages.append(msgspec.structs.replace(stage, isolated=kernel in shared))
    return tuple(stages)


def _compiled_stage(kernel: Kernel, position: int, target: Target, folder: Path) -> Stage:
    place = folder / artifacts.compiled_folder(kernel.name)
    compiled = compile_stage(kernel, place, target.arch)
    return with_prediction(read_stage(kernel, position, target, compiled, place))


def _profile(plan: KernelPlan, target: Target, stages: tuple[Stage, ...], now: datetime) -> Profile:
    return Profile(
        mode="static",
        status="OK",
        stages=stages,
        environment=_environment(target),
        plan=identity(plan),
        created=now.isoformat(timespec="seconds"),
        tilings={name: tiling.as_dict() for name, tiling in plan.tilings().items()},
        warnings=(
            f"static, never run: compiled for {target.name} ({target.arch})",
            *_unknown_sms(plan, target),
        ),
    )


def _unknown_sms(plan: KernelPlan, target: Target) -> tuple[str, ...]:
    """What to say where grids follow the SMs and the target has no number of them."""
    if target.sm_count is not None or not depends_on_sms(plan):
        return ()
    return (
        f"{target.arch} names no product, and this plan's grids and splits follow the SMs: they "
        "are made for its language's default number; name a product (--target=h200) for its own",
    )


def _environment(target: Target) -> Environment:
    device = target.device
    return Environment(
        device=device.name if device else None,
        compute_capability=target.capability,
        sm_count=target.sm_count,
        capture_tool=f"mla_var3 {__version__}",
    )
