"""The device roofline against figures worked out by hand."""

from collections.abc import Callable

import pytest
from tests.analyse.stages import H200, HOPPER, stage_of

from mla_var3.analyse.roofline import roofline_of_stage
from mla_var3.core.device import Device
from mla_var3.core.diagnosis import Roofline
from mla_var3.core.record import Environment, Profile

WORK = {
    "duration": 1e6,
    "tensor": 40.0,
    "flops_bf16": 400e9,
    "flops_fp16": 0,
    "dram_read_bytes": 900e6,
    "dram_write_bytes": 100e6,
    "sm_clock": 1.525e9,
}
"""400 GFLOP and 1 GB in 1 ms at 1.525 GHz, five sixths of the clock that the peak assumes."""


def test_ridge_intensity_achieved_and_attainable_by_hand() -> None:
    line = roofline_of_stage(stage_of(WORK), HOPPER, H200)
    assert line.dtype == "bf16"
    assert line.intensity == pytest.approx(400.0)  # FLOP/byte
    assert line.achieved_tflops == pytest.approx(400.0)
    assert line.achieved_gbps == pytest.approx(1000.0)
    assert line.peak_tflops_at_clock == pytest.approx(825.0)  # 990 × 1525 / 1830
    assert line.ridge == pytest.approx(206.25)  # 990 TFLOP/s over 4.8 TB/s
    assert line.ridge_at_clock == pytest.approx(171.875)
    assert line.attainable_tflops == pytest.approx(990.0)  # right of the ridge
    assert line.attainable_tflops_at_clock == pytest.approx(825.0)
    assert line.missing == {} and line.notes == ()


def test_left_of_the_ridge_bandwidth_is_the_roof() -> None:
    line = roofline_of_stage(stage_of(WORK | {"flops_bf16": 100e9}), HOPPER, H200)
    assert line.attainable_tflops == pytest.approx(480.0)  # 100 FLOP/byte × 4.8 TB/s
    assert line.attainable_tflops_at_clock == pytest.approx(480.0)


def test_fp32_is_counted_by_instructions() -> None:
    counts = {"fadd_per_cycle": 100.0, "fmul_per_cycle": 50.0, "ffma_per_cycle": 1000.0}
    facts = WORK | counts | {"tensor": 0.0, "flops_bf16": None, "cycles_elapsed": 1e6}
    line = roofline_of_stage(stage_of(facts), HOPPER, H200)
    assert (line.dtype, line.flops) == ("fp32", pytest.approx(2.15e9))  # (100+50+2000) × 1e6


def test_tensor_work_without_counters_is_not_taken_for_fp32() -> None:
    counts = {"fadd_per_cycle": 1.0, "fmul_per_cycle": 1.0, "ffma_per_cycle": 1.0}
    facts = WORK | counts | {"flops_bf16": None, "cycles_elapsed": 1e6}
    line = roofline_of_stage(stage_of(facts), HOPPER, H200)
    assert line.flops is None
    assert line.missing["flops"] == "tensor FLOP counters not in the report (tensor pipe 40.0 %)"


@pytest.mark.parametrize(
    ("gone", "device", "field", "key", "reason"),
    [
        ("dram_write_bytes", H200, "intensity", "dram_bytes", "DRAM bytes written: not collected"),
        ("duration", H200, "achieved_tflops", "duration", "not collected"),
        ("sm_clock", H200, "peak_tflops_at_clock", "clock_mhz", "not collected"),
        ("registers", None, "ridge", "peak_gbps", "peaks of NVIDIA H200 are unknown"),
        ("registers", None, "attainable_tflops", "peak_tflops", "peaks of NVIDIA H200 are unknown"),
    ],
)
def test_what_is_unknown_is_none_with_its_reason(
    gone: str, device: Device | None, field: str, key: str, reason: str
) -> None:
    line = roofline_of_stage(stage_of(WORK | {gone: None}), HOPPER, device)
    assert getattr(line, field) is None
    assert line.missing[key] == reason


def test_a_dtype_without_a_peak_is_said() -> None:
    line = roofline_of_stage(stage_of(WORK | {"flops_fp8": 900e9}), HOPPER, H200)
    assert (line.dtype, line.peak_tflops) == ("fp8", None)
    assert line.missing["peak_tflops"] == "no fp8 peak is known for NVIDIA H200"


def test_more_than_the_peak_is_impossible() -> None:
    line = roofline_of_stage(stage_of(WORK | {"flops_bf16": 858e9}), HOPPER, H200)
    assert line.notes == ("858 TFLOP/s is 104 % of the peak at this clock: impossible",)
    near = roofline_of_stage(stage_of(WORK | {"flops_bf16": 835e9}), HOPPER, H200)  # 101.2 %
    assert near.notes == ()
    bytes_too = roofline_of_stage(stage_of(WORK | {"dram_read_bytes": 5.9e9}), HOPPER, H200)
    assert bytes_too.notes == ("6000 GB/s is 125 % of the DRAM peak: impossible",)


def test_recorded_attention_has_its_analytic_flops(
    recorded: Callable[[str], Profile], h200: Device
) -> None:
    stage = recorded("attention_full").stages[0]
    line: Roofline = roofline_of_stage(stage, Environment(device=h200.name), h200)
    assert line.flops == 4 * 128 * 2048 * 2048 * 128  # 4·BH·S·T·D
    assert line.achieved_tflops == pytest.approx(448.6, abs=0.1)
    share = 100.0 * (line.achieved_tflops or 0.0) / (line.peak_tflops_at_clock or 1.0)
    assert share == pytest.approx(stage.value("tensor") or 0.0, abs=0.3)
