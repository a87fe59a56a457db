"""Real exports of `ncu --csv` against the report they were made from."""

import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from mla_var3.core.record import Profile, Stage
from mla_var3.measure.ncu_reader import read_report

DATA = Path(__file__).parents[1] / "data" / "ncu"
ROUNDED = 0.006
"""The details page shows two decimals of the scaled value: 0.005 of at least 1."""
BELOW_ONE = 0.0051
OTHER_COUNTER = {"issue", "cycles_elapsed", "active_share", "l1"}
"""The page shows the maximum over the SMs, or a share of active cycles, for these."""


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Profile]:
    """The record of `zoo_b_<page>.csv`."""
    folder = tmp_path_factory.mktemp("csv")

    def read(page: str) -> Profile:
        path = folder / f"zoo_b_{page}.csv"
        path.write_bytes(lzma.decompress((DATA / f"{path.name}.xz").read_bytes()))
        return read_report(path)

    return read


@pytest.fixture(scope="module")
def report(recording: Callable[[str], Path]) -> Profile:
    """The report itself."""
    return read_report(recording("zoo_b"))


def shared(one: Stage, other: Stage) -> dict[str, tuple[float, float]]:
    keys = one.metrics.keys() & other.metrics.keys()
    return {key: (one.metrics[key].value, other.metrics[key].value) for key in keys}


def test_the_raw_page_has_every_value_of_the_report(
    export: Callable[[str], Profile], report: Profile
) -> None:
    raw = export("raw")
    assert [s.name for s in raw.stages] == [s.name for s in report.stages]
    for one, whole in zip(raw.stages, report.stages, strict=True):
        assert one.metrics.keys() >= whole.metrics.keys() - {"lanes"}, one.name
        for key, (value, true) in shared(one, whole).items():
            assert value == pytest.approx(true, rel=2e-5, abs=BELOW_ONE), (one.name, key)
        assert (one.grid, one.block) == (whole.grid, whole.block)


def test_the_details_page_agrees_within_its_rounding(
    export: Callable[[str], Profile], report: Profile
) -> None:
    details = export("details")
    assert len(details.stages) == 9
    for one, whole in zip(details.stages, report.stages, strict=True):
        values = shared(one, whole)
        assert len(values) >= 25, one.name
        for key, (value, true) in values.items():
            if key in OTHER_COUNTER:
                assert value == pytest.approx(true, rel=0.07, abs=0.25), (one.name, key)
            else:
                assert value == pytest.approx(true, rel=ROUNDED, abs=BELOW_ONE), (one.name, key)
        assert "tensor" in one.missing
        assert len(one.rules) >= 4


def test_an_export_with_the_banners_of_a_live_run(export: Callable[[str], Profile]) -> None:
    live = export("live")
    assert [s.name for s in live.stages][:2] == ["fill_chain", "atomic_one_address"]
    assert live.stages[1].value("duration") == pytest.approx(770e3, rel=0.01)
    assert live.status == "OK"
