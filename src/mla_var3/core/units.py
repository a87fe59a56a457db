"""How numbers are written for people: one function a unit; a missing one is `n/a`."""

NA = "n/a"

_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"))
_PERCENT_MAX = 100.05  # what still rounds to 100.0


def microseconds(ns: float | None) -> str:
    """The bare figure in microseconds: `612.8`, `1.44`."""
    if ns is None:
        return NA
    return f"{ns / 1e3:.1f}" if ns >= 1e4 else f"{ns / 1e3:.2f}"


def duration(ns: float | None) -> str:
    """`612.8 µs` below 10 ms, then three digits: `23.4 ms`, `1.30 s`."""
    if ns is None:
        return NA
    return f"{microseconds(ns)} µs" if ns < 1e7 else total(ns)


def total(ns: float | None) -> str:
    """A sum of durations in three digits: `2.29 ms`."""
    if ns is None:
        return NA
    scale, unit = next((time for time in _TIMES if ns >= time[0]), _TIMES[-1])
    value = ns / scale
    decimals = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:.{decimals}f} {unit}"


def is_percentage(value: float | None) -> bool:
    """Whether it is a share of 100; above 100 or below 0 a counter misread."""
    return value is not None and 0.0 <= value <= _PERCENT_MAX


def percent_cell(value: float | None) -> str:
    """The bare figure of a percentage, `48.8`; `n/a` where it is missing or no share of 100."""
    if value is None or not is_percentage(value):
        return NA
    return f"{min(value, 100.0):.1f}"


def gain(value: float) -> str:
    """The bare figure of an estimate in percent: whole from 10 on, else one decimal."""
    return f"{value:.0f}" if value >= 9.95 else f"{value:.1f}"


def signed(pct: float) -> str:
    """The bare figure of a change, `−10.7`, `+0.1`; what rounds to nothing has no sign."""
    text = f"{pct:+.1f}"
    return "0.0" if float(text) == 0.0 else text.replace("-", "−")


def clock_state(locked: bool | None) -> str:
    """`clocks locked`, `clocks not locked`; None: nobody told."""
    return {True: "clocks locked", False: "clocks not locked", None: "lock of clocks not told"}[
        locked
    ]


def clock_range(hertz: list[float]) -> str:
    """`1.56–1.97 GHz`, or one figure where both ends read the same; `n/a` for none."""
    if not hertz:
        return NA
    low, high = f"{min(hertz) / 1e9:.2f}", f"{max(hertz) / 1e9:.2f}"
    return f"{low} GHz" if low == high else f"{low}–{high} GHz"


def count(number: int, noun: str) -> str:
    """`1 kernel`, `3 kernels`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
