"""The figures of a timed plan in rows, for the screen and the report."""

from collections.abc import Callable

from mla_var3.core import stats, units
from mla_var3.core.diagnosis import Diagnosis, ProfileDiagnosis
from mla_var3.core.record import Profile, Stage
from mla_var3.core.timing import Timing
from mla_var3.render.event_regimes import GIGA, TERA, clock_text, monitor_rows
from mla_var3.render.layout import shorten_name

SLOW_TFLOPS = 0.5
"""Below it a FLOP rate reads better in GFLOP/s: a CPU's."""
HEADINGS = (
    "Stage",
    "Median",
    "p10",
    "p90",
    TERA,
    "GB/s",
    "% rated",
    "% clock",
    "Roofline",
    "Bound",
)
LEFT = ("Stage", "Bound")
NAME_WIDTH = 16


def rows(profile: Profile, diagnosis: ProfileDiagnosis) -> list[tuple[str, ...]]:
    """The headings, the whole, and below it each of several stages by the model."""
    whole = profile.end_to_end
    giga = is_slow(whole)
    headings = tuple(GIGA if giga and word == TERA else word for word in HEADINGS)
    lines: list[tuple[str, ...]] = [headings]
    if whole is not None:
        lines.append(
            _row(whole, units.NA if diagnosis.bound == "Unknown" else diagnosis.bound, giga)
        )
    if len(profile.stages) > 1:
        verdicts = {verdict.stage: verdict for verdict in diagnosis.stages}
        lines += [_row(stage, _bound(verdicts[stage.name]), giga) for stage in profile.stages]
    return lines


def roofline_rows(whole: Stage) -> list[tuple[str, str, str]]:
    """Work, rates and shares against both roofs, each with its unit."""

    def cell(key: str, text: Callable[[float], str]) -> str:
        value = whole.value(key)
        return units.NA if value is None else text(value)

    moved = (whole.value("model_read_bytes"), whole.value("model_write_bytes"))
    amount = units.NA if None in moved else f"{sum(filter(None, moved)):.4g} byte"
    return [
        ("", "FLOPs", "bytes"),
        ("work of the algorithm", cell("model_flops", "{:.4g} FLOP".format), amount),
        (
            "achieved",
            cell("achieved_tflops", _flop_rate),
            cell("achieved_gbps", "{:.4g} GB/s".format),
        ),
        (
            "rated peak",
            cell("peak_tflops", _flop_rate),
            cell("peak_gbps", "{:.4g} GB/s".format),
        ),
        (
            "peak at the measured clock",
            cell("peak_tflops_at_clock", _flop_rate),
            "does not follow the SM clock",
        ),
        ("time at the rated peak", cell("compute_time", units.duration),
         cell("memory_time", units.duration)),
        ("% of the rated peak", cell("flops_share", percent), cell("bytes_share", percent)),
    ]  # fmt: skip


def percent(value: float) -> str:
    """`61.9 %`; an impossible one reads as it is."""
    return f"{value:.1f} %"


def conditions(timing: Timing) -> list[tuple[str, str]]:
    """How the samples were taken: what the figures hold for."""
    series, warm = timing.series, timing.warm_up
    settled = "settled" if warm.settled else "did not settle"
    flush = timing.flush if series.cache != "warm" else "no flush"
    floor = f"{units.duration(timing.floor.ns)} ({floor_share(timing)} of the median)"
    regimes = {
        "sustained": "sustained: no idle between samples",
        "burst": "burst: some milliseconds of work, then idle",
    }
    parts = [
        ("regime", regimes[series.regime]),
        ("samples", f"{len(series.samples_ns)} in {units.total(series.wall_ns)}; "
                    f"stopped by: {series.stop}"),
        ("warm-up", f"{warm.calls} calls, {units.total(warm.busy_ns)}, {settled}"),
        ("cache", f"{series.cache}: {flush}"),
        ("timer", f"{timing.timer}; {timing.queueing}"),
        ("floor", floor),
        ("inputs", f"{timing.distribution} random numbers, seed {timing.seed}; outputs were "
                   "poisoned before"),
    ]  # fmt: skip
    if series.duty_pct is not None:
        parts.append(("duty cycle", f"{series.duty_pct:.0f} % of the time in the kernel"))
    parts.append(("clock", clock_text(timing)))
    return parts + monitor_rows(timing)


def more_texts(timing: Timing) -> list[str]:
    """Other states of the cache: `warm 3.1 µs (50 samples)`."""
    return [
        f"{series.cache} {units.duration(stats.median(series.samples_ns))} "
        f"({len(series.samples_ns)} samples)"
        for series in timing.more
        if series.samples_ns
    ]


def is_slow(whole: Stage | None) -> bool:
    """Whether FLOP rates read better in GFLOP/s."""
    rate = whole.value("achieved_tflops") if whole else None
    return rate is not None and rate < SLOW_TFLOPS


def _flop_rate(tflops: float) -> str:
    return f"{tflops * 1e3:.4g} {GIGA}" if tflops < SLOW_TFLOPS else f"{tflops:.4g} {TERA}"


def drift_text(timing: Timing) -> str:
    """` · drift +0.2 %`; empty for few samples."""
    try:
        return f" · drift {units.signed(stats.drift_pct(timing.series.samples_ns))} %"
    except ValueError:
        return ""


def floor_share(timing: Timing) -> str:
    """The timer's floor over the median, `0.1 %`."""
    return f"{100.0 * timing.floor.ns / stats.median(timing.series.samples_ns):.1f} %"


def _row(stage: Stage, bound: str, giga: bool) -> tuple[str, ...]:
    flops = stage.value("achieved_tflops")
    return (
        shorten_name(stage.name, NAME_WIDTH),
        units.duration(stage.value("duration")),
        units.duration(stage.value("duration_p10")),
        units.duration(stage.value("duration_p90")),
        rate(flops * 1e3 if giga and flops is not None else flops),
        rate(stage.value("achieved_gbps")),
        _figure(stage.value("roofline_share")),
        _figure(stage.value("clock_share")),
        units.duration(stage.value("roofline_time")),
        bound,
    )


def rate(value: float | None) -> str:
    """Three digits: `541`, `4.27`, `0.0123`."""
    return units.NA if value is None else f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _figure(value: float | None) -> str:
    return units.NA if value is None else f"{value:.1f}"


def _bound(verdict: Diagnosis) -> str:
    return units.NA if verdict.bound == "Unknown" else verdict.bound
