"""Errors by hand, and verdicts exactly at the bounds."""

import math
from typing import Any

import pytest
from tests.support.faulty_plan import FaultyMla

from mla_var3.conf import table
from mla_var3.core.errors import BadArgument
from mla_var3.measure import check_compare
from mla_var3.measure.check import judge
from mla_var3.measure.check_compare import Bounds, bounds_for, compare

torch = pytest.importorskip("torch", reason="torch is not installed")
PLAN = FaultyMla()


def errors(result: Any, reference: Any) -> Any:
    return compare(torch.tensor(result), torch.tensor(reference))


def test_errors_by_hand() -> None:
    found = errors([[4.0, 1.0], [0.0, 3.0]], [[4.0, 0.0], [0.0, 3.0]])
    assert found.relative_error == 1 / 5  # the reference's norm is 5
    assert found.worst_row == 1 / 4
    assert found.at == (0,)
    assert found.elements == 4


def test_the_worst_row_is_found_in_a_result_of_four_axes() -> None:
    reference = torch.ones(2, 3, 4, 5)
    result = reference.clone()
    result[1, 2, 0, 3] = 2.0
    result[0, 1, 3, 3] = 1.5
    found = compare(result, reference)
    assert found.at == (1, 2, 0)
    assert found.worst_row == pytest.approx(1 / math.sqrt(5))
    assert found.relative_error == pytest.approx(math.sqrt(1.25 / 120))


def test_blocks_give_what_the_whole_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = torch.Generator().manual_seed(1)
    reference, noise = (torch.randn(7, 11, 3, generator=generator) for _ in range(2))
    whole = compare(reference + noise / 9, reference)
    monkeypatch.setattr(check_compare, "BLOCK", 10)  # three rows, and an odd rest
    assert compare(reference + noise / 9, reference) == whole


def test_a_row_of_zeros_must_be_zeros() -> None:
    assert errors([[0.0, 0.0], [1.0, 1.0]], [[0.0, 0.0], [1.0, 1.0]]).worst_row == 0.0
    assert errors([[0.0, 1e-9], [1.0, 1.0]], [[0.0, 0.0], [1.0, 1.0]]).worst_row == math.inf
    assert errors([[0.0]], [[0.0]]).relative_error == 0.0
    assert errors([[1.0]], [[0.0]]).relative_error == math.inf


def test_an_exact_bound_passes_and_a_hair_less_does_not() -> None:
    found = errors([[4.0, 1.0], [0.0, 3.0]], [[4.0, 0.0], [0.0, 3.0]])
    assert found.passes(Bounds(0.2, 0.25))
    assert not found.passes(Bounds(math.nextafter(0.2, 0), 0.25))
    assert not found.passes(Bounds(0.2, math.nextafter(0.25, 0)))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_never_passes(bad: float) -> None:
    found = errors([[bad, 1.0]], [[1.0, 1.0]])
    assert not found.passes(Bounds(1e300, math.inf))
    assert not found.passes(Bounds(math.inf, 1e300))


def test_bf16_at_its_relative_bound() -> None:
    reference = torch.zeros(2, 8)
    reference[0, 0] = 200.0
    result = reference.to(torch.bfloat16)
    result[0, 0] = 201.0  # 1 / 200 is the bound, 0.005
    assert judge(PLAN, result, reference, None, bounds_for(result.dtype)).passed
    reference[0, 0] = 199.98
    verdict = judge(PLAN, result, reference, None, bounds_for(result.dtype))
    assert not verdict.passed
    assert "relative error 0.0051 > 0.005" in verdict.detail


def test_bf16_at_its_bound_for_one_row() -> None:
    reference = torch.zeros(64, 8)
    reference[:, 0] = 200.0
    reference[9, 0] = 50.0
    result = reference.to(torch.bfloat16)
    result[9, 0] = 51.0  # 1 / 50 is the bound, 0.02
    assert judge(PLAN, result, reference, None, bounds_for(result.dtype)).passed
    reference[9, 0] = 49.99
    verdict = judge(PLAN, result, reference, None, bounds_for(result.dtype))
    assert not verdict.passed
    assert verdict.relative_error is not None
    assert verdict.relative_error < 1e-3  # the whole would not have shown it
    assert "error 0.02 > 0.02" in verdict.detail


def test_the_bounds_are_those_of_the_element_type() -> None:
    assert bounds_for(torch.bfloat16) == Bounds(5e-3, 2e-2)
    assert bounds_for(torch.float16) == Bounds(1.25e-3, 5e-3)
    assert bounds_for(torch.float32) == Bounds(1e-5, 4e-5)
    assert set(table("check")["bounds"]) == {"bfloat16", "float16", "float32"}
    with pytest.raises(BadArgument, match="not in int32"):
        bounds_for(torch.int32)


def test_results_of_another_shape_fail_and_are_not_broadcast() -> None:
    verdict = judge(PLAN, torch.ones(1, 4), torch.ones(3, 4), None, Bounds(1.0, 1.0))
    assert not verdict.passed
    assert "result [1, 4], reference [3, 4]" in verdict.detail


def test_a_reference_with_nan_judges_nothing() -> None:
    with pytest.raises(BadArgument, match="reference itself"):
        judge(PLAN, torch.ones(1, 2), torch.tensor([[1.0, math.nan]]), None, Bounds(1.0, 1.0))
