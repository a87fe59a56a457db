"""Which stages ncu did not see whole, and why: what a run of many launches is limited to."""

from collections.abc import Mapping, Sequence

from mla_var3.core import units
from mla_var3.core.record import Mode, Stage
from mla_var3.measure.ncu_run import limit
from mla_var3.measure.ncu_stages import PlanStages
from mla_var3.measure.range_limit import OPERATORS, SECONDS, RangeSeen


def range_settings(mode: Mode = "annotation") -> dict[str, float]:
    """What the child is told: operators a range, and seconds for all ranges."""
    return {OPERATORS: limit("operators", mode), SECONDS: limit("budget_s", mode)}


def most_launches(stages: int, mode: Mode = "annotation") -> int:
    """Launches that ncu profiles at most; it counts them over the whole run."""
    return stages * int(limit("launches", mode))


def cut_stages(
    seen: Mapping[str, RangeSeen],
    launches: Sequence[Stage],
    most: int | None,
    mode: Mode = "annotation",
) -> dict[str, str]:
    """Each stage of which launches are missing, and why.

    `launches` are those of the report; ncu stops silently where they are `most`.
    """
    found = {name: _why(own, mode) for name, own in seen.items() if own.cut}
    if most is not None and len(launches) >= most:
        last = next((name for name in launches[-1].nvtx if name in seen), None)
        if last is not None and last not in found:
            found[last] = f"ncu stopped after {most} launches in all"
    return found


def cut_text(found: PlanStages) -> str:
    """The failure that a record with such stages has; empty where ncu saw all."""
    parts = []
    for name, why in found.cut.items():
        kernels = [stage for stage in found.stages if name in stage.nvtx]
        if kernels:
            some = units.count(len(kernels), "kernel")
            parts.append(f"of {name} ncu profiled {some}: {why}")
        else:
            parts.append(f"{name} was not profiled: {why}")
    return "; ".join(parts)


def _why(seen: RangeSeen, mode: Mode) -> str:
    over = f"the {limit('budget_s', mode):.0f} s for ncu were over"
    if not seen.operators:
        return over
    part = f"those of the first {seen.inside} of {seen.operators} operators of torch"
    if seen.cut == "seconds":
        return f"{part}, then {over}"
    return f"{part}, the most that are profiled of a stage"
