"""Signatures built from shapes against those of real launches.

The expected names were recorded from cuda-tile 1.7 on tensors of these shapes with a driver library
present; a launch looks its code up by such a signature, and so finds what was compiled without one.
"""

from typing import Any

import pytest

ct = pytest.importorskip("cuda.tile", reason="cuTile is not installed")

from mla_var3.kernel.cutile.arguments import ArraySpec, TileCall, signature  # noqa: E402
from mla_var3.kernel.cutile.parameters import Size  # noqa: E402

pytestmark = pytest.mark.kernel

RECORDED = {
    ((3, 5, 1), "bf16"): "A3bf16_1l0_4s1_6t1_p16",
    ((3, 5, 1), "fp32"): "A3f32_1l0_4s1_6t1_p16",
    ((1, 1, 1), "bf16"): "A3bf16_7s1t1_p16",
    ((3, 1, 1), "fp32"): "A3f32_6s1_7t1_p16",
    ((32,), "bf16"): "A1bf16_1i16t1_p16",
    ((1,), "fp32"): "A1f32_1s1t1_p16",
    ((33,), "fp32"): "A1f32_1t1_p16",
    ((2, 48, 40), "bf16"): "A3bf16_2i16_3v8l0_4t1_p16",
    ((2, 48, 40), "fp32"): "A3f32_2i16_3v4l0_4t1_p16",
    ((4096, 4096, 128, 2), "bf16"): "A4bf16_3v8_7i16l0_8t1_p16",
    ((32, 128, 4096, 128), "bf16"): "A4bf16_7v8l0_8t1_fi16_p16",
}


@ct.kernel
def k(array: Any) -> None:
    pass


@ct.kernel
def numbers(scale: float, history: int, rows: Size, flag: ct.Constant[bool]) -> None:
    pass


@pytest.mark.parametrize(("spec", "name"), RECORDED.items(), ids=str)
def test_arrays_as_a_launch_describes_them(spec: tuple[tuple[int, ...], str], name: str) -> None:
    convention = "t2" if 1 in spec[0] else "t1"  # v2 has constant sizes
    assert signature(TileCall(k, (1,), (ArraySpec(*spec),))).symbol == f"k_K{convention}_{name}"


def test_numbers_of_run_time_and_constants() -> None:
    """float32, int32, then the constants by value."""
    call = TileCall(numbers, (1,), (0.5, 7, 64, True))
    assert signature(call).symbol == "numbers_Kt1_Sf32_Si32_I64_B1"


def test_tensors_are_described_like_their_specs() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    tensor = torch.empty(2, 48, 40, dtype=torch.bfloat16)
    made = signature(TileCall(k, (1,), (tensor,)))
    assert made == signature(TileCall(k, (1,), (ArraySpec((2, 48, 40), "bf16"),)))
