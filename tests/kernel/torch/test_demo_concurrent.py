"""The concurrent demo: its result, its streams, and what it refuses."""

import pytest

from mla_var3.core.errors import BadArgument
from mla_var3.core.plan import ConcurrentKernels
from mla_var3.kernel.torch.mla.demo_concurrent import DemoConcurrent
from mla_var3.measure.check import check_plan
from mla_var3.measure.launch import run_plan


@pytest.mark.kernel
@pytest.mark.parametrize("streams", [1, 2])
def test_the_copy_is_added_to_the_last_rows_of_the_product(streams: int) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    plan = DemoConcurrent(n=20, rows=7, streams=streams, dtype="fp32")
    a, b, source = plan.prepare_inputs("cpu", seed=1)
    assert a.shape == b.shape == (20, 20)
    runnable = plan.plan(a, b, source)
    run_plan(runnable, "cpu")
    _, copy, join = (*runnable.stages, *runnable.after)
    expected = torch.zeros(20, 20, dtype=torch.float64)
    for i in range(20):
        for j in range(20):
            expected[i, j] = (a[i].double() * b[:, j].double()).sum()
            if i >= 13:
                expected[i, j] += source[i - 13, j].double()
    assert torch.allclose(join.outputs[0].double(), expected, atol=1e-5)
    assert torch.equal(copy.outputs[0], source)
    assert check_plan(plan, "cpu", seed=1).passed
    assert (a.double() @ b.double()).std() == pytest.approx(1.0, abs=0.2)


def test_stages_streams_and_options() -> None:
    runnable = DemoConcurrent(streams=1).plan_empty()
    assert isinstance(runnable, ConcurrentKernels)
    assert [kernel.name for kernel in runnable] == ["matmul", "copy", "join"]
    assert runnable.streams == 1
    assert DemoConcurrent().plan_empty().streams == 2
    assert DemoConcurrent(n=8, rows=3).params() == {
        "n": 8,
        "rows": 3,
        "streams": 2,
        "dtype": "bfloat16",
    }


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"n": 0}, "--n=0"),
        ({"rows": 4097}, "--rows=4097"),
        ({"streams": 3}, "--streams=3"),
        ({"dtype": "int8"}, "--dtype=int8"),
    ],
)
def test_a_problem_that_cannot_be_is_refused_by_name(options: dict[str, int], named: str) -> None:
    with pytest.raises(BadArgument, match=named):
        DemoConcurrent(**options).validate()
