"""Two stored profiles beside each other: figures only where they may be compared."""

import msgspec
import pytest

from mla_var3.analyse.across_runs import against, differences
from mla_var3.core.record import Environment, Metric, PlanIdentity, Profile, Stage

HOW = "median of 100 samples, CUDA events, cold cache"


def profile(
    us: float = 100.0, clock_ghz: float = 1.6, version: str = "v1", **more: object
) -> Profile:
    whole = Stage(
        name="end to end",
        kernel="end to end",
        launch=0,
        metrics={
            "duration": Metric(us * 1e3, "ns", "event", HOW),
            "sm_clock": Metric(clock_ghz * 1e9, "Hz", "event", "nvidia-smi clocks.sm"),
        },
    )
    base = Profile(
        mode="annotation",
        status="OK",
        stages=(Stage(name="k", kernel="k", launch=0, metrics={}),),
        end_to_end=whole,
        environment=Environment(device="NVIDIA H200", driver="580.159", clocks_locked=False),
        plan=PlanIdentity(kernel="flash_mla", version=version, params={"b": 32, "s": 1}),
        created="2026-12-01T10:15:02+00:00",
        tilings={"k": {"tile_m": 64}},
    )
    return msgspec.structs.replace(base, **more)


def test_a_change_beyond_the_floor() -> None:
    found = against(profile(159.0), "annotation/x/y/z", profile(109.0))
    assert found.ratio == pytest.approx(159 / 109)
    assert found.changes[0].change == "−31.4 %"
    assert (found.floor_pct, found.differs, found.notes) == (3.0, (), ())
    assert found.profile == "annotation/x/y/z"


def test_the_clock_is_told_and_widens_the_floor() -> None:
    found = against(profile(100, 1.5), "x", profile(95, 1.65))
    assert found.notes == ("SM clock differs by +10.0 %",)
    assert found.floor_pct == pytest.approx(10.0)


def test_another_tiling_is_told_before_any_figure() -> None:
    found = against(profile(), "x", profile(90, tilings={"k": {"tile_m": 128}}))
    assert found.notes == ("tiling differs (k)",)
    other = against(profile(version="base", tilings={}), "x", profile())
    assert other.notes == () and other.version == "base"


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"environment": Environment(device="NVIDIA H100", driver="580", clocks_locked=False)},
         "device: NVIDIA H200 → NVIDIA H100"),
        ({"environment": Environment(device="NVIDIA H200", driver="580.1", clocks_locked=True)},
         "clocks: not locked → locked"),
        ({"environment": Environment(device="NVIDIA H200", driver="590.1", clocks_locked=False)},
         "driver: 580 → 590"),
        ({"plan": PlanIdentity(kernel="flash_mla", version="v1", params={"b": 32, "s": 2})},
         "s: 1 → 2"),
        ({"end_to_end": None}, "this profile has no end-to-end time"),
    ],
)  # fmt: skip
def test_what_forbids_a_comparison(change: dict[str, object], text: str) -> None:
    now = profile(**change)
    assert text in differences(profile(), now)
    found = against(profile(), "x", now)
    assert found.ratio is None and found.changes == ()


def test_warm_and_cold_samples_are_not_compared() -> None:
    now = profile()
    assert now.end_to_end is not None
    warm = Metric(1e5, "ns", "event", HOW.replace("cold", "warm"))
    whole = msgspec.structs.replace(now.end_to_end, metrics={"duration": warm})
    found = differences(profile(), msgspec.structs.replace(now, end_to_end=whole))
    assert found == ("samples taken with: CUDA events, cold cache → CUDA events, warm cache",)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (HOW, HOW.replace(", cold", ", in bursts, cold")),
        (
            "median of 5 iterations, first to last operation, nsys",
            "median of 7 iterations, first to last operation, kineto",
        ),
    ],
)
def test_another_regime_and_another_collector_are_not_compared(before: str, after: str) -> None:
    found = differences(*(_taken(how) for how in (before, after)))
    assert found == (
        f"samples taken with: {before.partition(', ')[2]} → {after.partition(', ')[2]}",
    )
    assert differences(_taken(before), _taken(before.replace(" of ", " of 1"))) == ()


def _taken(how: str) -> Profile:
    one = profile()
    assert one.end_to_end is not None
    whole = msgspec.structs.replace(
        one.end_to_end, metrics={"duration": Metric(1e5, "ns", "event", how)}
    )
    return msgspec.structs.replace(one, end_to_end=whole)


def test_less_is_written_with_a_minus() -> None:
    assert against(profile(100, 1.5), "x", profile(95, 1.2)).notes == (
        "SM clock differs by −20.0 %",
    )


def test_a_clock_that_was_read_in_another_way_is_told() -> None:
    """An H200 ran at 1795 MHz by its own cycles while NVML told 1965."""
    now = profile(100, 1.795)
    assert now.end_to_end is not None
    metrics = dict(now.end_to_end.metrics)
    metrics["sm_clock"] = Metric(1.795e9, "Hz", "event", "clock64 over globaltimer, 1240 samples")
    whole = msgspec.structs.replace(now.end_to_end, metrics=metrics)
    found = against(profile(100, 1.965), "x", msgspec.structs.replace(now, end_to_end=whole))
    assert found.notes == (
        "SM clock differs by −8.7 %, read in another way "
        "(nvidia-smi clocks.sm → clock64 over globaltimer)",
    )
