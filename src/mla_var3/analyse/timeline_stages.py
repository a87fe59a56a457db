"""Which stage and iteration each operation belongs to, and each stage's time in GPU time."""

from collections import Counter, defaultdict
from statistics import median
from typing import NamedTuple

from mla_var3.analyse.timeline_ranges import Placed
from mla_var3.analyse.timeline_spans import length, merge
from mla_var3.analyse.timeline_work import Work
from mla_var3.core.timeline import ITERATION, SOLO, WARM_UP, PlanTimeline
from mla_var3.core.timeline_findings import StageSpan

OUTSIDE = "outside a stage"


class Staged(NamedTuple):
    """Stages and iterations of a timeline's operations."""

    stages: tuple[str, ...]
    of: list[int]
    """Each operation's stage, a position in `stages`."""
    iteration_name: str
    iterations: tuple[int, ...]
    """Positions in `Timeline.ranges`, by start."""
    iteration_of: dict[int, int]
    """Stack to number of its iteration."""

    def iteration(self, placed: Placed, position: int) -> int:
        """An operation's iteration, -1: none."""
        return self.iteration_of.get(placed.of[position], -1)


def stage(work: Work, placed: Placed, plan: PlanTimeline | None, members: set[int]) -> Staged:
    """Name a stage for every operation; iterations are those with work in the window."""
    names, ranges = work.timeline.names, work.timeline.ranges
    inside = {placed.of[at] for at in members}
    outer = {number: stack[0] for number, stack in enumerate(placed.stacks) if number in inside}
    repeated = Counter(names[ranges[at].name] for at in set(outer.values()))
    for own in (WARM_UP, SOLO):
        repeated.pop(own, None)
    name = ITERATION if ITERATION in repeated else ""
    if not name and repeated and max(repeated.values()) > 1:
        name = max(repeated, key=lambda word: (repeated[word], word))
    iterations = sorted(
        {at for at in outer.values() if names[ranges[at].name] == name},
        key=lambda at: ranges[at].start,
    )
    numbers = {at: number for number, at in enumerate(iterations)}
    found: dict[str, int] = (
        {stage: number for number, stage in enumerate(plan.stages)} if plan else {}
    )
    of_stack = [
        found.setdefault(_stage_name(work, stack, plan), len(found)) for stack in placed.stacks
    ]
    of = []
    for position, operation in enumerate(work.timeline.operations):
        stack = placed.of[position]
        if stack >= 0:
            of.append(of_stack[stack])
        else:
            shape = work.timeline.shape_of(operation)
            of.append(found.setdefault(shape.name, len(found)))
    return Staged(
        stages=tuple(found),
        of=of,
        iteration_name=name,
        iterations=tuple(iterations),
        iteration_of={
            number: numbers[stack[0]]
            for number, stack in enumerate(placed.stacks)
            if stack[0] in numbers
        },
    )


def _stage_name(work: Work, stack: tuple[int, ...], plan: PlanTimeline | None) -> str:
    """The plan's stage, else the innermost range."""
    words = [work.timeline.names[work.timeline.ranges[at].name] for at in stack]
    if plan is None:
        return words[-1]
    return next((word for word in words if word in plan.stages), OUTSIDE)


def stage_spans(
    work: Work, placed: Placed, staged: Staged, members: list[int]
) -> tuple[StageSpan, ...]:
    """Each stage in each iteration, by iteration and begin."""
    groups: dict[tuple[int, int], list[int]] = defaultdict(list)
    for position in members:
        iteration = staged.iteration(placed, position)
        if iteration >= 0:
            groups[iteration, staged.of[position]].append(position)
    spans = []
    for (iteration, number), own in groups.items():
        times = work.spans(own)
        spans.append(
            StageSpan(
                stage=staged.stages[number],
                iteration=iteration,
                begin=times[0][0],
                end=max(end for _, end in times),
                busy_ns=length(merge(times)),
                operations=len(own),
                streams=tuple(sorted({work.keys[work.lane[at]] for at in own})),
            )
        )
    return tuple(sorted(spans, key=lambda span: (span.iteration, span.begin, span.stage)))


def solo_times(work: Work, placed: Placed, plan: PlanTimeline) -> dict[str, float]:
    """Median time in ns of each stage alone: from its first to its last operation."""
    names, ranges = work.timeline.names, work.timeline.ranges
    spans: dict[int, tuple[int, int]] = {}
    for position in work.order:
        stack = placed.stacks[placed.of[position]] if placed.of[position] >= 0 else ()
        if not stack or names[ranges[stack[0]].name] != SOLO:
            continue
        own = next((at for at in stack[1:] if names[ranges[at].name] in plan.stages), -1)
        if own >= 0:
            operation = work.operation(position)
            begin, end = spans.get(own, (operation.start, operation.end))
            spans[own] = (min(begin, operation.start), max(end, operation.end))
    times: dict[str, list[int]] = defaultdict(list)
    for at, (begin, end) in spans.items():
        times[names[ranges[at].name]].append(end - begin)
    return {name: median(own) for name, own in times.items()}
