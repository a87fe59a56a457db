"""The screen and the report of event mode for invented runs: what they say, and how wide."""

from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from tests.support.fake_plan import FakePlan
from tests.support.timings import cpu_timing, gpu_timing, series

from mla_var3.analyse.timing_verdict import diagnose_event
from mla_var3.core.plan import KernelPlan
from mla_var3.core.record import Profile
from mla_var3.core.timing import Timing
from mla_var3.measure.worker_event import RESULT, Compiled
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
