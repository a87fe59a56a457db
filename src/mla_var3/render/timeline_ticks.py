"""Round times for the axis of a timeline."""

from collections.abc import Iterator

_UNITS = (("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1))


def ticks(length: int) -> Iterator[tuple[float, str]]:
    """Times from 0 to `length`, in ns, each with its label: at most nine, evenly apart."""
    step = _step(length / 8)
    unit, size = next((unit, size) for unit, size in _UNITS if step >= size)
    tick = 0.0
    while tick <= length:
        yield tick, f"{tick / size:g} {unit}"
        tick += step


def _step(least: float) -> float:
    """The next of 1, 2, 5 times a power of ten."""
    power = 1.0
    while power * 10 <= least:
        power *= 10
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least)
