"""Whether what was meant to overlap did, iteration by iteration, and the time it saved."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import median
from typing import NamedTuple

from msgspec.structs import replace

from mla_var3.analyse.timeline_figures import COUNTED
from mla_var3.analyse.timeline_ranges import Placed
from mla_var3.analyse.timeline_spans import Span, intersect, length, merge
from mla_var3.analyse.timeline_stages import Staged, solo_times
from mla_var3.analyse.timeline_work import Work, limit
from mla_var3.core.timeline import PlanTimeline
from mla_var3.core.timeline_findings import (
    GroupVerdict,
    PairVerdict,
    Saved,
    Scope,
    StreamKey,
    Word,
)

AS_WHOLE = (
    "a graph was traced as a whole: what overlaps inside is not known (--cuda-graph-trace=node)"
)

ONE_STREAM = "both ran on one stream"


class Seen(NamedTuple):
    """A prepared timeline and what the verdicts rest on."""

    work: Work
    placed: Placed
    staged: Staged
    members: list[int]
    """Operations of the window, by start."""


_Spans = dict[int, list[Span]]
"""By iteration."""


class _Side(NamedTuple):
    """One of two: the union of its operations by iteration; -1 holds those of no iteration."""

    every: dict[int, list[Span]]
    kernels: dict[int, list[Span]]
    streams: tuple[StreamKey, ...]
    whole_graph: bool


def word_for(overlap_ns: int, shorter_ns: int) -> Word:
    """The verdict's word by the share of the shorter one."""
    share = 100.0 * overlap_ns / shorter_ns
    if share >= limit("overlapped_pct"):
        return "overlapped"
    return "serialised" if share < limit("serialised_pct") else "partly"


def plan_verdicts(seen: Seen, plan: PlanTimeline) -> tuple[GroupVerdict, ...]:
    """A verdict for each group of stages that the plan means to overlap."""
    if not plan.groups:
        return ()
    sides = _sides(seen, [seen.staged.of[at] for at in seen.members])
    numbers = {name: number for number, name in enumerate(seen.staged.stages)}
    return tuple(_group(seen, group, sides, numbers, plan.streams) for group in plan.groups)


def stream_verdicts(
    seen: Seen, window: Scope, labels: Mapping[StreamKey, str]
) -> tuple[GroupVerdict, ...]:
    """Without a plan: the pairs of streams that overlap most, or have most work."""
    sides = _sides(seen, [seen.work.lane[at] for at in seen.members])
    numbers = {key: number for number, key in enumerate(seen.work.keys)}
    pairs = sorted(window.pairs, key=lambda pair: (-pair.overlap_ns, -pair.shorter_ns))
    verdicts = []
    for pair in pairs[: limit("pairs_judged")]:
        names = (labels[pair.a], labels[pair.b])
        found = _pair(seen, names, sides[numbers[pair.a]], sides[numbers[pair.b]])
        graphs = found.reason == AS_WHOLE
        if pair.shorter_ns and not graphs:  # across iterations too, as the table of overlap has it
            found = replace(
                found,
                overlap_ns=pair.overlap_ns,
                kernels_ns=pair.kernels_ns,
                shorter_ns=pair.shorter_ns,
                word=_settled(pair.overlap_ns, pair.shorter_ns, found),
                reason="",
            )
        verdicts.append(
            GroupVerdict(
                members=names,
                planned=False,
                word=found.word,
                pairs=(found,),
                overlapped_iterations=found.overlapped_iterations,
                iterations=found.iterations,
                streams=(pair.a, pair.b),
                reason=found.reason,
            )
        )
    return tuple(verdicts)


def _sides(seen: Seen, groups: Sequence[int]) -> dict[int, _Side]:
    """The window's operations by group and iteration."""
    timeline = seen.work.timeline
    kinds = [shape.kind for shape in timeline.shapes]
    every: dict[int, _Spans] = defaultdict(lambda: defaultdict(list))
    kernels: dict[int, _Spans] = defaultdict(lambda: defaultdict(list))
    streams: dict[int, set[int]] = defaultdict(set)
    placed, iteration_of = seen.placed.of, seen.staged.iteration_of
    whole: set[int] = set()
    for group, position in zip(groups, seen.members, strict=True):
        operation = timeline.operations[position]
        kind = kinds[operation.shape]
        streams[group].add(seen.work.lane[position])
        if kind not in COUNTED:
            whole.add(group)
            continue
        iteration = iteration_of.get(placed[position], -1)
        span = (operation.start, operation.end)
        every[group][iteration].append(span)
        if kind not in ("memcpy", "memset"):
            kernels[group][iteration].append(span)
    return {
        group: _Side(
            {at: merge(spans) for at, spans in every[group].items()},
            {at: merge(spans) for at, spans in kernels[group].items()},
            tuple(seen.work.keys[lane] for lane in sorted(lanes)),
            group in whole,
        )
        for group, lanes in streams.items()
    }


