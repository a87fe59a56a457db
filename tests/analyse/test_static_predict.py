"""Predicted times against hand arithmetic, and what compiled code is found to lack."""

import pytest

from mla_var3.analyse.predict import bound_of, compute_ns, memory_ns, total, with_prediction
from mla_var3.analyse.static_findings import Code, findings
from mla_var3.core.record import Metric, Source, Stage

H200 = {"peak_tflops": 989.5, "peak_gbps": 4800.0, "sm_count": 132.0}


def stage(name: str = "k", isolated: bool = False, **values: float) -> Stage:
    def metric(key: str, value: float) -> Metric:
        source: Source = "spec" if key in H200 else "static"
        return Metric(value, "unit", source, "given")

    metrics = {key: metric(key, value) for key, value in (H200 | values).items()}
    return Stage(name=name, kernel=name, launch=0, metrics=metrics, isolated=isolated)


def work(flops: float, read: float, written: float = 0.0) -> dict[str, float]:
    return {"model_flops": flops, "model_read_bytes": read, "model_write_bytes": written}


def test_units() -> None:
    """1 TFLOP at 1 TFLOP/s is 1 s; 1 GB at 1 GB/s is 1 s."""
    assert compute_ns(1e12, 1.0) == 1e9
    assert memory_ns(1e9, 1.0) == 1e9


@pytest.mark.parametrize(
    ("flops", "moved", "time", "bound"),
    [
        (989.5e9, 1e6, 1e6, "Compute"),  # 1 ms of FLOPs
        (1e6, 4.8e9, 1e6, "Memory"),  # 1 ms of bytes
        (0.0, 4.8e6, 1e3, "Memory"),
        (0.0, 0.0, 0.0, "Unknown"),
    ],
)
def test_the_nearer_roof_is_the_longer_time(
    flops: float, moved: float, time: float, bound: str
) -> None:
    predicted = with_prediction(stage(**work(flops, moved * 0.75, moved * 0.25)))
    assert predicted.value("roofline_time") == pytest.approx(time)
    assert bound_of(predicted) == bound


def test_measured_rates_where_there_are_some() -> None:
    """690 TFLOP/s measured; the copy rate is not, so the published one counts."""
    predicted = with_prediction(stage(ceiling_tflops=690.0, **work(690e9, 1e6)))
    time = predicted.metrics["ceiling_time"]
    assert time.value == pytest.approx(1e6)
    assert time.source == "model"
    assert "ceiling_tflops" in time.raw and "peak_gbps" in time.raw
    plain = with_prediction(stage(**work(690e9, 1e6)))
    assert plain.missing["ceiling_time"] == "no rate was measured on such a device"


def test_stages_in_order_add_up() -> None:
    stages = [with_prediction(stage(f"k{n}", **work(0.0, 4.8e6))) for n in range(3)]
    assert total(stages).roofline_ns == pytest.approx(3000)
    assert total(stages).ceiling_ns is None


def test_concurrent_stages_share_the_roofs() -> None:
    """1 ms of FLOPs beside 0.4 ms of bytes: 1 ms; twice 0.4 ms of bytes: 0.8 ms; then 0.1 ms."""
    compute = with_prediction(stage("a", isolated=True, **work(989.5e9, 0.0)))
    copy = with_prediction(stage("b", isolated=True, **work(0.0, 1.92e9)))
    again = with_prediction(stage("c", isolated=True, **work(0.0, 1.92e9)))
    join = with_prediction(stage("d", **work(0.0, 0.48e9)))
    assert total([compute, copy]).roofline_ns == pytest.approx(1.0e6)
    assert total([copy, again]).roofline_ns == pytest.approx(0.8e6)
    assert total([compute, copy, join]).roofline_ns == pytest.approx(1.1e6)


def ids(found: Stage, arch: str = "sm_90") -> list[str]:
    return [finding.id for finding in findings(Code(found, arch))]


def test_clean_code_has_no_finding() -> None:
    clean = stage(code_hgmma=52, code_hmma=0, code_waits=4, code_calls=0, spill_bytes=0)
    assert ids(clean) == []


def test_hmma_is_a_finding_where_there_is_something_faster() -> None:
    fallen = stage(code_hmma=512, code_hgmma=0, **work(1e12, 0.0))
    assert ids(fallen) == ids(fallen, "sm_100") == ["hmma"]
    assert ids(fallen, "sm_80") == ids(fallen, "sm_120") == []
    assert ids(stage(code_hmma=4, code_utc_mma=52), "sm_100") == []
    assert ids(stage(code_hmma=4, code_hgmma=52)) == []
    (finding,) = findings(Code(with_prediction(fallen), "sm_90"))
    assert finding.gain_pct == pytest.approx(33.3)
    assert "512 HMMA and no HGMMA" in finding.text


def test_spills_with_their_size() -> None:
    (finding,) = findings(Code(stage(spill_bytes=2696, code_local=812), "sm_90"))
    assert finding.text == "spills 2.6 KB of local memory a thread, 812 LDL and STL in the code"
    (finding,) = findings(Code(stage(spill_bytes=72), "sm_90"))
    assert finding.text == "spills 72 B of local memory a thread"


@pytest.mark.parametrize(("waits", "found"), [(52, ["waits"]), (42, ["waits"]), (41, []), (6, [])])
def test_a_wait_after_every_hgmma(waits: int, found: list[str]) -> None:
    """From four fifths of 52 = 41.6 on."""
    assert ids(stage(code_hgmma=52, code_waits=waits)) == found


def test_few_hgmma_say_nothing_about_waits() -> None:
    assert ids(stage(code_hgmma=7, code_waits=7)) == []


def test_calls_are_a_finding() -> None:
    (finding,) = findings(Code(stage(code_calls=4), "sm_90"))
    assert finding.text.startswith("truediv call in the epilogue, or another function: 4 CALL")
    assert "RoundingMode.APPROX" in finding.advice


def test_a_wave_loss_of_a_fifth_is_a_finding() -> None:
    waves = stage(waves=1.0076, wave_loss=49.6, grid_size=133, blocks_an_sm=1)
    (finding,) = findings(Code(waves, "sm_90"))
    assert finding.text == "wave loss 49.6 %: 133 blocks make 1.01 waves of 132"
    assert finding.gain_pct == 49.6
    few = stage(waves=0.14, wave_loss=30.3, grid_size=92, blocks_an_sm=5)
    assert findings(Code(few, "sm_90"))[0].text == "wave loss 30.3 %: 92 blocks on 132 SMs"
    assert ids(stage(waves=7.76, wave_loss=3.0)) == []


def test_what_does_not_fit_comes_first() -> None:
    large = stage(
        blocks_an_sm=0,
        limit_shared_memory=0,
        limit_registers=1,
        limit_warps=5,
        shared_memory=240000,
        spill_bytes=8,
    )
    found = findings(Code(large, "sm_90"))
    assert [finding.id for finding in found] == ["does_not_fit", "spills"]
    assert found[0].text == (
        "cannot launch on sm_90: one block needs 234 KB of shared memory: more than an SM has"
    )
