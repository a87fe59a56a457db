"""`--prof_type=event`: time a plan end to end in a child, with CUDA events or the CPU's clock."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from mla_var3 import __version__
from mla_var3.analyse.predict import with_prediction
from mla_var3.analyse.regimes import launches_remark, unreliable, with_burst
from mla_var3.analyse.timing import impossible, remarks, with_rates
from mla_var3.core import artifacts
from mla_var3.core.device import Device, load_devices
from mla_var3.core.errors import BadArgument, NoUsableData, Unreliable
from mla_var3.core.locate import folder_name, kernel_name, with_version
from mla_var3.core.params import Value, problem_folder
from mla_var3.core.plan import ConcurrentKernels, KernelPlan, stages_of
from mla_var3.core.record import Environment, Profile, Stage
from mla_var3.core.record_file import save_profile
from mla_var3.core.regime import with_lock
from mla_var3.core.target import Target, arch
from mla_var3.core.timing import Timing, load_timing, save_timing
from mla_var3.measure.clocks import locked_to_mhz, other_processes
from mla_var3.measure.gpus import Gpu
from mla_var3.measure.timing_record import read_stages, read_whole, target_of, whole_kernel
from mla_var3.measure.worker_event import RESULT, Compiled
from mla_var3.measure.worker_run import run_worker
from mla_var3.measure.worker_spec import spec_for
from mla_var3.runtime.baselines import (
    find_baseline,
    refuse_baseline,
    refuse_unlike,
    store_baseline,
)
from mla_var3.runtime.measuring import (
    MeasureOptions,
    device_lock,
    find_gpu,
    kept_on_failure,
    need_language,
)
from mla_var3.runtime.on_device import plan_on
from mla_var3.runtime.problem_files import identity, write_problem
from mla_var3.runtime.reporting import write_reports
from mla_var3.runtime.result import ProfileResult
from mla_var3.runtime.store import new_folder, timestamp

MODE = "event"
OPTIONS = MeasureOptions()


def event_profile_plan(
    plan: KernelPlan,
    out_dir: Path | str | None = None,
    version: str | None = None,
    bench_runs: int | None = None,
    options: MeasureOptions = OPTIONS,
) -> ProfileResult:
    """Time a plan end to end: `bench_runs` samples, or as many as the protocol asks for.

    `version` takes the plan's class of that version. Stored below `out/profiles/event/` unless
    `out_dir` is given; the folder appears whole or not at all.
    """
    if bench_runs is not None and bench_runs < 1:
        raise BadArgument(f"--bench_runs={bench_runs}: must be at least 1")
    plan = with_version(plan, version)
    plan.validate()
    refuse_concurrent(plan)
    gpu = find_gpu(plan, options.device)
    plan = plan_on(plan, gpu)
    need_language(plan)
    if options.baseline:
        refuse_baseline(plan, options.baseline)
    now = datetime.now(UTC)
    wanted = (
        Path(out_dir)
        if out_dir
        else artifacts.profile_folder(
            artifacts.PROFILES, MODE, folder_name(type(plan)), problem_folder(plan), timestamp(now)
        )
    )
    with new_folder(wanted) as folder:
        work = folder.work
        with kept_on_failure(work, wanted, (artifacts.TIMING,)):
            timing = time_plan(plan, gpu, work, bench_runs, options)
            profile = event_profile(plan, timing, work, now)
        save_profile(profile, work)
        beside = Path(out_dir) if out_dir else None
        before = find_baseline(plan, profile, options.baseline, beside)
        store_baseline(before, options.baseline, work)
        where: dict[str, Value] = {"device": timing.machine.device, "seed": options.seed}
        write_problem(plan.for_sms(profile.environment.sm_count), where, work)
        reports = write_reports(work)
    if options.strict:
        refuse_unreliable(timing, profile, folder.final)
    refuse_unlike(before, options.baseline, folder.final)
    return ProfileResult(
        out_dir=folder.final,
        profile=reports.read.profile,
        diagnoses=reports.read.diagnosis,
        no_contract=reports.no_contract,
    )


def refuse_unreliable(timing: Timing, profile: Profile, folder: Path) -> None:
    """Raise `Unreliable` for a run that did not settle, lost its lock, or shared its GPU.

    The profile is stored: what was seen is kept.
    """
    whole = profile.end_to_end
    reasons = unreliable(timing, whole) if whole is not None else ()
    if reasons:
        raise Unreliable(
            f"measurement unreliable (--strict): {', '.join(reasons)}; stored: {folder.as_posix()}"
        )


def refuse_concurrent(plan: KernelPlan) -> None:
    """Raise `BadArgument` for stages on streams of their own: one time would hide their overlap."""
    runnable = plan.plan_empty()
    if isinstance(runnable, ConcurrentKernels) and runnable.streams > 1:
        from mla_var3.runtime.profiling import MODES

        built = "" if MODES["nsys"].built else " (not built yet)"
        raise BadArgument(
            f"{kernel_name(type(plan))} runs stages on {runnable.streams} streams: event times one "
            f"stream only; --prof_type=nsys{built} shows how they overlap"
        )


def time_plan(
    plan: KernelPlan,
    gpu: Gpu | None,
    folder: Path,
    bench_runs: int | None,
    options: MeasureOptions,
) -> Timing:
    """Run the child under the device's lock; `folder` then holds timing.json and compiled/."""
    spec = spec_for(
        plan,
        "event",
        f"cuda:{gpu.index}" if gpu else "cpu",
        folder,
        uuid=gpu.uuid if gpu else "",
        seed=options.seed,
        bench_runs=bench_runs,
        cache=options.cache,
        regime=options.regime,
        compile_for=arch(gpu.capability) if gpu else "",
        settings=options.settings,
    )
    with device_lock(gpu, options):
        others = other_processes(gpu.uuid) if gpu else None
        run_worker(spec, options.limit_s)
    if not (folder / artifacts.TIMING).is_file():
        raise NoUsableData(f"the measuring child wrote no {artifacts.TIMING}: nothing was timed")
    timing = load_timing(folder / artifacts.TIMING)
    if gpu is not None:
        shared = None if others is None else others > 0
        timing = msgspec.structs.replace(timing, shared_gpu=shared)
        timing = with_lock(timing, locked_to_mhz(gpu.uuid))
        save_timing(timing, folder / artifacts.TIMING)
    return timing


