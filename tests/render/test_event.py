"""The screen and the report of event mode for invented runs: what they say, and how wide."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.support.fake_plan import FakePlan
from tests.support.timings import cpu_timing, gpu_timing, monitored, series

from mla_var3.analyse.timing_verdict import diagnose_event
from mla_var3.core.plan import KernelPlan
from mla_var3.core.rank import Interval
from mla_var3.core.record import Profile
from mla_var3.core.timing import Clock, Timing
from mla_var3.measure.worker_event import RESULT, Compiled
from mla_var3.render.event_regimes import interval_text, lock_text
from mla_var3.render.event_report import render_event_report
from mla_var3.render.event_screen import EventRequest, device_text, headline, render_event
from mla_var3.runtime.profiling.event import event_profile

PLAN = FakePlan(b=32, s=16)
NOW = datetime(2026, 12, 1, 10, 15, 2, tzinfo=UTC)


def recorded(timing: Timing, folder: Path, plan: KernelPlan = PLAN) -> Profile:
    (folder / RESULT).write_bytes(msgspec.json.encode(Compiled(reasons={"latent": "no tileiras"})))
    return event_profile(plan, timing, folder, NOW)


def screen(timing: Timing, folder: Path) -> list[str]:
    profile = recorded(timing, folder)
    request = EventRequest(
        folder="out/profiles/event/fake_v1/b32_s16_t4096_h128_d128_k512_p64_bf16/20261201-101502",
        next_steps=(("mla run fake v1 --b=32 --s=16 --check", "numerics"),),
    )
    text = render_event(profile, diagnose_event(profile), timing, request)
    return [*headline(profile, device_text(timing)), *text.splitlines()]


def test_the_first_line_says_what_ran_on_what(tmp_path: Path) -> None:
    lines = screen(gpu_timing([1000e3] * 200), tmp_path)
    assert lines[0] == (
        "fake v1 · cutile · b=32 s=16 t=4096 h=128 d=128 k=512 p=64 bfloat16 · NVIDIA H200 · clocks"
        " not locked"
    ) or lines[:2] == [
        "fake v1 · cutile · b=32 s=16 t=4096 h=128 d=128 k=512 p=64 bfloat16",
        "  NVIDIA H200 · clocks not locked",
    ]


def test_the_rows_are_the_arithmetic(tmp_path: Path) -> None:
    """5.84e11 FLOP in 1 ms; at 1.62 GHz the peak is 989.5 * 1620 / 1830 (MHz that it assumes)."""
    lines = screen(gpu_timing([1000e3] * 200), tmp_path)
    start = next(i for i, line in enumerate(lines) if line.startswith("Stage"))
    assert lines[start].split() == [
        *("Stage", "Median", "p10", "p90", "TFLOP/s", "GB/s"),
        *("%", "rated", "%", "clock", "Roofline", "Bound"),
    ]
    whole, latent, combine = lines[start + 1 : start + 4]
    times = ["1000.0", "µs"] * 3
    assert whole.split() == [
        *("end", "to", "end", *times),
        *("584", "151", "59.0", f"{100 * 584.1 / (989.5 * 1620 / 1830):.1f}"),
        *("590.3", "µs", "Compute"),
    ]
    assert latent.split() == ["latent", *["n/a"] * 7, "590.3", "µs", "Compute"]
    assert combine.split() == ["combine", *["n/a"] * 7, "20.0", "µs", "Memory"]


def test_all_that_matters_is_on_the_screen_within_100_columns(tmp_path: Path) -> None:
    timing = gpu_timing(
        [90e3 + ns for ns in range(200)],
        more=(
            series([88e3] * 50, cache="cold, written only"),
            series([31e3] * 50, cache="warm"),
        ),
    )
    timing = msgspec.structs.replace(timing, series=series([900e3] * 200))
    lines = screen(timing, tmp_path)
    text = "\n".join(lines)
    for words in (
        "200 samples in 360 ms (count) · warm-up 1.20 s, settled · cold cache · CUDA events, floor",
        "clock     1.62 of 1.98 GHz (nvidia-smi, once in the run), 698 W, sw power cap; not locked",
        "cache     cold, written only 88.0 µs (50 samples)",
        "cache     warm 31.0 µs (50 samples)",
        "note      clocks not locked: times of separate runs may differ by 15 %",
        "Why       from the model: the FLOPs need 590.3 µs at the peak",
        "trigger: roofline=",
        "next      mla run fake v1 --b=32 --s=16 --check   numerics",
    ):
        assert words in text, words
    assert "nan" not in text
    assert max(map(len, lines)) <= 100


def test_a_slow_device_reads_in_gflops(tmp_path: Path) -> None:
    text = "\n".join(screen(cpu_timing([30e9] * 6), tmp_path))
    assert "GFLOP/s" in text and "TFLOP/s" not in text
    assert "A CPU · 2 threads" in text
    assert "clock     n/a: the clock of a CPU is not read" in text
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("Regime"))
    assert lines[start].split() == ["Regime", "Median", *("95", "%", "CI"), "n", "GFLOP/s", "%",
                                    "rated"]  # fmt: skip
    assert lines[start + 1].split()[:3] == ["sustained", "30.0", "s"]


def test_the_report_has_both_roofs_the_conditions_and_the_gaps(tmp_path: Path) -> None:
    timing = gpu_timing([1000e3] * 200)
    profile = recorded(timing, tmp_path)
    report = render_event_report(profile, diagnose_event(profile), timing)
    for row in (
        "# fake v1: event",
        "h=128 d=128 k=512 p=64 bfloat16 · NVIDIA H200 · clocks not locked\n",
        "| achieved | 584.1 TFLOP/s | 151 GB/s |",
        "| rated peak | 989.5 TFLOP/s | 4800 GB/s |",
        "| % of the rated peak | 59.0 % | 3.1 % |",
        "- of the roofline at the rated peaks: 59.0 %",
        "| samples | 200 in 400 ms; stopped by: count |",
        "| warm-up | 1000 calls, 1.20 s, settled |",
        "| cache | cold: 126 MB written, then 126 MB of a second buffer read, before each sample |",
        "| floor | 2.10 µs (0.2 % of the median) |",
        "| Duration | 1000.0 µs | event | median of 200 samples, CUDA events, cold cache |",
        "| Registers a thread | n/a | - | no tileiras |",
        "Tiling: tile\\_m=64, latency=3",
        "- burst regime: not by the version that took this profile",
        "- clocks not locked: times of separate runs may differ by 15 %; compare versions "
        "interleaved, in one run",
    ):
        assert row in report, row
    assert "nan" not in report and "None" not in report


@pytest.mark.parametrize("seconds", [1e-6, 1e-3, 1.0, 100.0])
def test_every_size_of_time_fits(tmp_path: Path, seconds: float) -> None:
    timing = cpu_timing([seconds * 1e9] * 20)
    assert max(map(len, screen(timing, tmp_path))) <= 100


def test_both_regimes_are_rows_and_never_mixed(tmp_path: Path) -> None:
    """5.84e11 FLOP in 1602.4 and 1391 µs, at 1392 and 1605 MHz of a peak at 1830."""
    lines = screen(monitored(), tmp_path)
    start = next(i for i, line in enumerate(lines) if line.startswith("Regime"))
    sustained, burst = lines[start + 1 : start + 3]
    assert sustained.split() == [
        *("sustained", "1602.4", "µs", "[1602.4,", "1602.4]", "640", "1392", "[1365–1425]"),
        *("698/700", "93", "%", f"{584.1156e3 / 1602.4:.0f}", "36.8"),
        f"{100 * 584.1156e3 / 1602.4 / (989.5 * 1392 / 1830):.1f}",
    ]
    assert burst.split() == [
        *("burst", "1391.0", "µs", "short", "run,", "not", "given", "90", "1605", "[1605–1605]"),
        *("n/a", "2", "%", f"{584.1156e3 / 1391:.0f}", "42.4"),
        f"{100 * 584.1156e3 / 1391 / (989.5 * 1605 / 1830):.1f}",
    ]
    assert max(map(len, lines)) <= 100
    text = "\n".join(lines)
    assert "clock     1.39 of 1.98 GHz (in-band, 640 samples), 698 W (nvml), sw power cap" in text
    assert "640 samples in 1.10 s (converged)" in text and "drift 0.0 %" in text


def test_the_report_says_who_looked_and_what_was_launched(tmp_path: Path) -> None:
    timing = monitored()
    profile = recorded(timing, tmp_path)
    report = render_event_report(profile, diagnose_event(profile), timing)
    for row in (
        "| monitor | nvml every 20 ms; 125 readings, 55 of them in the timed part; counters: nvml",
        "| its cost | not measured in this run |",
        "| power | 698/700 W |",
        "| kernels | 1 in one call: 1 × nvjet",
        "| Kernels in one call | 1 kernel | event | torch.profiler, one call |",
        "| Time with the software power cap active | 93 % | event | nvml fields, sw power cap |",
        "| SM clock during the run | 1.392 GHz | event | clock64 over globaltimer, 640 samples |",
        "| Duration in bursts | 1391.0 µs | event | median of 90 samples in bursts |",
        "| Power during the run | 698 W | event | nvml power.draw |",
        "- one call launched 1 kernel, and the plan has 2 stages",
    ):
        assert row in report, row
    for word in ("nan", "None", "Not measured"):
        assert word not in report


def test_a_run_too_short_for_the_sensor_says_so(tmp_path: Path) -> None:
    timing = monitored()
    short = msgspec.structs.replace(timing.series, windows_ns=((0.0, 0.9e9),))
    timing = msgspec.structs.replace(timing, series=short)
    profile = recorded(timing, tmp_path)
    report = render_event_report(profile, diagnose_event(profile), timing)
    assert "| power | n/a (run too short for the sensor) |" in report


@pytest.mark.parametrize(
    ("median", "text"),
    [(1.5e3, "[1.40, 1.60]"), (2e6, "[1900.0, 2100.0]"), (2e7, "[19.0, 21.0]"),
     (2e9, "[1.90, 2.10]")],
)  # fmt: skip
def test_an_interval_has_the_unit_of_its_median(median: float, text: str) -> None:
    spread = 0.1e3 if median < 1e4 else 0.05 * median
    found = Interval(median, median - spread, median + spread, 0.95, 10)
    assert interval_text(median, found) == text
    assert interval_text(median, None) == "short run, not given"


@pytest.mark.parametrize(
    ("clock", "text"),
    [
        (None, "lock of clocks not told"),
        ({"locked": False}, "clocks not locked"),
        ({"locked": True}, "clocks locked"),
        ({"locked": True, "lock_mhz": 1305.0, "lock_held": True},
         "clocks locked at 1305 MHz, held"),
        ({"locked": False, "lock_mhz": 1305.0, "lock_held": False}, "lock at 1305 MHz not held"),
        ({"locked": False, "lock_held": False}, "lock not held"),
    ],
)  # fmt: skip
def test_the_lock_in_words(clock: dict[str, Any] | None, text: str) -> None:
    assert lock_text(None if clock is None else Clock(source="nvml", **clock)) == text


def test_every_time_says_its_cache_and_its_timer(tmp_path: Path) -> None:
    """triton pull request 10149: a warm cache reads too fast, the host's gaps too slow."""
    held = "a spin kernel of 80 µs holds the stream before each sample"
    timing = gpu_timing(
        [15e3] * 200,
        queueing=held,
        more=(series([16e3] * 50, cache="cold, written only"), series([9e3] * 50, cache="warm")),
    )
    plan = FakePlan(b=1, s=1, t=64)
    profile = recorded(timing, tmp_path, plan)
    report = render_event_report(profile, diagnose_event(profile), timing)
    for row in (
        "| cache | cold: 126 MB written, then 126 MB of a second buffer read, before each sample |",
        f"| timer | CUDA events; {held} |",
        "| floor | 2.10 µs (14.0 % of the median) |",
        "- cache for comparison: cold, written only 16.0 µs (50 samples)",
        "- cache for comparison: warm 9.00 µs (50 samples)",
        "- launch-bound: the timer's floor of 2.1 µs is 14 % of the median",
    ):
        assert row in report, row
    (row,) = [line for line in report.splitlines() if line.startswith("| sustained |")]
    assert row.endswith("| n/a | n/a |")  # no percent of a peak
