"""Whether the host launches too slowly: the device idles, gap by gap as long as a launch takes."""

from collections import defaultdict
from itertools import pairwise
from statistics import median

from mla_var3.analyse.timeline_figures import gap_lengths
from mla_var3.analyse.timeline_window import Window
from mla_var3.analyse.timeline_work import Work, limit
from mla_var3.core.timeline_findings import Gap, LaunchBound, Scope


def launch_bound(
    work: Work, window: Window, figures: Scope, gaps: list[Gap]
) -> tuple[LaunchBound, ...]:
    """A verdict for each GPU of the window. `gaps` are those of devices, in the window."""
    lengths = gap_lengths(gaps, window.cut)
    verdicts = []
    for one in figures.devices:
        if one.device < 0:
            continue
        own = lengths.get(one.device, [])
        positions = [at for at in window.members if work.operation(at).device == one.device]
        distance = _distance(work, positions)
        idle = 100.0 * one.idle_ns / figures.length_ns if figures.length_ns else None
        gap = median(own) if own else None
        reason = _against(idle, gap, len(own), distance)
        durations = [end - start for start, end in work.spans(positions)]
        verdicts.append(
            LaunchBound(
                device=one.device,
                yes=not reason,
                idle_pct=idle,
                gap_median_ns=gap,
                call_distance_ns=distance,
                operation_median_ns=median(durations),
                reason=reason,
            )
        )
    return tuple(verdicts)


def _distance(work: Work, positions: list[int]) -> float | None:
    """Median distance of successive launching calls of a thread, in ns."""
    starts: dict[tuple[int, int], set[int]] = defaultdict(set)
    for position in positions:
        call = work.call_of(position)
        if call is not None:
            starts[call.process, call.thread].add(call.start)
    distances = [b - a for own in starts.values() for a, b in pairwise(sorted(own))]
    return median(distances) if distances else None


def _against(idle: float | None, gap: float | None, gaps: int, distance: float | None) -> str:
    """Why it is not launch-bound; empty: it is."""
    if idle is None or idle < limit("idle_pct"):
        return f"the device idles less than {limit('idle_pct'):.0f} % of the window"
    if gap is None or gaps < limit("least_gaps"):
        return f"fewer than {limit('least_gaps')} gaps tell no rate"
    if distance is None or distance <= 0:
        return "the launching calls are not known"
    ratio = gap / distance
    if not limit("distance_low") <= ratio <= limit("distance_high"):
        return f"the median gap is {ratio:.2g} times the distance of the launching calls"
    return ""
