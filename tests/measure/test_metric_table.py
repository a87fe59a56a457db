"""The metric table against the counters that each chip has, without a GPU."""

import pytest
from tests.support import chip_metrics

from mla_var3 import conf
from mla_var3.measure.ncu_reader import table as metric_table
from mla_var3.measure.ncu_reader.facts import _WAYS
from mla_var3.measure.ncu_reader.table import Fact, Way, facts_by_key

CHIPS = ("TU102", "GA100", "GA102", "AD102", "GH100", "GB100", "GB202")
INTEGRATED = ("GA10B", "GB10B", "GB20B")
# derived by the tool, not counters of the chip: in no chip's list
TOOL_LEVEL = (
    "launch__",
    "device__",
    "sass__",
    "derived__",
    "smsp__pcsamp_",
    "profiler__",
    "memory_",
    "sm__maximum_warps",
    "smsp__maximum_warps",
)
E = ".avg.pct_of_peak_sustained_elapsed"


@pytest.fixture(scope="module")
def counters() -> dict[str, frozenset[str]]:
    """Base names by chip, for every chip of the library."""
    try:
        return {chip: chip_metrics.counters(chip) for chip in chip_metrics.chips()}
    except chip_metrics.Unavailable as reason:
        pytest.skip(f"the metrics library cannot be asked: {reason}")


def base(name: str) -> str:
    return name.partition(".")[0]


def counted(names: tuple[str, ...]) -> list[str]:
    return [name for name in names if not base(name).startswith(TOOL_LEVEL)]


def is_there(way: Way, known: frozenset[str]) -> bool:
    present = [base(name) in known for name in counted(way.raw_names())]
    return any(present) if way.sum_present else all(present)


def first_way(fact: Fact, known: frozenset[str]) -> Way | None:
    return next(
        (way for way in fact.ways if counted(way.raw_names()) and is_there(way, known)), None
    )


def needs_counters(fact: Fact) -> bool:
    return all(counted(way.raw_names()) for way in fact.ways)


def test_every_fact_is_on_a_chip_or_declared_absent_there(
    counters: dict[str, frozenset[str]],
) -> None:
    wrong = []
    for chip in CHIPS + INTEGRATED:
        for fact in filter(needs_counters, facts_by_key().values()):
            there = first_way(fact, counters[chip]) is not None
            if there == (chip in fact.absent_on):
                wrong.append(f"{fact.key} on {chip}: {'there' if there else 'not there'}")
    assert wrong == []


def test_each_name_exists_where_it_is_declared(counters: dict[str, frozenset[str]]) -> None:
    wrong = []
    for fact in facts_by_key().values():
        for way in fact.ways:
            names = counted(way.raw_names())
            for chip in way.chips or CHIPS:
                known = [base(name) in counters[chip] for name in names]
                if names and not (any(known) if way.sum_present else all(known)):
                    wrong.append(f"{fact.key} {names} on {chip}")
            for name in names:
                if not any(base(name) in counters[chip] for chip in way.chips or CHIPS):
                    wrong.append(f"{name} on none of its chips")
    # without a `chips` list a name may be absent where the fact itself is declared absent
    assert [line for line in wrong if not _declared_absent(line)] == []


def _declared_absent(line: str) -> bool:
    key, _, rest = line.partition(" ")
    return key in facts_by_key() and rest.rpartition(" ")[2] in facts_by_key()[key].absent_on


def test_names_with_a_chips_list_exist_on_no_other_chip(
    counters: dict[str, frozenset[str]],
) -> None:
    wrong = [
        f"{way.name} also on {chip}"
        for fact in facts_by_key().values()
        for way in fact.ways
        if way.chips and way.name
        for chip in CHIPS
        if chip not in way.chips and base(way.name) in counters[chip]
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("key", "chip", "first"),
    [
        ("tensor", "TU102", "sm__pipe_tensor_cycles_active" + E),
        ("tensor", "GA100", "sm__pipe_tensor_cycles_active" + E),
        ("tensor", "GH100", "sm__pipe_tensor_cycles_active" + E),
        ("tensor", "GB100", "sm__pipe_tensor_cycles_active" + E),
        ("tensor", "GB202", "sm__pipe_tensor_cycles_active" + E),
        ("dram", "TU102", "gpu__dram_throughput" + E),
        ("dram", "GB202", "gpu__dram_throughput" + E),
        ("dram_read_bytes", "GH100", "dram__bytes_read.sum"),
        ("dram_read_bytes", "GB202", "dram__bytes_op_read.sum"),
        ("dram_write_bytes", "GB100", "dram__bytes_write.sum"),
        ("dram_write_bytes", "GB202", "dram__bytes_op_write.sum"),
        ("l2_hit", "AD102", "lts__t_sector_hit_rate.pct"),
        ("alu", "GB202", "sm__pipe_alu_cycles_active" + E),
        ("issue", "GA102", "sm__issue_active" + E),
        ("flops_bf16", "GB202", "sm__ops_path_tensor_src_bf16_dst_fp32.sum"),
        ("flops_fp16", "GH100", "sm__ops_path_tensor_src_fp16.sum"),
        ("flops_fp8", "AD102", "sm__ops_path_tensor_src_fp8.sum"),
        ("flops_fp8", "GH100", "sm__ops_path_tensor_src_fp8.sum"),
    ],
)
def test_the_first_name_on_a_chip(
    counters: dict[str, frozenset[str]], key: str, chip: str, first: str
) -> None:
    way = first_way(facts_by_key()[key], counters[chip])
    assert way is not None and way.name == first


