"""The concurrent demo: its result, its streams, and what it refuses."""

import pytest

from mla_var3.core.errors import BadArgument
from mla_var3.core.plan import ConcurrentKernels
from mla_var3.kernel.torch.mla.demo_concurrent import DemoConcurrent
from mla_var3.measure.launch import run_plan


@pytest.mark.kernel
@pytest.mark.parametrize("streams", [1, 2])
def test_the_result_is_the_product_and_the_last_rows_of_the_copy(streams: int) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    plan = DemoConcurrent(n=20, rows=33, streams=streams, dtype="fp32")
    a, b, source = plan.prepare_inputs("cpu", seed=1)
    runnable = plan.plan(a, b, source)
    run_plan(runnable, "cpu")
    matmul, copy, join = (*runnable.stages, *runnable.after)
    expected = torch.zeros(20, 20, dtype=torch.float64)
    for i in range(20):
        for j in range(20):
            expected[i, j] = (a[i].double() * b[:, j].double()).sum() + source[13 + i, j].double()
    assert torch.allclose(join.outputs[0].double(), expected, atol=1e-5)
    assert torch.equal(copy.outputs[0], source)
    assert matmul.outputs[0].std() == pytest.approx(1.0, abs=0.2)


def test_stages_streams_and_options() -> None:
    runnable = DemoConcurrent(streams=1).plan_empty()
    assert isinstance(runnable, ConcurrentKernels)
    assert [kernel.name for kernel in runnable] == ["matmul", "copy", "join"]
    assert runnable.streams == 1
    assert DemoConcurrent().plan_empty().streams == 2
    assert DemoConcurrent(n=8, rows=9).params() == {
        "n": 8,
        "rows": 9,
        "streams": 2,
        "dtype": "bfloat16",
    }


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"n": 0}, "--n=0"),
        ({"rows": 4095}, "--rows=4095"),
        ({"streams": 3}, "--streams=3"),
        ({"dtype": "int8"}, "--dtype=int8"),
    ],
)
def test_a_problem_that_cannot_be_is_refused_by_name(options: dict[str, int], named: str) -> None:
    with pytest.raises(BadArgument, match=named):
        DemoConcurrent(**options).validate()
