"""Every entry of conf/devices.json: sources, dates, and peaks that agree with the chip."""

import json
from datetime import date
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from mla_var3.core.device import Device, Dtype, Peak, check_peak, load_devices

CONF = Path(__file__).parents[2] / "src" / "mla_var3" / "conf" / "devices.json"
TABLE: dict[str, Any] = json.loads(CONF.read_text(encoding="utf-8"))
DEVICES = load_devices()
ALL = pytest.mark.parametrize("device", list(DEVICES), ids=lambda d: d.name)

PRODUCTS = {
    "NVIDIA H200",
    "NVIDIA H200 NVL",
    "NVIDIA H100 80GB HBM3",
    "NVIDIA H100 PCIe",
    "NVIDIA H100 NVL",
    "NVIDIA GH200 480GB",
    "NVIDIA GH200 144G HBM3e",
    "NVIDIA A100-SXM4-40GB",
    "NVIDIA A100-SXM4-80GB",
    "NVIDIA A100-PCIE-40GB",
    "NVIDIA A100 80GB PCIe",
    "NVIDIA L40S",
    "NVIDIA GeForce RTX 4090",
    "NVIDIA GeForce RTX 5090",
    "NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
    "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition",
    "NVIDIA RTX PRO 6000 Blackwell Server Edition",
    "NVIDIA B200",
    "NVIDIA B300 SXM6 AC",
}
# SMs × FLOP per SM and cycle × GHz, from other tables than ours: FMA per SM of the CUDA
# programming guide and of the white papers, times two, worked out by hand in TFLOP/s.
BY_HAND = {
    ("NVIDIA H200", "bf16"): 132 * 4 * 512 * 2 * 1.830e-3,  # 4 tensor cores of 512 FMA
    ("NVIDIA H200", "fp32"): 132 * 128 * 2 * 1.980e-3,
    ("NVIDIA H200", "fp64"): 132 * 4 * 32 * 2 * 1.980e-3,
    ("NVIDIA H100 PCIe", "bf16"): 114 * 4 * 512 * 2 * 1.620e-3,
    ("NVIDIA A100-SXM4-80GB", "bf16"): 108 * 4 * 256 * 2 * 1.410e-3,
    ("NVIDIA A100-SXM4-80GB", "tf32"): 108 * 4 * 128 * 2 * 1.410e-3,
    ("NVIDIA A100-SXM4-80GB", "fp32"): 108 * 64 * 2 * 1.410e-3,
    ("NVIDIA L40S", "fp8"): 142 * 4 * 256 * 2 * 2.520e-3,
    ("NVIDIA L40S", "fp32"): 142 * 128 * 2 * 2.520e-3,
    ("NVIDIA GeForce RTX 4090", "bf16"): 128 * 4 * 128 * 2 * 2.520e-3 / 2,  # fp32 accumulation
    ("NVIDIA GeForce RTX 5090", "bf16"): 170 * 4 * 128 * 2 * 2.407e-3 / 2,
    ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "bf16"): 188 * 4 * 128 * 2 * 2.617e-3,
    ("NVIDIA B200", "bf16"): 148 * 4096 * 2 * 1.856e-3,
}
DRAM_BY_BUS = {  # bits × MHz × 2 / 8, as drivers report them, in GB/s
    "NVIDIA H200": (6016, 3201),
    "NVIDIA H100 80GB HBM3": (5120, 2619),
    "NVIDIA A100-PCIE-40GB": (5120, 1215),
    "NVIDIA GeForce RTX 4090": (384, 10501),
    "NVIDIA GeForce RTX 5090": (512, 14001),
    "NVIDIA B200": (7680, 3996),
    "NVIDIA B300 SXM6 AC": (7680, 3996),
}


def test_the_table_holds_these_products() -> None:
    assert set(DEVICES.names()) == PRODUCTS


def test_no_name_or_alias_stands_for_two_products() -> None:
    names = [name for d in DEVICES for name in (d.name, *d.aliases)]
    assert len(set(names)) == len(names)
    assert all(name == name.strip() for name in names)


@ALL
def test_each_entry_has_https_sources_with_a_date(device: Device) -> None:
    assert len(device.references) >= 3
    for reference in device.references:
        assert reference.url.startswith("https://") and " " not in reference.url
        assert date.fromisoformat(reference.date) <= date(2026, 12, 1)
        assert reference.what
    names = [r for r in device.references if "NVIDIA/open-gpu-kernel-modules" in r.url]
    assert names, "the exact name needs its source"


def test_each_rate_has_a_source_and_belongs_to_a_device() -> None:
    used = {d.rate or d.compute_capability for d in DEVICES}
    assert used == TABLE["rates"].keys()
    for rate in TABLE["rates"].values():
        assert rate["note"] and rate["references"]
        for reference in rate["references"]:
            assert reference["url"].startswith("https://")
            assert date.fromisoformat(reference["date"])


@ALL
def test_each_peak_is_consistent_or_says_why_it_cannot_be_checked(device: Device) -> None:
    for dtype, peak in device.peaks.items():
        check = check_peak(device, dtype)
        assert not check.doubtful, check.text
        assert check.verdict == "consistent" or peak.note, check.text
        assert len(check.text) <= 100 and "\n" not in check.text
    assert DEVICES.doubtful() == ()


