"""The device table: lookup by exact name, peaks, ridge points, a user's file."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mla_var3.core.device import Device, Devices, check_peak, load_devices
from mla_var3.core.errors import BadArgument, NotFound

DEVICES = load_devices()
WriteTable = Callable[[dict[str, Any]], Path]


def device(name: str) -> Device:
    found = DEVICES.find(name)
    assert found is not None, name
    return found


@pytest.fixture
def write_table(tmp_path: Path) -> WriteTable:
    """Write entries as a user's file and return its path."""

    def write(devices: dict[str, Any]) -> Path:
        path = tmp_path / "mine.json"
        path.write_text(
            json.dumps({"format": "mla_var3/devices", "schema_version": 1, "devices": devices})
        )
        return path

    return write


def entry(**changes: Any) -> dict[str, Any]:
    """A complete user entry; a change to None removes the field."""
    fields = {
        "chip": "GH100",
        "compute_capability": "9.0",
        "sm_count": 100,
        "dram_gbps": 4000,
        "memory_gb": 96,
        "l2_bytes": 52428800,
        "shared_memory_per_sm_bytes": 233472,
        "shared_memory_per_block_bytes": 232448,
        "registers_per_sm": 65536,
        "clock_boost_mhz": 1500,
        "clock_max_mhz": 1500,
        "peaks": {"bf16": {"tflops": 614.4, "clock_mhz": 1500}},
    } | changes
    return {key: value for key, value in fields.items() if value != "-"}


# --- lookup ---


@pytest.mark.parametrize(
    "name",
    [
        "NVIDIA H200 141GB",
        "NVIDIA RTX 5090",
        "h200",
        "H200",
        "nvidia h200",
        "NVIDIA H200 ",
        "NVIDIA H20",
        "NVIDIA H100",
        "NVIDIA H800",
        "NVIDIA GB200",
        "NVIDIA GeForce RTX 5090 D",
        "NVIDIA GeForce RTX 4090 Laptop GPU",
        "NVIDIA A100 80GB PCIe MIG 1g.10gb",
        "NVIDIA RTX PRO 6000 Blackwell",
        "NVIDIA B300",
        "",
        None,
    ],
)
def test_an_unknown_name_is_unknown_and_never_its_neighbour(name: str | None) -> None:
    assert DEVICES.find(name) is None


def test_the_boards_of_one_family_are_told_apart() -> None:
    assert device("NVIDIA H200").peaks["bf16"].tflops == 989.5
    assert device("NVIDIA H200 NVL").peaks["bf16"].tflops == 835.5
    assert device("NVIDIA H100 80GB HBM3").dram_gbps == 3350
    assert device("NVIDIA H100 PCIe").dram_gbps == 2000
    assert device("NVIDIA H100 NVL").dram_gbps == 3900
    assert device("NVIDIA A100-SXM4-40GB").dram_gbps == 1555
    assert device("NVIDIA A100-SXM4-80GB").dram_gbps == 2039
    assert device("NVIDIA RTX PRO 6000 Blackwell Server Edition").dram_gbps == 1597
    assert device("NVIDIA RTX PRO 6000 Blackwell Workstation Edition").dram_gbps == 1792


def test_an_alias_gives_the_board_that_newer_drivers_call_nvidia() -> None:
    assert DEVICES.find("A100-SXM4-80GB") is DEVICES.find("NVIDIA A100-SXM4-80GB")
    assert DEVICES.find("a100-sxm4-80gb") is None
    assert "A100-SXM4-80GB" not in DEVICES.names()


def test_names_lists_each_product_once() -> None:
    assert len(set(DEVICES.names())) == len(DEVICES.names()) == len(DEVICES) == 19
    assert DEVICES.names()[0] == "NVIDIA H200"


# --- arithmetic, compared with figures worked out by hand ---


