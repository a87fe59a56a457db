"""The stages of a plan under ncu: what the modes `annotation` and `ncu` do alike."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from mla_var3.core.errors import BadArgument, NoUsableData
from mla_var3.core.locate import kernel_name
from mla_var3.core.plan import ConcurrentKernels, Kernel, KernelPlan, stages_of
from mla_var3.core.record import Environment, Profile, Stage
from mla_var3.core.target import Target
from mla_var3.measure.gpus import Gpu
from mla_var3.measure.ncu_command import NcuJob
from mla_var3.measure.ncu_run import NcuRun, Tool
from mla_var3.measure.ncu_stages import PlanStages, plan_stages, with_model
from mla_var3.measure.worker_run import JOB, worker_command
from mla_var3.measure.worker_spec import WorkerSpec, write_spec


class Job(NamedTuple):
    """One plan on one GPU."""

    plan: KernelPlan
    gpu: Gpu
    target: Target
    tool: Tool
    now: datetime

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The plan's stages, as they are with the SMs that are known."""
        return stages_of(self.plan.plan_empty())

    @property
    def dtypes(self) -> tuple[str, ...]:
        """Element types that the stages compute in, each once."""
        return tuple(dict.fromkeys(kernel.compute_dtype for kernel in self.kernels))

    def for_sms(self, sms: int | None) -> "Job":
        """The job with its plan, and the device, as they are with that many SMs."""
        target = self.target._replace(driver_sms=sms)
        return self._replace(plan=self.plan.for_sms(sms), target=target)

    def seen_by(self, environment: Environment) -> "Job":
        """The job with the SMs that the report tells, where nobody has told them before."""
        known = self.plan.target_sms is not None
        return self if known else self.for_sms(environment.sm_count)


def refuse_waiting(plan: KernelPlan) -> None:
    """Raise `BadArgument` for stages that wait for each other: ncu runs one kernel at a time."""
    runnable = plan.plan_empty()
    if not isinstance(runnable, ConcurrentKernels) or not runnable.wait_for_each_other:
        return
    names = ", ".join(kernel.name for kernel in runnable.stages)
    raise BadArgument(
        f"{kernel_name(type(plan))}: its stages wait for each other ({names}), and ncu replays one "
        "kernel at a time: the first would wait for ever (a range replay would run them together, "
        "but tells nothing of a single kernel); --prof_type=nsys shows them as they run"
    )


def ncu_job(job: Job, spec: WorkerSpec, report: Path) -> NcuJob:
    """ncu on the worker of a job, which is written beside the report; no counter is chosen yet."""
    return NcuJob(
        program=tuple(worker_command(write_spec(spec, report.with_name(JOB)))),
        stages=_ranges(job),
        metrics=(),
        report=report,
    )


def stages_seen(
    job: Job, recorded: NcuRun, runs: int = 1, cut: Mapping[str, str] = {}
) -> PlanStages:
    """What the report holds of the plan. Raises `NoUsableData` where that is nothing."""
    together = _together(job.plan)
    launches = recorded.profile.stages
    found = plan_stages(launches, job.kernels, together, recorded.metrics, cut, runs)
    if not found.stages:
        names = ", ".join(kernel.name for kernel in job.kernels)
        raise NoUsableData(f"ncu saw no launch inside a range of a stage ({names})")
    return found


def merged(stages: tuple[Stage, ...], by_model: Mapping[str, Stage]) -> tuple[Stage, ...]:
    """Stages of the plan with the model's figures; a kernel of a stage of several has none."""
    return tuple(
        with_model(stage, by_model[stage.name]) if stage.name in by_model else stage
        for stage in stages
    )


def unseen_text(found: PlanStages) -> str:
    """Why stages are missing; empty where none is."""
    unseen = [name for name in found.unseen if name not in found.cut]
    if not unseen:
        return ""
    names = ", ".join(unseen)
    return (
        f"ncu saw no launch of {names}: nothing was launched in that range (a copy of the driver "
        "is no kernel), or by another process"
    )


def environment(report: Environment, job: Job, base: Environment | None = None) -> Environment:
    """What is known of the device, or what its driver tells; the report names its tools."""
    base = base or Environment(
        device=job.gpu.name,
        compute_capability=job.gpu.capability,
        sm_count=job.target.sm_count,
    )
    return msgspec.structs.replace(
        base,
        sm_count=base.sm_count or report.sm_count,
        clock_max_hz=base.clock_max_hz or report.clock_max_hz,
        capture_tool=report.capture_tool,
        reader_tool=report.reader_tool,
    )


def remarks(report: Profile, found: PlanStages) -> tuple[str, ...]:
    """What must be said of the run beside its figures."""
    texts = [*report.warnings]
    if found.strangers:
        texts.append(f"left out: {found.strangers} launched outside the stages' ranges")
    alone = [stage.name for stage in found.stages if stage.isolated]
    if alone:
        texts.append(
            f"profiled alone (isolated), though concurrent in the plan: {', '.join(alone)}; such a "
            "time is not the stage's part of a concurrent run"
        )
    return tuple(texts)


def passes(found: PlanStages) -> int | None:
    """How often ncu ran a kernel at most; None where the report does not tell."""
    known = [stage.value("replay_passes") for stage in found.stages]
    return max((int(value) for value in known if value is not None), default=None)


def _ranges(job: Job) -> tuple[str, ...]:
    """Names of the ranges whose launches are profiled.

    Where nobody tells the SMs, any stage with a tiling may be launched too.
    """
    names = [kernel.name for kernel in job.kernels]
    return tuple(dict.fromkeys(names if job.plan.target_sms else (*names, *job.plan.TILINGS)))


def _together(plan: KernelPlan) -> tuple[str, ...]:
    """Names of the stages that run at the same time."""
    runnable = plan.plan_empty()
    if isinstance(runnable, ConcurrentKernels) and runnable.streams > 1:
        return tuple(kernel.name for kernel in runnable.stages)
    return ()
