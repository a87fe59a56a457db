"""The record of a plan's timeline: each stage with its times, its work and its compiled code."""

from datetime import datetime
from pathlib import Path

import msgspec

from mla_var3.analyse.predict import with_prediction
from mla_var3.analyse.timeline import analyse_timeline
from mla_var3.analyse.timeline_record import with_spans
from mla_var3.core.plan import ConcurrentKernels, KernelPlan, stages_of
from mla_var3.core.record import Environment, Profile
from mla_var3.core.target import Target
from mla_var3.core.timeline import PlanTimeline, Timeline
from mla_var3.measure.clocks import driver_version
from mla_var3.measure.timing_cpu import cpu_name
from mla_var3.measure.timing_record import model_stages
from mla_var3.runtime.on_device import target_of_gpu
from mla_var3.runtime.problem_files import identity
from mla_var3.runtime.profiling.event import not_as_planned, take_compiled, with_reason
from mla_var3.runtime.profiling.nsys_collect import Collected, Collection

IN_ORDER = "on a CPU the stages run one after the other, whatever streams the plan asks for"


def plan_timeline(plan: KernelPlan, on_gpu: bool) -> PlanTimeline:
    """What the plan means its stages to do; on a CPU nothing of it runs at the same time."""
    runnable = plan.plan_empty()
    stages = tuple(kernel.name for kernel in stages_of(runnable))
    if not isinstance(runnable, ConcurrentKernels) or not on_gpu:
        return PlanTimeline(stages=stages)
    group = tuple(kernel.name for kernel in runnable.stages)
    return PlanTimeline(
        stages=stages,
        groups=(group,) if len(group) > 1 else (),
        streams=runnable.streams,
    )


def timeline_profile(job: Collection, seen: Collected, folder: Path, now: datetime) -> Profile:
    """The record of a timeline, made for the SMs of the device that it ran on.

    PARTIAL where a stage was not seen, or the recording may not be whole.
    """
    target = target_of_gpu(job.gpu) if job.gpu else Target("cpu", "", None)
    plan = job.plan.for_sms(target.sm_count)
    compiled = take_compiled(folder)
    apart = not_as_planned(plan, compiled.launched)
    made = (
        with_prediction(with_reason(stage, compiled))
        for stage in model_stages(plan, target, compiled.stages, folder)
    )
    findings = analyse_timeline(seen.timeline)
    times = with_spans(made, findings, seen.timeline)
    failure = "; ".join(
        part for part in (seen.failure, _unseen(times.unseen, seen.timeline)) if part
    )
    in_order = (IN_ORDER,) if job.gpu is None and _asks_for_streams(plan) else ()
    return Profile(
        mode="nsys",
        status="PARTIAL" if failure else "OK",
        stages=times.stages,
        end_to_end=times.whole,
        environment=_environment(job, seen.environment, target),
        plan=identity(plan),
        created=now.isoformat(timespec="seconds"),
        failure=failure,
        tilings={name: tiling.as_dict() for name, tiling in plan.tilings().items()},
        warnings=(*seen.warnings, *seen.timeline.remarks, *apart, *in_order),
        missing=dict(seen.timeline.missing),
    )


def _unseen(names: tuple[str, ...], timeline: Timeline) -> str:
    if not names:
        return ""
    why = timeline.missing.get(
        "ranges", "nothing was launched in that range, or by another process"
    )
    return f"{timeline.collector} saw no operation of {', '.join(names)}: {why}"


def _asks_for_streams(plan: KernelPlan) -> bool:
    runnable = plan.plan_empty()
    return isinstance(runnable, ConcurrentKernels) and runnable.streams > 1


def _environment(job: Collection, told: Environment, target: Target) -> Environment:
    """The driver's words first, then the collector's."""
    if job.gpu is None:
        return msgspec.structs.replace(told, device=cpu_name())
    return msgspec.structs.replace(
        told,
        device=job.gpu.name,
        compute_capability=job.gpu.capability,
        sm_count=target.sm_count or told.sm_count,
        driver=told.driver or driver_version(job.gpu.uuid),
    )