@pytest.mark.parametrize(
    ("name", "dtype", "flop_per_byte"),
    [
        ("NVIDIA H200", "bf16", 206.15),  # 989.5 / 4.8
        ("NVIDIA H200", "fp8", 412.27),  # 1978.9 / 4.8
        ("NVIDIA H200", "fp32", 13.94),  # 66.9 / 4.8
        ("NVIDIA H200 NVL", "bf16", 174.06),  # 835.5 / 4.8
        ("NVIDIA H100 80GB HBM3", "bf16", 295.34),  # 989.4 / 3.35
        ("NVIDIA H100 PCIe", "bf16", 378.25),  # 756.5 / 2.0
        ("NVIDIA H100 NVL", "bf16", 214.23),  # 835.5 / 3.9
        ("NVIDIA GH200 480GB", "bf16", 247.50),  # 990 / 4.0
        ("NVIDIA A100-SXM4-40GB", "bf16", 200.64),  # 312 / 1.555
        ("NVIDIA A100-SXM4-80GB", "bf16", 153.02),  # 312 / 2.039
        ("NVIDIA L40S", "bf16", 419.04),  # 362.05 / 0.864
        ("NVIDIA GeForce RTX 4090", "bf16", 163.89),  # 165.2 / 1.008
        ("NVIDIA GeForce RTX 5090", "bf16", 116.91),  # 209.5 / 1.792
        ("NVIDIA B200", "bf16", 293.27),  # 2250 / 7.672
    ],
)
def test_ridge_points(name: str, dtype: Any, flop_per_byte: float) -> None:
    found = device(name)
    assert found.ridge_point(dtype) == pytest.approx(flop_per_byte, abs=0.01)
    assert found.ridge_point_tflop_per_gb(dtype) == pytest.approx(flop_per_byte / 1000, abs=1e-5)


def test_a_dtype_the_chip_does_not_have_is_none() -> None:
    a100 = device("NVIDIA A100-SXM4-40GB")
    assert a100.ridge_point("fp8") is None
    assert a100.ridge_point_tflop_per_gb("fp8") is None
    assert a100.peak_at("fp8", 1.41e9) is None
    assert check_peak(a100, "fp8").verdict == "unknown"


def test_a_peak_scales_with_the_clock_that_ran() -> None:
    h200 = device("NVIDIA H200")
    assert h200.peak_at("bf16", 1.83e9) == pytest.approx(989.5)
    # 132 SMs × 4096 FLOP/cycle × 1.607 GHz = 868.9 TFLOP/s
    assert h200.peak_at("bf16", 1.607e9) == pytest.approx(868.9, abs=0.1)
    assert h200.peak_at("fp32", 0.99e9) == pytest.approx(66.9 / 2)


def test_the_recorded_h200_is_132_sms_of_4096_flop_a_cycle() -> None:
    peak = device("NVIDIA H200").peaks["bf16"]
    assert peak.flops_per_sm_cycle == 4096
    assert 132 * 4096 * 1.83e9 / 1e12 == pytest.approx(989.4, abs=0.05)
    assert check_peak(device("NVIDIA H200"), "bf16").ratio == pytest.approx(1.0, abs=1e-3)


def test_measured_ceilings_of_the_h200() -> None:
    ceilings = device("NVIDIA H200").ceilings
    assert {name: (c.value, c.unit) for name, c in ceilings.items()} == {
        "copy_gbps": (4270, "GB/s"),
        "read_gbps": (4180, "GB/s"),
        "matmul_bf16_sustained_tflops": (690, "TFLOP/s"),
        "matmul_bf16_burst_tflops": (790, "TFLOP/s"),
    }
    assert all("580.159" in c.conditions and c.date == "2026-12-01" for c in ceilings.values())


# --- a user's file ---


def test_a_users_entry_is_added_and_marked(write_table: WriteTable) -> None:
    devices = load_devices(write_table({"My GPU": entry(aliases=["MyGPU"])}))
    mine = devices.find("My GPU")
    assert mine is not None and mine.origin == "mine.json"
    assert devices.find("MyGPU") is mine
    assert mine.peaks["bf16"].flops_per_sm_cycle == 4096  # our rate of 9.0
    assert check_peak(mine, "bf16").verdict == "consistent"  # 100 × 4096 × 1.5 GHz = 614.4
    own = devices.find("NVIDIA H200")
    assert own is not None and own.origin == "conf/devices.json"
    assert len(devices) == len(DEVICES) + 1


def test_a_users_entry_replaces_ours_whole(write_table: WriteTable) -> None:
    devices = load_devices(write_table({"NVIDIA H200": entry(dram_gbps=4814)}))
    mine = devices.find("NVIDIA H200")
    assert mine is not None and (mine.dram_gbps, mine.origin) == (4814, "mine.json")
    assert mine.ceilings == {} and mine.peaks.keys() == {"bf16"}
    assert len(devices) == len(DEVICES)


def test_a_users_product_wins_over_an_alias_of_ours(write_table: WriteTable) -> None:
    devices = load_devices(write_table({"A100-SXM4-80GB": entry()}))
    found = devices.find("A100-SXM4-80GB")
    assert found is not None and found.origin == "mine.json"


