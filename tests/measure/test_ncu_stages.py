"""Launches as stages of a plan: which stage each belongs to, and sums and means by hand."""

import pytest

from mla_var3.core.plan import Cost, Kernel, Tiling
from mla_var3.core.record import Metric, Stage
from mla_var3.measure.ncu_metrics import MetricSet
from mla_var3.measure.ncu_stages import PlanStages, plan_stages

ASKED = MetricSet((), {})


def kernel(name: str, sms: int | None = None) -> Kernel:
    return Kernel(name=name, tiling=Tiling(), cost=Cost(1.0, 1.0, 1.0), grid=(1,), sms=sms)


def launch(name: str, *ranges: str, **figures: float) -> Stage:
    units = {"duration": "ns", "cycles_elapsed": "cycle", "tensor": "%", "ffma_per_cycle": "inst"}
    metrics = {key: Metric(value, units[key], "ncu", key) for key, value in figures.items()}
    return Stage(name=name, kernel=name, launch=0, metrics=metrics, nvtx=ranges)


def stages(*launches: Stage, names: tuple[str, ...] = ("first", "second")) -> PlanStages:
    return plan_stages(launches, [kernel(name) for name in names], (), ASKED)


def test_a_stage_of_several_kernels_is_summed_and_weighted() -> None:
    """1 µs at 90 % and 3 µs at 10 %: (90 + 30) / 4 = 30 %, not 50; per cycle by cycles."""
    found = stages(
        launch("a", "first", duration=1000, cycles_elapsed=10, tensor=90.0, ffma_per_cycle=8.0),
        launch("b", "first", duration=3000, cycles_elapsed=70, tensor=10.0, ffma_per_cycle=16.0),
        names=("first",),
    )
    (group,) = found.groups
    assert group.value("duration") == 4000 and group.value("cycles_elapsed") == 80
    assert group.value("tensor") == pytest.approx(30.0)
    assert group.value("ffma_per_cycle") == pytest.approx((8 * 10 + 16 * 70) / 80)
    assert [stage.name for stage in found.stages] == ["first: a", "first: b"]


def test_what_one_kernel_lacks_the_stage_lacks() -> None:
    found = stages(
        launch("a", "first", duration=1000, tensor=90.0),
        launch("b", "first", duration=3000),
        names=("first",),
    )
    assert found.groups[0].value("tensor") is None
    assert found.groups[0].value("duration") == 4000


def test_the_outermost_range_that_is_a_stage_s_decides() -> None:
    """A library's range may bear the name of another stage."""
    found = stages(
        launch("a", "warm-up", "second", "first", duration=1),
        launch("b", "first", "second", duration=2),
        launch("c", "other", duration=3),
    )
    assert {stage.name: stage.kernel for stage in found.stages} == {"first": "b", "second": "a"}
    assert found.strangers == 1 and found.unseen == ()


def test_a_long_range_is_known_by_its_beginning() -> None:
    name = "stage_" + 60 * "x"
    found = stages(launch("a", name[:49] + "…", duration=1), names=(name,))
    assert [stage.name for stage in found.stages] == [name]


def test_a_stage_bears_what_the_plan_gives_it() -> None:
    kernels = [kernel("first", sms=44), kernel("second")]
    launches = [launch("a", "first", duration=1), launch("b", "second", duration=1)]
    found = plan_stages(launches, kernels, ("first",), ASKED)
    assert [(s.sms_given, s.isolated) for s in found.stages] == [(44, True), (None, False)]


def test_a_kernel_s_name_is_cut_where_it_says_so_and_launches_are_numbered() -> None:
    long = "kernel_" + 80 * "y"
    ranges = ("first",)
    found = stages(launch(long, *ranges), launch(long, *ranges), launch("b", *ranges))
    first, second, third = (stage.name for stage in found.stages)
    assert first.endswith("…") and first.startswith("first: kernel_yyy")
    assert (second, third) == (f"{first}#2", "first: b")
    assert found.unseen == ("second",)