def _group(
    seen: Seen,
    members: tuple[str, ...],
    sides: dict[int, _Side],
    numbers: dict[str, int],
    planned_streams: int,
) -> GroupVerdict:
    nothing = _Side({}, {}, (), False)
    own = {name: sides.get(numbers.get(name, -1), nothing) for name in members}
    pairs = [_pair(seen, (a, b), own[a], own[b]) for a, b in combinations(members, 2)]
    apart = [pair for pair in pairs if pair.reason != ONE_STREAM]
    words = {pair.word for pair in apart}
    reason = ""
    if not apart:
        word: Word = "serialised"
        reason = ONE_STREAM
    elif len(words) == 1:
        word = words.pop()
        reason = apart[0].reason
    elif "not decidable" in words:
        word = "not decidable"
        reason = next(pair.reason for pair in apart if pair.word == word)
    else:
        word = "partly"
    together = [_overlapped(_shared(own[pair.a], own[pair.b])) for pair in apart]
    every = set.intersection(*together) if together else set()
    return GroupVerdict(
        members=members,
        planned=True,
        word=word,
        pairs=tuple(pairs),
        overlapped_iterations=len(every),
        iterations=len(seen.staged.iterations),
        planned_streams=planned_streams,
        streams=tuple(sorted({key for side in own.values() for key in side.streams})),
        reason=reason,
    )


def _pair(seen: Seen, names: tuple[str, str], a: _Side, b: _Side) -> PairVerdict:
    """Both sides, all iterations together."""
    iterations = len(seen.staged.iterations)
    for name, side in zip(names, (a, b), strict=True):
        if not side.streams:
            return PairVerdict(
                a=names[0],
                b=names[1],
                word="not decidable",
                iterations=iterations,
                reason=f"no operation of {name} was traced in the window",
            )
    if a.whole_graph or b.whole_graph:
        return PairVerdict(
            a=names[0], b=names[1], word="not decidable", iterations=iterations, reason=AS_WHOLE
        )
    kernels = sum(
        length(intersect(spans, b.kernels[at]))
        for at, spans in a.kernels.items()
        if at in b.kernels
    )
    shared = _shared(a, b)
    overlap, shorter = (
        (sum(one) for one in zip(*shared.values(), strict=True)) if shared else (0, 0)
    )
    found = PairVerdict(
        a=names[0],
        b=names[1],
        word="serialised",
        overlap_ns=overlap,
        shorter_ns=shorter,
        kernels_ns=kernels,
        overlapped_iterations=len(_overlapped(shared)),
        iterations=iterations,
    )
    if len(a.streams) == 1 and a.streams == b.streams:
        return replace(found, reason=ONE_STREAM)
    if not shorter:
        return replace(found, word="not decidable", reason="never both in one iteration")
    return replace(found, word=_settled(overlap, shorter, found))


def _shared(a: _Side, b: _Side) -> dict[int, tuple[int, int]]:
    """Overlap and the shorter one's busy time, by iteration."""
    return {
        at: (length(intersect(spans, b.every[at])), min(length(spans), length(b.every[at])))
        for at, spans in a.every.items()
        if at in b.every
    }


def _overlapped(shared: Mapping[int, tuple[int, int]]) -> set[int]:
    """Iterations in which two sides overlapped."""
    return {
        at
        for at, (overlap, shorter) in shared.items()
        if at >= 0 and shorter and word_for(overlap, shorter) == "overlapped"
    }


def _settled(overlap: int, shorter: int, pair: PairVerdict) -> Word:
    """The word of all iterations together: overlapped only where nearly every one was."""
    word = word_for(overlap, shorter)
    few = 100.0 * pair.overlapped_iterations < limit("iterations_pct") * pair.iterations
    return "partly" if word == "overlapped" and few else word


def saved(seen: Seen, plan: PlanTimeline, verdicts: Sequence[GroupVerdict]) -> tuple[Saved, ...]:
    """What each group saved by running at once, where its stages were run alone too.

    `verdicts` are those of the plan's groups.
    """
    solo = solo_times(seen.work, seen.placed, plan)
    found = []
    for group, verdict in zip(plan.groups, verdicts, strict=True):
        unknown = [name for name in group if name not in solo]
        spans = _spans(seen, group)
        reason = verdict.reason if verdict.reason == ONE_STREAM else ""
        if not reason and unknown:
            reason = f"no time of {', '.join(unknown)} alone"
        if not reason and not spans:
            reason = "no iteration has all of them"
        if reason:
            found.append(Saved(members=group, reason=reason))
            continue
        times = {name: solo[name] for name in group}
        found.append(Saved(members=group, solo_ns=times, span_ns=median(spans)))
    return tuple(found)


def _spans(seen: Seen, group: tuple[str, ...]) -> list[int]:
    """From first to last operation of the group, for each iteration with all of its stages."""
    wanted = {seen.staged.stages.index(name) for name in group if name in seen.staged.stages}
    found: dict[int, list[int]] = defaultdict(list)
    names: dict[int, set[int]] = defaultdict(set)
    for position in seen.members:
        iteration = seen.staged.iteration(seen.placed, position)
        if iteration >= 0 and seen.staged.of[position] in wanted:
            operation = seen.work.operation(position)
            found[iteration] += (operation.start, operation.end)
            names[iteration].add(seen.staged.of[position])
    return [max(times) - min(times) for at, times in found.items() if len(names[at]) == len(group)]
