"""Blocks so short that their start rate is the limit; figures by Little's law, by hand."""

import pytest

from mla_var3.analyse.block_rate import block_life, decide, start_interval
from mla_var3.analyse.facts import Facts
from mla_var3.core.record import Environment, Metric, Stage

# fill_chain on an H200: 262,144 blocks of 8 warps on 132 SMs, 287,388 busy cycles an SM,
# 10.06 warps resident: 262144 / 132 = 1985.9 blocks an SM, one every 144.7 cycles,
# 1.2575 blocks resident, so each lives 182 cycles.
FILL_CHAIN = {
    "grid_size": 262144.0,
    "block_size": 256.0,
    "sm_count": 132.0,
    "cycles_active": 287388.4,
    "warps_active": 10.06,
    "waves": 248.24,
    "occupancy": 15.7,
    "occupancy_theoretical": 100.0,
}


def facts(**changed: float | None) -> Facts:
    values = {k: v for k, v in (FILL_CHAIN | changed).items() if v is not None}
    metrics = {key: Metric(value, "", "ncu", key) for key, value in values.items()}
    return Facts(Stage(name="k", kernel="k", launch=0, metrics=metrics), Environment(), None)


def test_the_interval_and_the_life_by_hand() -> None:
    interval = start_interval(facts())
    assert interval == pytest.approx(287388.4 * 132 / 262144)
    assert interval == pytest.approx(144.7, abs=0.05)
    assert block_life(facts(), interval) == pytest.approx(182, abs=0.5)


def test_it_is_named_with_its_figures() -> None:
    verdict = decide(facts())
    assert verdict is not None
    assert (verdict.bound_class, verdict.cause) == ("Latency", "block_rate")
    assert "one every 145 cycles" in verdict.words.limiter
    assert "lives 182 cycles" in verdict.words.why
    assert verdict.gain == pytest.approx(84.3)


@pytest.mark.parametrize(
    "changed",
    [
        {"occupancy": 60.0},  # the SMs are as full as they can be
        {"waves": 9.9},  # start-up and drain count
        {"cycles_active": 287388.4 * 1.4},  # one every 203 cycles: not at the rate
        {"occupancy": None},
        {"occupancy_theoretical": None},
        {"waves": None},
        {"cycles_active": None},
        {"grid_size": None},
    ],
)
def test_it_is_not_named_otherwise(changed: dict[str, float | None]) -> None:
    assert decide(facts(**changed)) is None


def test_without_the_warps_the_life_is_not_invented() -> None:
    verdict = decide(facts(warps_active=None))
    assert verdict is not None
    assert "lives an unknown number of cycles" in verdict.words.why
