"""Several launches of a stage as one: the median stands, with how far the others lie."""

import pytest

from mla_var3.core.record import Metric, Stage
from mla_var3.measure.ncu_repeats import one_of_runs


def launch(position: int, time: float | None, kernel: str = "k", grid: int = 4) -> Stage:
    metrics = {"dram": Metric(float(position), "%", "ncu", "dram__x.pct")}
    if time is not None:
        metrics["duration"] = Metric(time, "ns", "ncu", "gpu__time_duration.sum")
    return Stage(name=kernel, kernel=kernel, launch=position, metrics=metrics, grid=(grid, 1, 1))


@pytest.mark.parametrize(
    ("times", "median", "chosen"),
    [((30.0, 10.0, 20.0), 20.0, 2), ((40.0, 10.0, 20.0, 30.0), 25.0, 2), ((7.0, 5.0), 6.0, 1)],
)
def test_the_launch_nearest_to_the_median_from_below_stands(
    times: tuple[float, ...], median: float, chosen: int
) -> None:
    runs = [launch(position, time) for position, time in enumerate(times)]
    (one,) = one_of_runs(runs, len(times))
    assert (one.value("duration"), one.value("dram"), one.launch) == (median, chosen, chosen)
    assert (one.value("duration_min"), one.value("duration_max")) == (min(times), max(times))
    assert one.value("samples") == len(times)
    assert one.metrics["duration"].raw == f"median of {len(times)} launches: gpu__time_duration.sum"


def test_each_kernel_of_a_stage_of_several_has_its_own_median() -> None:
    runs = [
        *(launch(0, 1.0, "a"), launch(1, 9.0, "b")),
        *(launch(2, 3.0, "a"), launch(3, 7.0, "b")),
        *(launch(4, 2.0, "a"), launch(5, 8.0, "b")),
    ]
    one = one_of_runs(runs, 3)
    assert [(stage.kernel, stage.value("duration")) for stage in one] == [("a", 2.0), ("b", 8.0)]
    assert [stage.launch for stage in one] == [4, 5]


@pytest.mark.parametrize(
    "runs",
    [
        [launch(0, 1.0, "a"), launch(1, 2.0, "b")],
        [launch(0, 1.0), launch(1, 2.0, grid=8)],
        [launch(0, 1.0), launch(1, 2.0), launch(2, 3.0)],
    ],
    ids=["names", "grids", "odd number"],
)
def test_runs_that_differ_are_all_kept_and_it_is_said(runs: list[Stage]) -> None:
    kept = one_of_runs(runs, 2)
    assert [stage.metrics for stage in kept] == [stage.metrics for stage in runs]
    told = "2 runs launched different kernels: all launches are shown, and summed"
    assert kept[0].warnings == (told,)


def test_one_run_is_left_as_it_is_and_a_missing_time_makes_no_median() -> None:
    runs = [launch(0, 1.0), launch(1, None)]
    assert one_of_runs(runs, 1) == runs
    (one,) = one_of_runs(runs, 2)
    assert one == runs[0]
