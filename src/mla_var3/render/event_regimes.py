"""The rows of a timed whole by regime: time, clock, power and rates of each, never mixed."""

from collections.abc import Sequence

from mla_var3.core import rank, units
from mla_var3.core.record import Stage
from mla_var3.core.regime import IN_BAND, RegimeFigures, rows_of
from mla_var3.core.timing import LATER, Clock, Timing

TERA, GIGA = "TFLOP/s", "GFLOP/s"
REGIME_HEADINGS = (
    "Regime",
    "Median",
    "95 % CI",
    "n",
    "SM MHz [p5–p95]",
    "Power W",
    "Cap",
    TERA,
    "% rated",
    "% clock",
)
OF_A_GPU = ("SM MHz [p5–p95]", "Power W", "Cap", "% clock")
"""Left out of a CPU's rows: nobody reads its clock."""
REGIME_LEGEND = (
    "CI: of the median, by ten blocks. SM MHz: of the timed part. Cap: share of the time with the "
    "software power cap active. % rated, % clock: of the roofline at the published peaks, and at "
    "that clock."
)


def regime_rows(whole: Stage | None, timing: Timing, giga: bool = False) -> list[tuple[str, ...]]:
    """The headings, the series of all other figures, and the burst run that was added."""
    first, *added = rows_of(timing)
    headings = tuple(GIGA if giga and word == TERA else word for word in REGIME_HEADINGS)
    keys = ("achieved_tflops", "roofline_share", "clock_share")
    rows = [headings, _row(first, timing, _values(whole, keys, giga))]
    keys = ("burst_tflops", "burst_roofline_share", "burst_clock_share")
    rows += [_row(row, timing, _values(whole, keys, giga)) for row in added]
    if timing.machine.threads is None:
        return rows
    kept = [at for at, word in enumerate(REGIME_HEADINGS) if word not in OF_A_GPU]
    return [tuple(row[at] for at in kept) for row in rows]


def interval_text(median_ns: float, found: rank.Interval | None) -> str:
    """`[1597.1, 1608.0]` in the unit of the median; or that the run is short."""
    if found is None:
        return rank.SHORT_RUN
    unit = units.duration(median_ns).rpartition(" ")[2]
    return f"[{_in(unit, found.low)}, {_in(unit, found.high)}]"


def power_text(figures: RegimeFigures, limit_w: float | None, reason: bool = False) -> str:
    """`698/700`: of this moment, and the limit; `reason` says why it is missing."""
    seen = figures.seen
    value = None if seen is None else seen.power_w or seen.power_average_w
    if value is None:
        why = seen.no_power if seen is not None else ""
        return f"{units.NA} ({why})" if reason and why else units.NA
    return f"{value:.0f}/{limit_w:.0f}" if limit_w else f"{value:.0f}"


def burst_text(timing: Timing) -> str:
    """Both regimes on one line, where a burst run was added; else empty."""
    if timing.burst is None:
        return ""
    sustained, burst = rows_of(timing)
    parts = []
    for row in (sustained, burst):
        interval = f" {interval_text(row.median_ns, row.interval)}" if row.interval else ""
        at = f" at {row.clock_mhz:.0f} MHz" if row.clock_mhz is not None else ""
        parts.append(f"{row.regime} {units.duration(row.median_ns)}{interval}{at}")
    cap = f", power cap active {sustained.cap_pct:.0f} % of the time" if sustained.cap_pct else ""
    return f"{parts[0]}{cap}; {parts[1]}"


def clock_text(timing: Timing) -> str:
    """`1.39 of 1.98 GHz (in-band, 640 samples), 698 W (nvml), sw power cap; not locked`."""
    clock = timing.clock
    if clock is None:
        return f"n/a: {timing.missing.get('clock', 'not read')}"
    if clock.sm_mhz is None:
        return f"n/a: {clock.missing.get('clock') or clock.missing.get('sm_mhz', 'not told')}"
    of = f" of {clock.max_sm_mhz / 1e3:.2f}" if clock.max_sm_mhz else ""
    parts = [f"{clock.sm_mhz / 1e3:.2f}{of} GHz ({clock.source}, {_rests_on(clock)})"]
    if clock.power_w is not None:
        by = f" ({clock.sensor})" if clock.sensor not in ("", clock.source) else ""
        parts.append(f"{clock.power_w:.0f} W{by}")
    parts += clock.reasons
    return f"{', '.join(parts)}; {lock_text(clock).removeprefix('clocks ')}"


