"""The figures of a development log: one profile, and what changed since another one."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from mla_var3.core.comparison_verdict import ShapeVerdict
from mla_var3.core.devlog import Figure
from mla_var3.core.record import Profile, Stage
from mla_var3.core.units import NA, signed

Text = Callable[[float], str]
_WHOLE: tuple[tuple[str, str, Text, float], ...] = (
    ("Duration", "duration", lambda ns: f"{ns / 1e3:.2f} μs", -1.0),
    ("Achieved TFLOPs/s", "achieved_tflops", lambda v: f"{v:.2f}", 1.0),
    ("Achieved GB/s", "achieved_gbps", lambda v: f"{v:.2f}", 1.0),
)
"""Label of the spec, key of the record, how it is written, and which direction is better."""
_COUNTED = (("Occupancy", "occupancy"), ("TC Util", "tensor"))


class Previous(NamedTuple):
    """What a profile is held against: an earlier one, or a comparison's verdict on both."""

    profile: Profile | None = None
    verdict: ShapeVerdict | None = None
    floor_pct: float = 0.0
    """Between two profiles a smaller change of the time is none."""


def figures(now: Profile, before: Previous) -> tuple[Figure, ...]:
    """The rows of the Performance table; what is missing is `n/a` with its reason."""
    rows = [_whole(now, before, *row) for row in _WHOLE]
    return (*rows, *(_counted(now, *row) for row in _COUNTED))


def _whole(
    now: Profile, before: Previous, label: str, key: str, text: Text, better: float
) -> Figure:
    value = now.end_to_end.value(key) if now.end_to_end else None
    if value is None:
        return Figure(label, f"{NA} ({_why(now, key)})")
    change = _change_pct(key, value, before)
    if change is None:
        return Figure(label, text(value))
    undecided = _undecided(now, before)
    if undecided:
        return Figure(label, text(value), f"{undecided} ({signed(change)}%)")
    if key != "duration":
        return Figure(label, text(value), f"{signed(change)}%")
    word = "faster" if change < 0 else "slower"
    return Figure(label, text(value), f"{abs(change):.1f}% {word}")


def _change_pct(key: str, value: float, before: Previous) -> float | None:
    if before.verdict is not None:
        time = before.verdict.time
        if time is None or key == "achieved_gbps":  # bytes are a version's own
            return None
        ratio = 1.0 + time.change_pct / 100.0
        return time.change_pct if key == "duration" else 100.0 * (1.0 / ratio - 1.0)
    earlier = before.profile.end_to_end if before.profile else None
    past = earlier.value(key) if earlier else None
    return None if not past else 100.0 * (value / past - 1.0)


def _undecided(now: Profile, before: Previous) -> str:
    """`no change`, or the word of a verdict that does not decide; empty: it has changed."""
    if before.verdict is not None:
        word = before.verdict.word
        return "" if word in ("faster", "slower") else word
    time = now.end_to_end.value("duration") if now.end_to_end else None
    change = None if time is None else _change_pct("duration", time, before)
    return "no change" if abs(change or 0.0) < before.floor_pct else ""


def _counted(now: Profile, label: str, key: str) -> Figure:
    """A counter over all launches, weighted by their time."""
    values = [(stage.value(key), stage.value("duration")) for stage in now.stages]
    known = [(value, time) for value, time in values if value is not None and time]
    if len(known) < len(now.stages) or not known:
        return Figure(label, f"{NA} ({_why(now, key)})")
    share = sum(value * time for value, time in known) / sum(time for _, time in known)
    return Figure(label, f"{share:.0f}%")


def _why(now: Profile, key: str) -> str:
    """The record's own reason."""
    places: Sequence[Stage] = [*([now.end_to_end] if now.end_to_end else []), *now.stages]
    told = (stage.missing[key] for stage in places if key in stage.missing)
    return next(told, "not measured in this mode")
