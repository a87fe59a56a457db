"""The plan's own work against counted work, checked by hand arithmetic."""

import pytest

from mla_var3.analyse.compare_model import roofline_rows, roofs, work_rows
from mla_var3.core.device import Device, load_devices
from mla_var3.core.record import Environment, Metric, Profile, Stage


def stage(**values: float) -> Stage:
    """A stage of 100 µs; the keys are those of the tables."""
    figures = {"duration": 100_000.0} | values
    return Stage(
        name="k",
        kernel="k",
        launch=0,
        metrics={key: Metric(value, "x", "ncu", key) for key, value in figures.items()},
    )


def profile(one: Stage, whole: Stage | None = None) -> Profile:
    return Profile(
        mode="annotation",
        status="OK",
        stages=(one,),
        end_to_end=whole,
        environment=Environment(device="NVIDIA H200"),
    )


@pytest.fixture
def h200() -> Device:
    found = load_devices().find("NVIDIA H200")
    assert found is not None
    return found


def test_gaps_beyond_five_percent_are_flagged(h200: Device) -> None:
    one = stage(
        model_flops=1e10,
        flops_bf16=1.04e10,
        model_read_bytes=1e8,
        dram_read_bytes=1.06e8,
        model_write_bytes=1e7,
        dram_write_bytes=0.9e7,
    )
    flops, read, written = work_rows(profile(one), h200)
    assert (flops.gap_pct, flops.flagged) == (pytest.approx(4.0), False)
    assert (read.gap_pct, read.flagged) == (pytest.approx(6.0), True)
    assert read.note.startswith("read more than once")
    assert (written.gap_pct, written.flagged) == (pytest.approx(-10.0), True)
    assert written.note == "the rest was still in L2 at the end"


def test_what_is_missing_has_its_reason(h200: Device) -> None:
    one = stage(model_flops=1e10, model_read_bytes=1e8)
    flops, read = work_rows(profile(one), h200)
    assert flops.counted is None and "tensor FLOP counters" in flops.note
    assert (read.counted, read.note) == (None, "not counted")


def test_no_work_in_the_model_is_no_gap(h200: Device) -> None:
    one = stage(model_flops=0.0, flops_bf16=5.0)
    (flops,) = work_rows(profile(one), h200)
    assert (flops.gap_pct, flops.flagged, flops.note) == (None, False, "the plan counts none")


def test_both_sides_of_the_roofline(h200: Device) -> None:
    one = stage(
        model_flops=4e10,
        model_read_bytes=1e8,
        model_write_bytes=0.0,
        flops_bf16=5e10,
        dram_read_bytes=2e8,
        dram_write_bytes=0.0,
        peak_tflops=989.5,
        peak_gbps=4800.0,
        sm_clock=915e6,
    )
    model, counters = roofline_rows(profile(one), h200)
    assert (model.side, counters.side) == ("model", "counters")
    # the bf16 peak holds at 1830 MHz: at half the clock 494.75 TFLOP/s, 4e10 FLOP take 80.85 µs
    assert h200.peaks["bf16"].clock_mhz == pytest.approx(1830, abs=2)
    assert model.roofline_ns == pytest.approx(80_850, rel=2e-3)
    assert model.share_pct == pytest.approx(80.85, rel=2e-3)
    assert model.tflops == pytest.approx(400.0) and model.gbps == pytest.approx(1000.0)
    assert model.intensity == 400.0 and counters.intensity == 250.0
    assert counters.tflops == pytest.approx(500.0)
    assert counters.share_pct == pytest.approx(100.0, rel=1.5e-2)
    (roof,) = roofs(profile(one), h200)
    assert roof.ridge == pytest.approx(989.5e3 / h200.dram_gbps, rel=1e-3)
    assert roof.tflops_at_clock == pytest.approx(494.75, rel=2e-3)


def test_the_whole_plan_stands_last_with_its_time_by_events(h200: Device) -> None:
    whole = stage(
        duration=200_000.0, model_flops=4e10, model_read_bytes=1e8, model_write_bytes=0.0,
        achieved_tflops=200.0, achieved_gbps=500.0, clock_share=40.0, roofline_share=20.0,
    )  # fmt: skip
    row = roofline_rows(profile(stage(), whole), h200)[-1]
    assert (row.share_pct, row.roofline_ns, row.tflops) == (40.0, 80_000.0, 200.0)