def lock_text(clock: Clock | None) -> str:
    """`clocks not locked`, `clocks locked at 1305 MHz, held`, `lock of 1305 MHz not held`."""
    if clock is None:
        return units.clock_state(None)
    at = f" at {clock.lock_mhz:.0f} MHz" if clock.lock_mhz else ""
    if clock.lock_held is False:
        return f"lock{at} not held"
    held = ", held" if clock.lock_held else ""
    return f"{units.clock_state(clock.locked)}{at if clock.locked else ''}{held}"


def monitor_rows(timing: Timing) -> list[tuple[str, str]]:
    """Who looked at the device beside the run, and what that cost; nothing of older runs."""
    monitor, figures = timing.monitor, rows_of(timing)[0]
    rows = []
    if monitor is not None:
        count = units.count(len(monitor.readings), "reading")
        parts = [monitor.source]
        if monitor.period_ms:
            inside = figures.seen.readings if figures.seen else 0
            parts = [f"{monitor.source} every {monitor.period_ms:.0f} ms"]
            parts.append(f"{count}, {inside} of them in the timed part")
            parts.append(f"counters: {monitor.counters or 'none'}")
        parts += [f"no {what}: {why}" for what, why in monitor.missing.items()]
        rows.append(("monitor", "; ".join(parts)))
        found = monitor.overhead
        cost = "not measured in this run"
        if found is not None:
            ends = f"[{units.signed(found.low_pct)}, {units.signed(found.high_pct)}]"
            cost = f"{found.pct:+.2f} % {ends} at {found.level_pct:.1f} % ({found.quads} quads)"
        rows.append(("its cost", cost))
        rows.append(("power", _watts(power_text(figures, timing.power_limit_w, reason=True))))
    if timing.kernels:
        names = ", ".join(f"{count} × {name}" for name, count in timing.kernels.items())
        rows.append(("kernels", f"{timing.launches} in one call: {names}"))
    elif timing.missing.get("kernel count", LATER) != LATER:
        rows.append(("kernels", f"not counted: {timing.missing['kernel count']}"))
    return rows


def _rests_on(clock: Clock) -> str:
    if clock.readings == 1:
        return "once in the run"
    return f"{clock.readings} {'samples' if clock.source == IN_BAND else 'readings'}"


def _watts(text: str) -> str:
    return text if text.startswith(units.NA) else f"{text} W"


def _row(figures: RegimeFigures, timing: Timing, rates: Sequence[str]) -> tuple[str, ...]:
    return (
        figures.regime,
        units.duration(figures.median_ns),
        interval_text(figures.median_ns, figures.interval),
        str(figures.samples),
        _clock_cell(figures),
        power_text(figures, timing.power_limit_w),
        units.NA if figures.cap_pct is None else f"{figures.cap_pct:.0f} %",
        *rates,
    )


def _clock_cell(figures: RegimeFigures) -> str:
    if figures.clock_mhz is None:
        return units.NA
    if len(figures.sm_mhz) == 1:
        return f"{figures.clock_mhz:.0f} (once)"
    low, middle, high = figures.sm_mhz
    return f"{middle:.0f} [{low:.0f}–{high:.0f}]"


def _values(whole: Stage | None, keys: Sequence[str], giga: bool) -> list[str]:
    rate, *shares = (whole.value(key) if whole else None for key in keys)
    scaled = rate * 1e3 if giga and rate is not None else rate
    return [_three(scaled), *(units.NA if s is None else f"{s:.1f}" for s in shares)]


def _three(value: float | None) -> str:
    return units.NA if value is None else f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _in(unit: str, ns: float) -> str:
    """A time in the unit that another reads in."""
    if unit == "µs":
        return units.microseconds(ns)
    value = ns / {"ms": 1e6, "s": 1e9}[unit]
    decimals = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:.{decimals}f}"