@pytest.mark.parametrize(
    ("key", "chip", "names"),
    [
        ("flops_fp16", "GA100", ("fp16_dst_fp32", "fp16_dst_fp16")),
        ("flops_fp16", "GB100", ("fp16_dst_fp32", "fp16_dst_fp16")),
        ("flops_fp8", "GB202", ("fp8_dst_fp32", "fp8_dst_fp16")),
        ("flops_fp8", "GB100", ("fp4_fp6_fp8_dst_fp32", "fp4_fp6_fp8_dst_fp16")),
        ("flops_fp4", "GB202", ("fp4_dst_fp32", "fp4_fp6_dst_fp32", "fp4_fp6_dst_fp16")),
    ],
)
def test_the_flop_counters_of_a_chip(
    counters: dict[str, frozenset[str]], key: str, chip: str, names: tuple[str, ...]
) -> None:
    way = first_way(facts_by_key()[key], counters[chip])
    assert way is not None
    assert way.sum_present == tuple(f"sm__ops_path_tensor_src_{name}.sum" for name in names)
    assert all(base(name) in counters[chip] for name in way.sum_present)


def test_stall_counters_of_every_chip_have_a_known_form(
    counters: dict[str, frozenset[str]],
) -> None:
    for chip in CHIPS:
        prefix, suffix = "smsp__average_warps_issue_stalled_", "_per_issue_active"
        reasons = {n[len(prefix) : -len(suffix)] for n in counters[chip] if n.startswith(prefix)}
        assert {"long_scoreboard", "barrier", "wait", "selected", "mio_throttle"} <= reasons, chip
        assert ("gmma" in reasons) == (chip == "GH100")


def test_every_chip_has_the_headlines(counters: dict[str, frozenset[str]]) -> None:
    for chip, known in counters.items():
        for key in ("duration", "tensor", "dram", "occupancy", "l2_hit", "issue", "fma"):
            if key == "dram" and chip in (*INTEGRATED, "GB20C"):
                continue
            assert first_way(facts_by_key()[key], known) is not None, f"{key} on {chip}"


def test_every_way_says_one_thing_only() -> None:
    for fact in facts_by_key().values():
        for way in fact.ways:
            said = [field for field in _WAYS if getattr(way, field)]
            assert len(said) == 1, f"{fact.key}: {said}"
            assert way.how in ("", "times_active", "pct_of_32")
        if fact.only_if is not None:
            assert fact.otherwise, fact.key


def test_chips_and_facts_refer_to_what_is_there() -> None:
    table = metric_table.table()
    keys = set(facts_by_key())
    assert len(keys) == len(table.facts)
    assert set(table.chips.values()) == set(CHIPS + INTEGRATED)
    for fact in table.facts:
        assert set(fact.absent_on) <= set(CHIPS + INTEGRATED)
        assert fact.zero_means_without in keys | {""}
        for way in fact.ways:
            assert {*way.facts_ratio, *way.facts_sum} <= keys
            assert set(way.chips) <= set(CHIPS)


def test_labels_stand_for_counters_that_a_fact_reads() -> None:
    read = {
        name for fact in facts_by_key().values() for way in fact.ways for name in way.raw_names()
    }
    assert [label.label for label in metric_table.table().labels if label.name not in read] == []


def test_every_part_of_the_file_is_explained() -> None:
    content = conf.table("metrics")
    assert set(content) - {"_about"} == set(content["_about"])


def test_the_specs_tables_stand_word_for_word() -> None:
    content = conf.table("metrics")
    rows = [(r["metric"], r["healthy"], r["issue"], r["hint"]) for r in content["interpretation"]]
    assert rows == [
        ("TC Util", ">60%", "Memory or latency bound", "Check DRAM%, occupancy"),
        ("DRAM Throughput", ">70%", "Compute or latency bound", "Check TC%, occupancy"),
        (
            "Achieved Occupancy",
            ">25%",
            "Register/smem pressure",
            "Reduce tile size, occupancy hint",
        ),
        ("L2 Hit Rate", ">80%", "Poor data reuse", "Swizzle, larger tiles, data layout"),
        ("Local Spilling", "0 bytes", "Register overflow", "Smaller tiles, fewer accumulators"),
        ("Waves/SM", ">1.0", "Underfilled GPU", "More blocks, reduce per-block resources"),
    ]
    patterns = [(r["pattern"], r["classification"], r["focus"]) for r in content["classification"]]
    assert patterns == [
        ("DRAM% high + TC% low", "Memory-bound", "Data reuse, TMA hints, head grouping"),
        ("TC% high + DRAM% low", "Compute-bound", "Kernel efficiency, tile sizes"),
        ("Both low", "Latency-bound", "Occupancy, reduce spilling, more blocks"),
        ("L2 hit < 80%", "Locality issue", "Swizzle scheduling, tile size adjustment"),
    ]
    keys = set(facts_by_key())
    assert {row["key"] for row in content["interpretation"]} <= keys
    assert {test["key"] for row in content["classification"] for test in row["when"]} <= keys