def test_only_the_known_boards_have_unchecked_peaks() -> None:
    unchecked = {
        (d.name, dtype)
        for d in DEVICES
        for dtype in d.peaks
        if check_peak(d, dtype).verdict == "unknown"
    }
    max_q = "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition"
    assert unchecked == {
        ("NVIDIA B300 SXM6 AC", "fp64"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "fp32"),
        *((max_q, dtype) for dtype in ("bf16", "fp16", "fp8", "fp32")),
    }


@pytest.mark.parametrize(("name", "dtype"), BY_HAND)
def test_peaks_worked_out_by_hand(name: str, dtype: Dtype) -> None:
    device = DEVICES.find(name)
    assert device is not None
    assert device.peaks[dtype].tflops == pytest.approx(BY_HAND[name, dtype], rel=0.015)


@pytest.mark.parametrize("name", DRAM_BY_BUS)
def test_bandwidths_follow_from_bus_and_memory_clock(name: str) -> None:
    device = DEVICES.find(name)
    assert device is not None
    bits, mhz = DRAM_BY_BUS[name]
    assert device.dram_gbps == pytest.approx(bits / 8 * mhz * 2 / 1000, rel=0.005)


@ALL
def test_dtypes_of_one_chip_keep_their_proportions(device: Device) -> None:
    peaks = {dtype: peak.tflops for dtype, peak in device.peaks.items()}
    if "bf16" in peaks:
        assert peaks["fp16"] == peaks["bf16"]
    for half, whole in (("tf32", "bf16"), ("bf16", "fp8")):
        if half in peaks and whole in peaks:
            assert peaks[whole] == pytest.approx(2 * peaks[half], rel=0.02)


@ALL
def test_sizes_and_clocks_are_plausible(device: Device) -> None:
    assert device.shared_memory_per_sm_bytes - device.shared_memory_per_block_bytes == 1024
    assert device.registers_per_sm == 65536
    clocks = [device.clock_base_mhz, device.clock_boost_mhz, device.clock_max_mhz]
    known = [clock for clock in clocks if clock is not None]
    assert known == sorted(known)
    if device.lock_clock_mhz is not None:
        assert device.lock_clock_reason
        assert device.clock_max_mhz is None or device.lock_clock_mhz < device.clock_max_mhz
        assert device.lock_clock_mhz % 15 == 0, "NVIDIA's clocks go in steps of 15 MHz"
    if device.l2_bytes is None:
        assert any("L2" in note for note in device.notes)


@pytest.mark.parametrize(
    ("name", "dtype", "sparse"),
    [
        ("NVIDIA H200", "bf16", 1979),
        ("NVIDIA H200", "fp8", 3958),
        ("NVIDIA H200 NVL", "bf16", 1671),
        ("NVIDIA H100 PCIe", "bf16", 1513),
        ("NVIDIA A100-SXM4-80GB", "bf16", 624),
        ("NVIDIA L40S", "bf16", 733),
        ("NVIDIA GeForce RTX 5090", "bf16", 419),
        ("NVIDIA B200", "bf16", 4500),
    ],
)
def test_the_sparse_figure_of_the_datasheet_is_flagged(
    name: str, dtype: Dtype, sparse: float
) -> None:
    check = check_peak(_with_peak(name, dtype, tflops=sparse), dtype)
    assert check.verdict == "sparse" and check.doubtful
    assert "looks like the sparse figure" in check.text and len(check.text) <= 110


def test_a_wrong_peak_or_clock_is_flagged_with_its_deviation() -> None:
    low = check_peak(_with_peak("NVIDIA H200", "bf16", tflops=835.5), "bf16")
    assert low.verdict == "inconsistent" and "-15.6%" in low.text
    fast = check_peak(_with_peak("NVIDIA H200", "bf16", clock_mhz=1980), "bf16")
    assert fast.verdict == "inconsistent" and "-7.6%" in fast.text


def test_three_percent_is_the_line() -> None:
    exact = 132 * 4096 * 1.83e-3
    for factor, verdict in ((1.029, "consistent"), (1.031, "inconsistent")):
        for tflops in (exact * factor, exact * (2 - factor)):
            check = check_peak(_with_peak("NVIDIA H200", "bf16", tflops=tflops), "bf16")
            assert check.verdict == verdict


def test_a_derived_clock_above_what_the_board_reaches_is_flagged() -> None:
    # 1671 TFLOP/s on 132 SMs of 4096 FLOP/cycle would need 3091 MHz; the board has 1785.
    wrong = _with_peak("NVIDIA H200 NVL", "bf16", tflops=1671, clock_mhz=3091)
    check = check_peak(wrong, "bf16")
    assert check.verdict == "inconsistent" and "1785 MHz" in check.text


def test_every_dtype_is_of_the_six() -> None:
    assert {dtype for d in DEVICES for dtype in d.peaks} == set(get_args(Dtype))


def _with_peak(name: str, dtype: Dtype, **changes: float) -> Device:
    device = DEVICES.find(name)
    assert device is not None
    peak: Peak = msgspec.structs.replace(device.peaks[dtype], **changes)
    return msgspec.structs.replace(device, peaks={dtype: peak})
