"""Occupancy by our arithmetic against what Nsight Compute recorded, for every launch we have."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import ROOT

from mla_var3.core.device import load_devices
from mla_var3.core.errors import BadArgument
from mla_var3.core.record import Stage
from mla_var3.measure.ncu_reader import read_report
from mla_var3.measure.occupancy import BlockNeeds, Occupancy, known_capabilities, occupancy
from mla_var3.measure.occupancy import sm_limits as limits_of

RECORDINGS = sorted(p.name.removesuffix(".ncu-rep.xz") for p in ROOT.glob("examples/*.ncu-rep.xz"))
KEYS = ("registers", "shared_memory", "warps", "blocks", "barriers")
SM_90 = limits_of("9.0")


def raw(path: Path) -> Iterator[dict[str, float]]:
    """The barriers and the shared-memory split of every launch, which are no facts of ours."""
    ncu_report: Any = pytest.importorskip("ncu_report")
    for launches in ncu_report.load_report(str(path)):
        for action in launches:
            names = ("launch__barrier_count", "launch__shared_mem_config_size")
            yield {name: action.metric_by_name(name).as_double() for name in names}


def ours(stage: Stage, barriers: float, carveout: float | None = None) -> Occupancy:
    needs = BlockNeeds(
        registers=int(stage.metrics["registers"].value),
        threads=int(stage.metrics["block_size"].value),
        shared_bytes=int(stage.metrics["shared_memory"].value),
        barriers=int(barriers),
    )
    return occupancy(needs, SM_90, None if carveout is None else int(carveout))


@pytest.mark.parametrize("name", RECORDINGS)
def test_every_limit_of_every_launch(name: str, recording: Callable[[str], Path]) -> None:
    path = recording(name)
    compared = 0
    for stage, extra in zip(read_report(path).stages, raw(path), strict=True):
        found = ours(stage, extra["launch__barrier_count"], extra["launch__shared_mem_config_size"])
        recorded = {key: stage.metrics[f"limit_{key}"].value for key in KEYS}
        assert found.limits == recorded, stage.name
        assert found.percent == stage.metrics["occupancy_theoretical"].value, stage.name
        compared += 1
    assert compared >= 1


@pytest.mark.parametrize("name", RECORDINGS)
def test_the_driver_takes_no_split_that_costs_a_block(
    name: str, recording: Callable[[str], Path]
) -> None:
    """`static` does not know the split that a driver will choose: the occupancy is the same."""
    path = recording(name)
    for stage, extra in zip(read_report(path).stages, raw(path), strict=True):
        found = ours(stage, extra["launch__barrier_count"])
        assert found.percent == stage.metrics["occupancy_theoretical"].value, stage.name
        held = 132 * found.blocks
        assert stage.metrics["waves"].value == stage.metrics["grid_size"].value / held


def test_the_recordings_hold_the_figures_of_the_plan(recording: Callable[[str], Path]) -> None:
    stages = [stage for name in RECORDINGS for stage in read_report(recording(name)).stages]
    figures = {stage.metrics["occupancy_theoretical"].value for stage in stages}
    assert {12.5, 18.75, 25.0, 50.0, 62.5, 100.0} <= figures
    assert len(stages) >= 30


def needs(**changes: int) -> BlockNeeds:
    return BlockNeeds(**({"registers": 32, "threads": 256, "shared_bytes": 0} | changes))


def test_all_limiters_that_tie_are_named() -> None:
    found = occupancy(needs(registers=168, threads=384, shared_bytes=156216, barriers=2), SM_90)
    assert (found.blocks, found.percent) == (1, 18.75)
    assert found.limiters == ("registers", "shared_memory")
    assert found.shared_allocated_bytes == 157312  # (156216 + 1024) up to the next 128


@pytest.mark.parametrize(
    ("capability", "percent", "blocks"),
    [("8.0", 50.0, 32), ("8.6", 16 / 48 * 100, 16), ("8.9", 50.0, 24), ("9.0", 50.0, 32)],
)
def test_small_blocks_are_limited_by_their_number(
    capability: str, percent: float, blocks: int
) -> None:
    found = occupancy(needs(registers=16, threads=32), limits_of(capability))
    assert found.percent == pytest.approx(percent)
    assert (found.blocks, found.limiters) == (blocks, ("blocks",))


def test_barriers_limit_from_9_0_on() -> None:
    """21 of three barriers on 9.0 (64 of them); 10.3 has 32, and 8.0 has no such limit."""
    wide = needs(registers=16, threads=32, barriers=3)
    limits = {c: occupancy(wide, limits_of(c)).limits["barriers"] for c in ("8.0", "9.0", "10.3")}
    assert limits == {"8.0": 32, "9.0": 21, "10.3": 10}


@pytest.mark.parametrize(
    ("change", "limit"),
    [
        ({"registers": 256}, "registers"),
        ({"registers": 255, "threads": 512}, "registers"),
        ({"shared_bytes": 232449}, "shared_memory"),
        ({"threads": 1056}, "warps"),
    ],
)
def test_what_does_not_fit_has_no_block(change: dict[str, int], limit: str) -> None:
    found = occupancy(needs(**change), SM_90)
    assert (found.blocks, found.percent) == (0, 0.0)
    assert found.limits[limit] == 0


def test_the_largest_block_that_fits() -> None:
    assert occupancy(needs(shared_bytes=232448), SM_90).blocks == 1
    assert occupancy(needs(registers=255, threads=256), SM_90).blocks == 1


def test_the_table_agrees_with_the_devices() -> None:
    for device in load_devices():
        limits = limits_of(device.compute_capability)
        assert limits.shared_sm_bytes == device.shared_memory_per_sm_bytes, device.name
        assert limits.shared_block_bytes == device.shared_memory_per_block_bytes, device.name
        assert limits.registers == device.registers_per_sm, device.name


def test_an_unknown_capability_names_those_known() -> None:
    with pytest.raises(BadArgument, match=r"capability 6\.1 \(8\.0, "):
        limits_of("6.1")
    assert known_capabilities()[0] == "8.0"
