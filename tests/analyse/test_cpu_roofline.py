"""A CPU's roofs and operators, checked by hand arithmetic; no torch needed."""

import msgspec
import pytest

from mla_var3.analyse.cpu_roofline import (
    diagnose_cpu,
    is_cpu,
    roofline_rows,
    roofs,
    with_operators,
)
from mla_var3.analyse.diagnose import diagnose
from mla_var3.analyse.predict import with_prediction
from mla_var3.core.operators import CpuPeaks, Operator, OperatorTable, StageOperators
from mla_var3.core.record import Metric, Profile, Stage

PEAKS = CpuPeaks(
    cpu="A CPU",
    threads=2,
    torch="2.13.0",
    date="2026-12-01",
    cache_bytes=32 << 20,
    cache_set_bytes=4 << 20,
    cache_gbps=80.0,
    dram_gbps=20.0,
    matmul_tflops={"fp32": 0.1, "bf16": 0.002},
)
"""100 GFLOP/s, 20 GB/s from DRAM, 80 GB/s from the cache."""
OPERATORS = (
    Operator(name="aten::copy_", calls=9, self_ns=500.0),
    Operator(name="aten::bmm", calls=3, self_ns=300.0, flops=2e5),
    Operator(name="aten::_softmax", calls=1, self_ns=200.0),
)


def table(working_set: int = 1 << 20) -> OperatorTable:
    samples = (900_000.0, 1_000_000.0, 1_100_000.0)
    own = StageOperators(stage="mla", samples_ns=samples, profiled_runs=3, operators=OPERATORS)
    return OperatorTable(working_set_bytes=working_set, peaks=PEAKS, stages=(own,))


def stage(working_set: int = 1 << 20, timed: bool = True, flops: float = 2e7) -> Stage:
    """2e7 FLOP and 1 MB: 200 µs of products, 50 µs from DRAM, 12.5 µs from the cache."""
    figures = {
        "model_flops": (flops, "flop"),
        "model_read_bytes": (8e5, "byte"),
        "model_write_bytes": (2e5, "byte"),
        "peak_tflops": (0.1, "TFLOP/s"),
        "peak_gbps": (20.0, "GB/s"),
    }
    metrics = {key: Metric(value, unit, "event", key) for key, (value, unit) in figures.items()}
    if timed:
        raw = "median of 100 samples, perf_counter_ns, cold cache"
        metrics["duration"] = Metric(2e6, "ns", "event", raw)
    plain = Stage(name="mla", kernel="mla", launch=0, metrics=metrics)
    return with_operators(with_prediction(plain), table(working_set))


def profile(*stages: Stage) -> Profile:
    return Profile(mode="annotation", status="OK", stages=stages)


def test_cold_is_held_against_dram_and_warm_against_the_cache() -> None:
    cold, warm = roofline_rows(profile(stage(flops=2e6)))
    # 2e6 FLOP need 20 µs; 1 MB needs 50 µs from DRAM and 12.5 µs from the cache
    assert (cold.state, cold.duration_ns, cold.roofline_ns) == ("cold cache: DRAM", 2e6, 50_000)
    assert (warm.state, warm.duration_ns, warm.roofline_ns) == ("warm cache: cache", 1e6, 20_000)
    assert cold.share_pct == pytest.approx(2.5) and warm.share_pct == pytest.approx(2.0)
    assert cold.tflops == pytest.approx(1e-3) and cold.gbps == pytest.approx(0.5)


def test_a_working_set_beyond_the_cache_is_held_against_dram() -> None:
    warm = roofline_rows(profile(stage(working_set=64 << 20, flops=2e6)))[1]
    assert (warm.state, warm.roofline_ns) == ("warm cache: DRAM", 50_000)


def test_a_stage_that_was_not_timed_alone_has_its_warm_time() -> None:
    one = stage(timed=False)
    assert one.value("duration") == 1e6
    (row,) = roofline_rows(profile(one))
    assert row.state == "warm cache: cache"
    assert row.share_pct == pytest.approx(20.0)


def test_operators_become_shares_of_the_time() -> None:
    one = stage()
    assert one.opcodes is not None
    assert one.opcodes.parts == {"aten::copy_": 50.0, "aten::bmm": 30.0, "aten::_softmax": 20.0}
    assert one.value("matmul_share") == 30.0


def test_the_verdict_is_the_models_and_names_the_operators() -> None:
    found = diagnose(profile(stage()), None)
    assert found == diagnose_cpu(profile(stage()))
    assert (found.bound, found.confidence) == ("Compute", "low")
    assert found.root_cause == (
        "from the model: the FLOPs need 200.0 µs at this CPU's matmul rate, the run took "
        "2000.0 µs, 10 % of the roofline. Matrix products take 30 % of the operators' time, "
        "copies and conversions between types (aten::copy_) 50 %"
    )
    names = [(o.name.partition(" (")[0], o.gain_pct) for o in found.opportunities]
    assert names == [
        ("less time in copies and conversions between types", 50.0),
        ("less time in softmax", 20.0),
    ]
    assert found.opportunities[0].trigger == "aten::copy_=50.0 %"


def test_a_gain_is_capped_by_the_roofline() -> None:
    one = stage()
    fast = {"duration": msgspec.structs.replace(one.metrics["duration"], value=250_000.0)}
    found = diagnose_cpu(profile(msgspec.structs.replace(one, metrics=one.metrics | fast)))
    # 200 of 250 µs are the roof: 20 % are left
    assert [item.gain_pct for item in found.opportunities] == [pytest.approx(20.0)] * 2


def test_roofs_and_what_a_cpu_profile_is() -> None:
    dram, cache = roofs(profile(stage()))
    assert (dram.ridge, cache.ridge) == (5.0, 1.25)
    assert is_cpu(profile(stage()))
    assert not is_cpu(profile(Stage(name="k", kernel="k", launch=0, metrics={})))