def event_profile(plan: KernelPlan, timing: Timing, folder: Path, now: datetime) -> Profile:
    """The record of a timed plan, made for the SMs that the child saw.

    Raises `NoUsableData` where a GPU's rate is impossible, `BadArgument` where `plan` and
    `plan_empty` name different stages.
    """
    target = target_of(timing, load_devices())
    plan = plan.for_sms(target.sm_count)
    compiled = take_compiled(folder)
    apart = not_as_planned(plan, compiled.launched)
    stages = tuple(
        with_prediction(with_reason(stage, compiled))
        for stage in read_stages(plan, timing, target, compiled.stages, folder)
    )
    whole = rated_whole(plan, timing, target)
    wrong = impossible(whole, timing)
    if wrong and timing.machine.capability:
        raise NoUsableData(wrong)
    return Profile(
        mode="event",
        status="OK",
        stages=stages,
        end_to_end=whole,
        environment=_environment(timing, target),
        plan=identity(plan),
        created=now.isoformat(timespec="seconds"),
        tilings={name: tiling.as_dict() for name, tiling in plan.tilings().items()},
        warnings=tuple(
            text
            for text in (
                wrong,
                *apart,
                launches_remark(timing, len(stages), plan.LANGUAGE != "torch"),
                *remarks(timing, whole),
            )
            if text
        ),
        missing=timing.missing,
    )


def rated_whole(plan: KernelPlan, timing: Timing, target: Target) -> Stage:
    """The plan end to end with its achieved rates and their shares of the peaks."""
    device: Device | None = target.device
    whole = with_prediction(read_whole(plan, timing, target))
    rated = with_rates(whole, timing, device, whole_kernel(plan).compute_dtype)
    return with_burst(rated, timing)


def take_compiled(folder: Path) -> Compiled:
    """What the child says of the compiled stages, if anything; its file is no artifact."""
    file = folder / RESULT
    if not file.is_file():
        return Compiled()
    found = msgspec.json.decode(file.read_bytes(), type=Compiled)
    file.unlink()
    return found


def not_as_planned(plan: KernelPlan, launched: Mapping[str, tuple[int, ...]]) -> tuple[str, ...]:
    """Doubts about stages whose grid was another than `plan_empty` says, for these SMs."""
    told = {kernel.name: kernel.grid for kernel in stages_of(plan.plan_empty())}
    if launched and list(launched) != list(told):
        raise BadArgument(
            f"{kernel_name(type(plan))}: plan() launches {', '.join(launched)} but plan_empty() "
            f"names {', '.join(told)}: make both from the same code"
        )
    return tuple(
        f"stage {name} was launched with the grid {_blocks(grid)}, but plan_empty() says "
        f"{_blocks(told[name])}: its grid and work here may be wrong"
        for name, grid in launched.items()
        if grid != told[name]
    )


def _blocks(grid: tuple[int, ...]) -> str:
    return " × ".join(map(str, grid)) or "none"


def with_reason(stage: Stage, compiled: Compiled) -> Stage:
    """The stage with the compiler's reason where there are no artifacts."""
    reason = compiled.reasons.get(stage.name)
    if reason is None:
        return stage
    keys = ("registers", "spill_bytes", "block_size", "shared_memory", "occupancy_theoretical")
    told = {key: reason for key in keys if key in stage.missing}
    return msgspec.structs.replace(stage, missing=stage.missing | told)


def _environment(timing: Timing, target: Target) -> Environment:
    machine, clock = timing.machine, timing.clock
    limit = clock.max_sm_mhz if clock else None
    return Environment(
        device=machine.device,
        compute_capability=machine.capability or None,
        sm_count=target.sm_count,
        clock_max_hz=limit * 1e6 if limit else None,
        driver=machine.driver,
        capture_tool=f"mla_var3 {__version__}",
        clocks_locked=clock.locked if clock else None,
    )
