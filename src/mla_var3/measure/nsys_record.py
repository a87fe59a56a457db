"""The record of an imported timeline: its kernels by name, with their durations.

The timeline itself is `spans.json`; what is concluded from it is made of that, not of this.
"""

from collections import defaultdict
from datetime import UTC, datetime

import msgspec

from mla_var3 import conf
from mla_var3.core import artifacts, stats
from mla_var3.core.record import Metric, Profile, Source, Stage
from mla_var3.core.timeline import Operation, Shape, Timeline
from mla_var3.measure.ncu_reader.names import unique_names
from mla_var3.measure.nsys_reader import NsysExport

SOURCE: Source = "nsys"
_OF = "of its launches: end - start"


def nsys_profile(export: NsysExport) -> Profile:
    """One stage a kernel, those that took longest; `warnings` say what else there is."""
    timeline = export.timeline
    stages, more = kernel_stages(timeline)
    return Profile(
        mode="nsys",
        status="OK",
        stages=stages,
        environment=export.environment,
        source=export.source,
        created=export.created or datetime.now(UTC).isoformat(timespec="seconds"),
        warnings=(*_doubts(timeline), *([more] if more else [])),
        missing=dict(timeline.missing),
    )


def kernel_stages(timeline: Timeline) -> tuple[tuple[Stage, ...], str]:
    """The kernels (or graphs) with the longest total, and what the others are, in words."""
    found: dict[str, list[int]] = defaultdict(list)
    for position, operation in enumerate(timeline.operations):
        shape = timeline.shape_of(operation)
        if shape.kind in ("kernel", "graph"):
            found[shape.full_name or shape.name].append(position)
    stages = [_stage(timeline, kernel, positions) for kernel, positions in found.items()]
    stages.sort(key=lambda stage: (-(stage.value("duration_sum") or 0), stage.launch))
    kept, rest = stages[: artifacts.INLINE_STAGES], stages[artifacts.INLINE_STAGES :]
    names = unique_names(kept)
    named = tuple(
        msgspec.structs.replace(stage, name=name) for stage, name in zip(kept, names, strict=True)
    )
    if not rest:
        return named, ""
    total = sum(stage.value("duration_sum") or 0 for stage in stages)
    share = 100.0 * sum(stage.value("duration_sum") or 0 for stage in rest) / total if total else 0
    return named, (
        f"{len(rest)} more kernels, {share:.1f} % of the kernels' time, "
        f"stand in {artifacts.SPANS} alone"
    )


def _stage(timeline: Timeline, kernel: str, positions: list[int]) -> Stage:
    operations = [timeline.operations[position] for position in positions]
    shapes = [timeline.shape_of(operation) for operation in operations]
    reasons: dict[str, str] = conf.table("nsys_export")["not_by_nsys"]
    metrics = _durations(operations) | _registers(shapes)
    return Stage(
        name=shapes[0].name,
        kernel=kernel,
        launch=positions[0],
        metrics=metrics,
        missing={key: why for key, why in reasons.items() if key not in metrics},
        grid=_common([shape.grid for shape in shapes]),
        block=_common([shape.block for shape in shapes]),
    )


def _durations(operations: list[Operation]) -> dict[str, Metric]:
    lengths = [operation.end - operation.start for operation in operations]
    return {
        "duration": Metric(stats.median(lengths), "ns", SOURCE, f"median {_OF}"),
        "duration_min": Metric(min(lengths), "ns", SOURCE, f"shortest {_OF}"),
        "duration_max": Metric(max(lengths), "ns", SOURCE, f"longest {_OF}"),
        "duration_sum": Metric(sum(lengths), "ns", SOURCE, f"sum {_OF}"),
        "launches": Metric(len(lengths), "launch", SOURCE, "rows of the kernel"),
    }


def _registers(shapes: list[Shape]) -> dict[str, Metric]:
    """What all launches share; where they differ, nothing."""
    found = {}
    for key, unit, name, values in (
        ("registers", "register", "registersPerThread", {s.registers for s in shapes}),
        (
            "shared_memory",
            "byte",
            "staticSharedMemory + dynamicSharedMemory",
            {s.shared_bytes for s in shapes},
        ),
    ):
        value = values.pop() if len(values) == 1 else None
        if value is not None:
            found[key] = Metric(value, unit, SOURCE, name)
    return found


def _doubts(timeline: Timeline) -> tuple[str, ...]:
    """What must be known of the recording before its figures are believed."""
    empty = sum(operation.end == operation.start for operation in timeline.operations)
    said = [*timeline.remarks]
    if timeline.lost:
        said.append(f"nsys lost records: {timeline.lost}")
    said += [f"{n} rows left out: a row that {why}" for why, n in timeline.impossible.items()]
    if empty:
        said.append(f"{empty} operations of 0 ns are counted as they stand")
    if timeline.graphs_as_whole:
        said.append("CUDA graphs were traced as a whole: record with --cuda-graph-trace=node")
    return tuple(said)


def _common(sizes: list[tuple[int, ...]]) -> tuple[int, ...]:
    return sizes[0] if len(set(sizes)) == 1 else ()
