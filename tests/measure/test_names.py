"""Short kernel names, and names that tell launches apart."""

from typing import NamedTuple

import pytest

from mla_var3.measure.ncu_reader.names import LONGEST, short_name, unique_names


class Launch(NamedTuple):
    name: str
    grid: tuple[int, ...] = ()


@pytest.mark.parametrize(
    ("function", "full", "short"),
    [
        ("fa_fwd", "fa_fwd", "fa_fwd"),
        (None, None, "unnamed"),
        ("", "", "unnamed"),
        (None, "flash_mla_Kt1_A3bf16_3v8l0_4t1_7i16_p16_Sf32_I2_I64", "flash_mla"),
        (None, "_Z13bank_conflictPfi", "bank_conflict"),
        (None, "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIiEEEEviT0_T1_",
         "vectorized_elementwise_kernel"),
        (None, "_ZN12_GLOBAL__N_13fooEv", "foo"),
        (None, "_ZNK3foo3barILi3EEEvv", "bar"),
        (None, "_ZZN3foo3barEvENKUlvE_clEv", "bar"),
        (None, "_ZN7cutlass6KernelI26cutlass_80_tensorop_s16816EEvNT_6ParamsE",
         "cutlass_80_tensorop_s16816"),
        (None, "_Zsomething", "_Zsomething"),
        (None, "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int>, "
         "at::detail::Array<char *, 1>>(int, T2, T3)", "vectorized_elementwise_kernel"),
        (None, "void (anonymous namespace)::softmax_warp<float, 10, false>(float *, int)",
         "softmax_warp"),
        (None, "void <unnamed>::foo<int>(T1)", "foo"),
        (None, "foo::bar()::{lambda(int)#1}::operator()(int) const", "bar"),
        (None, "void k<&(a->b), (c)(1 > 0)>(int)", "k"),
        (None, "std::enable_if<!(false), void>::type gemv2T<int, float>(T13, T6)", "gemv2T"),
        ("Kernel", "void cutlass::Kernel<cutlass_80_gemm>(Params)", "cutlass_80_gemm"),
        ("device_kernel", "void cutlass::device_kernel<flash::FlashFwdSm90<a::B<int>>>(Params)",
         "FlashFwdSm90"),
        (None, "matmul_kernel_0d1d2d3d4d5d6d7c8d9c10d11c", "matmul_kernel"),
        (None, "triton_poi_fused_add_0", "triton_poi_fused_add_0"),
        (None, "conv_2d", "conv_2d"),
        (None, "nvjet_sm90_tst_320x128_64x3_1x2_h_bz_coopB_NNT",
         "nvjet_sm90_tst_320x128_64x3_1x2_h_bz_co…"),
        (None, "::", "::"),
    ],
)  # fmt: skip
def test_short_name(function: str | None, full: str | None, short: str) -> None:
    assert short_name(function, full) == short
    assert len(short) <= LONGEST


def test_launches_of_one_name_are_told_apart() -> None:
    launches = [
        Launch("k", (128, 1, 1)),
        Launch("k", (128, 1, 1)),
        Launch("j", (1, 1, 1)),
        Launch("j", (2, 3, 1)),
        Launch("j", (1, 1, 1)),
        Launch("once", (5,)),
    ]
    assert unique_names(launches) == [
        "k",
        "k#2",
        "j [grid 1]",
        "j [grid 2×3]",
        "j [grid 1]#2",
        "once",
    ]


def test_names_are_unique_whatever_the_kernels_are_called() -> None:
    launches = [Launch("k"), Launch("k#2"), Launch("k"), Launch("k"), Launch("k#2")]
    names = unique_names(launches)
    assert len(set(names)) == len(names)
    assert names[:2] == ["k", "k#2"]