def test_a_users_sparse_peak_is_flagged(write_table: WriteTable) -> None:
    peaks = {"bf16": {"tflops": 1979, "clock_mhz": 1830}}
    devices = load_devices(write_table({"My H200": entry(sm_count=132, peaks=peaks)}))
    (check,) = devices.doubtful()
    assert (check.device, check.dtype, check.verdict) == ("My H200", "bf16", "sparse")
    assert check.ratio == pytest.approx(2.0, abs=0.01)
    assert "sparse figure" in check.text and "989.4" in check.text


def test_a_users_own_rate_is_used(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(
        json.dumps(
            {
                "format": "mla_var3/devices",
                "schema_version": 1,
                "rates": {"mine": {"flops_per_sm_cycle": {"bf16": 2048}}},
                "devices": {"My GPU": entry(rate="mine")},
            }
        )
    )
    check = check_peak(load_devices(path).find("My GPU"), "bf16")  # type: ignore[arg-type]
    assert check.verdict == "sparse"  # 614.4 of 100 × 2048 × 1.5 GHz = 307.2


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"chip": "-"}, "missing required field `chip`"),
        ({"sm_count": "132"}, "$.sm_count"),
        ({"sm_count": 0}, "$.sm_count"),
        ({"dram_gbps": -1}, "$.dram_gbps"),
        ({"dram_gbbs": 1}, "dram_gbbs"),
        ({"peaks": {"bf17": {"tflops": 1, "clock_mhz": 1}}}, "bf17"),
        ({"peaks": {"bf16": {"tflops": 0, "clock_mhz": 1}}}, "$.peaks[...].tflops"),
        ({"peaks": {"bf16": {"tflops": 9}}}, "clock_mhz"),
        ({"compute_capability": "sm_90"}, "$.compute_capability"),
        ({"rate": "9.9"}, "no rate '9.9'"),
        ({"references": [{"url": "http://x", "date": "2026-12-01"}]}, "url"),
        ({"references": [{"url": "https://x", "date": "1 Dec"}]}, "date"),
    ],
)
def test_a_bad_user_entry_is_one_line_that_names_file_and_field(
    write_table: WriteTable, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(BadArgument) as caught:
        load_devices(write_table({"My GPU": entry(**changes)}))
    message = str(caught.value)
    assert caught.value.exit_code == 2
    assert message.startswith("mine.json: device 'My GPU'") and words in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is not JSON"),
        (b"{", "is not JSON"),
        (b"\xff\xfe\x00", "is not JSON"),
        (b'{"format": NaN}', "is not JSON"),
        (b"[]", '"format": "mla_var3/devices"'),
        (b"{}", '"format": "mla_var3/devices"'),
        (b'{"format": "mla_var3/devices"}', "schema_version None, not 1"),
        (b'{"format": "mla_var3/devices", "schema_version": 2}', "schema_version 2, not 1"),
        (b'{"format": "mla_var3/devices", "schema_version": 1, "devices": []}', "'devices'"),
        (b'{"format": "mla_var3/devices", "schema_version": 1, "rates": 1}', "'rates'"),
        (b'{"format": "mla_var3/devices", "schema_version": 1, "devices": {"a": 1}}', "'a'"),
        (b'{"format": "mla_var3/devices", "schema_version": 1, "rates": {"r": {}}}', "'r'"),
        (
            b'{"format": "mla_var3/devices", "schema_version": 1, '
            b'"rates": {"r": {"flops_per_sm_cycle": {"bf16": "fast"}}}}',
            "'r'",
        ),
    ],
)
def test_a_bad_user_file_is_one_line(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "mine.json"
    path.write_bytes(content)
    with pytest.raises(BadArgument) as caught:
        load_devices(path)
    message = str(caught.value)
    assert message.startswith("mine.json") and words in message and "\n" not in message
    assert str(tmp_path) not in message


def test_a_missing_user_file_is_not_found(tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(NotFound, match="no device table"):
            load_devices(path)


def test_the_table_loads_in_20_ms() -> None:
    def seconds() -> float:
        start = time.perf_counter()
        load_devices()
        return time.perf_counter() - start

    assert min(seconds() for _ in range(5)) < 0.020


def test_a_table_of_nothing_knows_nothing() -> None:
    assert Devices([]).find("NVIDIA H200") is None
    assert Devices([]).names() == ()
