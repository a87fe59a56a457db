"""The launches of a report as the stages of a plan, by the NVTX range that each lies in.

A stage with one launch is that launch under the stage's name. A stage of several kernels has one
record a kernel, `stage: kernel`, and a group that puts them together by the rule of
conf/annotation.json.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from mla_var3 import conf
from mla_var3.core import units
from mla_var3.core.plan import Kernel
from mla_var3.core.record import Metric, Stage
from mla_var3.measure.ncu_metrics import MetricSet, explained
from mla_var3.measure.ncu_reader.names import short_name
from mla_var3.measure.ncu_reader.stage import cut as cut_text
from mla_var3.measure.ncu_repeats import one_of_runs

NO_OPCODES = "opcodes were not recorded"
"""Begins a doubt of the reader that does not hold here: this mode never asks for them."""
RANGE_LENGTH = 50
"""The reader keeps so much of a range's name."""
_NAME = 60


class PlanStages(NamedTuple):
    """What the report holds of a plan."""

    stages: tuple[Stage, ...]
    groups: tuple[Stage, ...]
    """Stages of several kernels, put together; their kernels stand in `stages`."""
    unseen: tuple[str, ...]
    """Stages of the plan without any launch in the report."""
    cut: Mapping[str, str]
    """Stages of which not every launch was profiled, and why."""
    strangers: int
    """Launches outside the ranges of all stages, which are left out."""


def plan_stages(
    launches: Iterable[Stage],
    kernels: Sequence[Kernel],
    together: Sequence[str],
    metrics: MetricSet,
    cut: Mapping[str, str] = {},
    runs: int = 1,
) -> PlanStages:
    """The stages of `kernels` in their order; those named in `together` run at the same time, and
    were profiled alone. Of those in `cut` not every launch was: no sum stands for them. Each was
    run `runs` times.
    """
    found: dict[str, list[Stage]] = {kernel.name: [] for kernel in kernels}
    strangers = 0
    for launch in launches:
        name = _stage_of(launch, found)
        if name is None:
            strangers += 1
        else:
            found[name].append(explained(launch, metrics))
    stages: list[Stage] = []
    groups: list[Stage] = []
    for kernel in kernels:
        own = one_of_runs(found[kernel.name], 1 if kernel.name in cut else runs)
        alone = kernel.name in together
        if len(own) == 1 and kernel.name not in cut:
            named = msgspec.structs.replace(own[0], name=kernel.name)
            stages.append(_of_plan(named, kernel, alone))
        elif own:
            renamed = _renamed(kernel.name, own)
            stages += [_of_plan(stage, kernel, alone) for stage in renamed]
            group = _group(kernel, renamed, cut.get(kernel.name, ""))
            groups.append(_of_plan(group, kernel, alone))
    unseen = tuple(name for name, own in found.items() if not own)
    return PlanStages(tuple(stages), tuple(groups), unseen, cut, strangers)


def with_model(stage: Stage, by_model: Stage) -> Stage:
    """A stage of the plan with what the model and the compiled code tell of it, and ncu does not.

    The bytes that must be read once are what reads from DRAM are compared with. Without counted
    opcodes those of the compiled code tell which tensor instructions there are.
    """
    told = {
        key: metric
        for key, metric in by_model.metrics.items()
        if metric.source in ("model", "spec", "static") and key not in stage.metrics
    }
    read = by_model.metrics.get("model_read_bytes")
    if read is not None:
        told["compulsory_read_bytes"] = read
    missing = {key: why for key, why in stage.missing.items() if key not in told}
    reasons = {
        key: why
        for key, why in by_model.missing.items()
        if key.startswith(("peak_", "ceiling_", "roofline_")) and key not in told
    }
    return msgspec.structs.replace(
        stage,
        metrics=stage.metrics | told,
        missing=missing | reasons,
        opcodes=stage.opcodes or by_model.opcodes,
    )


def _stage_of(launch: Stage, names: Iterable[str]) -> str | None:
    """The outermost range of the launch that is a stage's; libraries may nest their own in it."""
    shown = {cut_text(name, RANGE_LENGTH): name for name in names}
    return next((shown[text] for text in launch.nvtx if text in shown), None)


def _renamed(stage: str, launches: list[Stage]) -> list[Stage]:
    """`stage: kernel`, then `#2` for the second launch of a kernel."""
    seen: dict[str, int] = {}
    renamed = []
    for launch in launches:
        # the short name, not that of the record: it may tell grids or repetitions apart
        short = short_name(None, launch.kernel) or launch.name
        name = cut_text(f"{stage}: {short}", _NAME)
        seen[name] = seen.get(name, 0) + 1
        number = f"#{seen[name]}" if seen[name] > 1 else ""
        renamed.append(msgspec.structs.replace(launch, name=f"{name}{number}"))
    return renamed


def _of_plan(stage: Stage, kernel: Kernel, alone: bool) -> Stage:
    """The stage with what only the plan knows of it."""
    return msgspec.structs.replace(
        stage,
        nvtx=(kernel.name,),
        isolated=alone,
        sms_given=kernel.sms,
        tuned_for=kernel.tiling.TUNED_FOR,
        warnings=tuple(text for text in stage.warnings if not text.startswith(NO_OPCODES)),
    )


def _group(kernel: Kernel, launches: list[Stage], cut: str) -> Stage:
    """Several kernels as one: summed, or weighted by time or cycles, as the table says.

    Where some of the stage's launches are missing (`cut`: why), there are no sums.
    """
    rules = conf.table("annotation")["group"]
    weights = {"sum": None, "by_time": "duration", "by_cycles": "cycles_elapsed"}
    metrics: dict[str, Metric] = {}
    for rule, weight in weights.items():
        for key in rules[rule]:
            if (metric := _together(launches, key, weight)) is not None:
                metrics[key] = metric
    missing: dict[str, str] = {}
    if cut:
        missing = dict.fromkeys(rules["sum"], rules["cut"].format(why=cut))
        metrics = {key: metric for key, metric in metrics.items() if key not in missing}
    return Stage(
        name=kernel.name,
        kernel=f"{'first ' if cut else ''}{units.count(len(launches), 'kernel')}",
        launch=0,
        metrics=metrics,
        missing=missing,
        warnings=(cut or rules["rule"],),
    )


def _together(launches: list[Stage], key: str, weight: str | None) -> Metric | None:
    """One figure of all launches; None where a launch lacks it, or its weight."""
    found = [stage.metrics.get(key) for stage in launches]
    known = [metric for metric in found if metric is not None]
    if len(known) < len(found):
        return None
    first = known[0]
    if weight is None:
        raw = f"sum of {len(known)} kernels: {first.raw}"
        return Metric(sum(metric.value for metric in known), first.unit, first.source, raw)
    weights = [stage.value(weight) for stage in launches]
    if None in weights or not sum(value or 0.0 for value in weights):
        return None
    total = sum(value or 0.0 for value in weights)
    value = sum(m.value * (w or 0.0) for m, w in zip(known, weights, strict=True)) / total
    raw = f"mean of {len(known)} kernels by {weight}: {first.raw}"
    return Metric(value, first.unit, first.source, raw)
