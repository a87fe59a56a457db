"""Several runs of a stage under ncu as one: the median run, and how far the others lie."""

from collections.abc import Sequence
from statistics import median, median_low

import msgspec

from mla_var3.core.record import Metric, Stage

_TIME = "duration"


def one_of_runs(launches: Sequence[Stage], runs: int) -> list[Stage]:
    """The launches of a stage as those of one run.

    Of each kernel stands the launch whose time is the (lower) median, with the median itself as its
    duration, beside `duration_min`, `duration_max` and `samples`. Where the runs did not launch the
    same kernels all launches are kept, with a warning.
    """
    if runs == 1 or not launches:
        return list(launches)
    size, rest = divmod(len(launches), runs)
    parts = [launches[number * size : (number + 1) * size] for number in range(runs)]
    if rest or any(_kernels(part) != _kernels(parts[0]) for part in parts):
        text = f"{runs} runs launched different kernels: all launches are shown, and summed"
        first = msgspec.structs.replace(launches[0], warnings=(*launches[0].warnings, text))
        return [first, *launches[1:]]
    return [_median(same) for same in zip(*parts, strict=True)]


def _kernels(launches: Sequence[Stage]) -> list[tuple[str, tuple[int, ...], tuple[int, ...]]]:
    return [(launch.kernel, launch.grid, launch.block) for launch in launches]


def _median(same: Sequence[Stage]) -> Stage:
    """One launch for all launches of a kernel; the first where a time is missing."""
    times = [launch.value(_TIME) for launch in same]
    known = [time for time in times if time is not None]
    if len(known) < len(times):
        return same[0]
    chosen = same[times.index(median_low(known))]
    metric = chosen.metrics[_TIME]
    number = f"{len(same)} launches: {metric.raw}"

    def figure(value: float, what: str, unit: str = metric.unit) -> Metric:
        return Metric(value, unit, metric.source, f"{what} of {number}")

    figures = {
        _TIME: figure(median(known), "median"),
        "duration_min": figure(min(known), "shortest"),
        "duration_max": figure(max(known), "longest"),
        "samples": figure(len(same), "number", "sample"),
    }
    missing = {key: why for key, why in chosen.missing.items() if key not in figures}
    return msgspec.structs.replace(chosen, metrics=chosen.metrics | figures, missing=missing)
