"""From a timeline to what it tells: window, figures, gaps, verdicts. Pure, O(n log n).

`core.timeline_findings` says what each figure means; `conf/timeline.json` holds the thresholds.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from mla_var3.analyse.timeline_bound import launch_bound
from mla_var3.analyse.timeline_figures import Part, scope
from mla_var3.analyse.timeline_gaps import Finder
from mla_var3.analyse.timeline_launches import launches
from mla_var3.analyse.timeline_ranges import place, project
from mla_var3.analyse.timeline_stages import stage, stage_spans
from mla_var3.analyse.timeline_verdicts import (
    AS_WHOLE,
    Seen,
    plan_verdicts,
    saved,
    stream_verdicts,
)
from mla_var3.analyse.timeline_window import Window, find_window, slow_calls
from mla_var3.analyse.timeline_work import Work, prepare
from mla_var3.core.errors import NoUsableData
from mla_var3.core.timeline import PlanTimeline, Timeline
from mla_var3.core.timeline_findings import Gap, Launch, Scope, TimelineFindings, stream_labels


def analyse_timeline(timeline: Timeline, plan: PlanTimeline | None = None) -> TimelineFindings:
    """Everything that the spans tell; `plan` stands for the one that the timeline carries.

    Raises `NoUsableData` where no operation was traced.
    """
    plan = plan or timeline.plan
    work = prepare(timeline)
    if not work.order:
        raise NoUsableData("NO_KERNELS no operation was traced on any device: nothing to analyse")
    placed = place(work)
    slow = slow_calls(work)
    window = find_window(work, placed, slow)
    inside = set(window.members)
    staged = stage(work, placed, plan, inside)
    rows = launches(work, list(zip(placed.of, staged.of, strict=True)), inside, slow)
    finder = Finder(work, slow, window)
    of_devices = finder.of_devices()
    capture, figures = _scopes(work, window, of_devices, rows)
    seen = Seen(work, placed, staged, window.members)
    if plan is None:
        verdicts = stream_verdicts(seen, figures, stream_labels(work.keys))
    else:
        verdicts = plan_verdicts(seen, plan)
    return TimelineFindings(
        collector=timeline.collector,
        plan=plan,
        capture=capture,
        window=figures,
        window_rule=window.rule,
        left_out=tuple(window.left_out),
        cut=tuple(window.cut),
        launches=rows,
        stages=staged.stages,
        range_stacks=tuple(placed.stacks),
        ranges=tuple(project(work, placed, staged.iteration_of)),
        gaps=(*of_devices, *finder.of_streams()),
        iteration_name=staged.iteration_name,
        iterations=staged.iterations,
        spans=stage_spans(work, placed, staged, window.members),
        verdicts=verdicts,
        launch_bound=launch_bound(
            work, window, figures, [gap for gap in of_devices if gap.in_window]
        ),
        saved=saved(seen, plan, verdicts) if plan else (),
        notes=tuple(_notes(work)),
    )


def _scopes(
    work: Work, window: Window, gaps: list[Gap], rows: tuple[Launch, ...]
) -> tuple[Scope, Scope]:
    """The figures of the capture and of the window."""
    spans = work.spans(work.order)
    begin, end = spans[0][0], max(end for _, end in spans)
    capture = scope(work, Part("capture", begin, end, work.order, [], gaps, rows))
    if len(window.members) == len(work.order) and not window.cut:
        return capture, replace(capture, name="window")
    own = [gap for gap in gaps if gap.in_window]
    part = Part("window", window.begin, window.end, window.members, window.cut, own, rows)
    return capture, scope(work, part)


def _notes(work: Work) -> Iterable[str]:
    """Doubts that hold for every figure."""
    timeline = work.timeline
    if timeline.lost:
        yield f"the collector lost something: {timeline.lost}"
    for reason, count in timeline.impossible.items():
        yield f"impossible rows left out: {count} ({reason})"
    ended = len(timeline.operations) - len(work.order)
    if ended:
        yield f"impossible operations left out: {ended} (end before they start)"
    if timeline.graphs_as_whole or any(shape.kind == "graph" for shape in timeline.shapes):
        yield f"{AS_WHOLE}; its busy time is an upper bound"
    migrations = sum(timeline.shape_of(work.operation(at)).migration for at in work.order)
    if migrations:
        yield f"{migrations} copies are migrations of unified memory, not copies of the program"
    unknown = sum(one.call < 0 and one.device >= 0 for one in timeline.operations)
    if unknown and "calls" not in timeline.missing:
        yield f"{unknown} operations without their API call: no latency, in no range"
    never = sum(one.end is None for one in timeline.ranges)
    if never:
        yield f"{never} ranges were never closed: they hold what followed on their thread"
    processes = {one.process for one in timeline.operations}
    if len(processes) > 1:
        yield f"{len(processes)} processes: calls and ranges are joined within each"
