"""The counters that annotation mode asks for: known on the chip, and enough for the class."""

import pytest
from tests.support import chip_metrics
from tests.support.records import simple

from mla_var3.analyse.facts import NEEDED_PIPES
from mla_var3.measure.ncu_metrics import (
    annotation,
    base_name,
    explained,
    metric_set,
    parse_query,
    unknown_names,
)
from mla_var3.measure.ncu_reader.table import facts_by_key, table

DTYPES = ("bf16", "fp16", "fp32", "tf32", "fp8", "fp64")


def known(chip: str) -> frozenset[str]:
    try:
        return chip_metrics.counters(chip)
    except chip_metrics.Unavailable as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("chip", sorted(set(table().chips.values())))
def test_every_name_exists_on_its_chip(chip: str) -> None:
    counters = known(chip)
    names = metric_set(chip, DTYPES).names
    hardware = [name for name in names if not name.startswith(annotation().tool_names)]
    assert len(hardware) > 50
    assert [name for name in hardware if base_name(name) not in counters] == []


def test_hopper_reads_all_that_latency_needs() -> None:
    names = metric_set("GH100", ("bf16",)).names
    for key in ("tensor", "dram", "l2", "l1_data", "lsu_requests", *NEEDED_PIPES, "duration"):
        first = facts_by_key()[key].ways[0].raw_names()
        assert set(first) <= set(names), key
    stalls = [name for name in names if "issue_stalled_" in name]
    assert len(stalls) == 18
    assert "smsp__average_warps_issue_stalled_gmma_per_issue_active.ratio" in stalls
    assert len(set(names)) == len(names)


def test_chips_differ_in_names() -> None:
    ampere, blackwell = metric_set("GA100", ("bf16",)), metric_set("GB202", ("bf16",))
    assert "dram__bytes_read.sum" in ampere.names
    assert "dram__bytes_op_read.sum" in blackwell.names
    assert not any("gmma" in name or "imc_miss" in name for name in blackwell.names)
    assert any("imc_miss" in name for name in ampere.names)
    assert ampere.missing["lrc_merge"] == table().absence["no_counter"]
    assert "dram" in metric_set("GB10B").missing


def test_flops_are_counted_in_the_types_of_the_plan() -> None:
    bf16, half = metric_set("GH100", ("bf16",)), metric_set("GH100", ("fp16", "fp32"))
    assert "sm__ops_path_tensor_src_bf16_dst_fp32.sum" in bf16.names
    assert "sm__ops_path_tensor_src_fp16.sum" not in bf16.names
    assert "sm__ops_path_tensor_src_fp16.sum" in half.names
    assert "sm__ops_path_tensor_src_tf32_dst_fp32.sum" in half.names
    assert "flops_bf16" in half.missing and "flops_bf16" not in bf16.missing


def test_what_is_left_out_says_so() -> None:
    chosen = metric_set("GH100", ("bf16",))
    asked = set(annotation().facts) | {"flops_bf16"}
    told = asked | set(chosen.missing) | {"sm_clock_max", "replay_passes", "tensor_flops"}
    assert set(facts_by_key()) == told
    assert chosen.missing["sm_throughput"].startswith("not collected in annotation mode: 5 passes")
    stage = simple().stages[0]
    stage = explained(stage, chosen)
    assert stage.missing["dram"] == "not collected"  # asked for, and for another reason not there


def test_an_unknown_chip_is_asked() -> None:
    listing = "\n".join(
        (
            "Device NVIDIA Next (XX100)",
            "---------",
            "Metric Name           Metric Type   Metric Unit  Metric Description",
            "gpu__time_duration    Counter       ns           time",
            "sm__cycles_active     Counter       cycle        cycles",
            "dram__bytes_op_read   Counter       byte         read",
        )
    )
    exists = parse_query(listing)
    assert exists == {"gpu__time_duration", "sm__cycles_active", "dram__bytes_op_read"}
    chosen = metric_set(None, (), exists.__contains__)
    hardware = [name for name in chosen.names if not name.startswith(annotation().tool_names)]
    assert {base_name(name) for name in hardware} == exists
    assert "tensor" in chosen.missing


def test_a_refused_name_is_dropped_with_its_facts() -> None:
    text = (
        "==ERROR== Failed to find metric regex:^launch__sm_count\n"
        "==ERROR== Failed to find metric dram__bytes_read.sum\n"
    )
    names = unknown_names(text)
    assert names == ("launch__sm_count", "dram__bytes_read.sum")
    before = metric_set("GH100", ("bf16",))
    after = before.without(names)
    assert set(before.names) - set(after.names) == set(names)
    assert after.missing["dram_read_bytes"] == "this ncu does not know dram__bytes_read.sum"
    assert "sm_count" in after.missing
