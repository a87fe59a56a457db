"""Fifteen shapes that reports take, each with the verdict it must get."""

from typing import NamedTuple

import pytest
from tests.analyse.stages import NO_ROOFS, stage_of

from mla_var3.analyse.diagnose import diagnose_stage
from mla_var3.core.record import Environment, Stage

READS = "dram__bytes_read.sum.pct_of_peak_sustained_elapsed"
ABSENT = dict.fromkeys((*NO_ROOFS, "active_share"))


class Case(NamedTuple):
    """A stage and what must be said of it."""

    why: str
    stage: Stage
    bound: str
    cause: str
    words: tuple[str, ...]
    confidence: str


CASES = [
    Case(
        "LSU instruction rate; SM % and Memory % are one counter",
        stage_of(
            {"sm_throughput": 91.0, "memory_throughput": 91.0, "lsu_requests": 91.0, "l1": 91.0}
            | {"l1_data": 47.0, "issue": 31.0, "global_sectors": 3e6, "global_sectors_excess": 0}
            | {"shared_wavefronts": 0, "shared_wavefronts_excess": 0},
            stalls={"lg_throttle": 62, "long_scoreboard": 14},
        ),
        "Memory",
        "l1",
        ("instruction rate", "global"),
        "high",
    ),
    Case(
        "the same with shared-memory instructions",
        stage_of(
            {"sm_throughput": 84.0, "memory_throughput": 84.0, "lsu_requests": 84.0, "l1": 84.0}
            | {"l1_data": 52.0, "l1_shared": 44.0, "global_sectors": 3e6}
            | {"global_sectors_excess": 0, "shared_wavefronts": 4e6, "shared_wavefronts_excess": 0},
            stalls={"mio_throttle": 58, "long_scoreboard": 17},
        ),
        "Memory",
        "l1",
        ("instruction rate", "shared-memory"),
        "high",
    ),
    Case(
        "uncoalesced: the L1 data pipe is full while DRAM idles",
        stage_of(
            {"memory_throughput": 96.0, "l1": 96.0, "l1_data": 96.0, "lsu_requests": 11.0}
            | {"dram": 6.0, "global_sectors": 4e6, "global_sectors_excess": 3e6}
            | {"shared_wavefronts": 0, "shared_wavefronts_excess": 0},
            stalls={"lg_throttle": 88},
        ),
        "Memory",
        "uncoalesced",
        ("75 %", "excess"),
        "high",
    ),
    Case(
        "uncoalesced: only the L1 tag stage is full, Memory % says 42",
        stage_of(
            {"memory_throughput": 42.0, "l1": 83.0, "l1_data": 24.0, "lsu_requests": 6.0}
            | {"dram": 42.0, "l2": 41.0, "global_sectors": 5e6, "global_sectors_excess": 4e6},
            stalls={"lg_throttle": 54, "long_scoreboard": 41},
        ),
        "Memory",
        "uncoalesced",
        ("80 %", "L1 83.0 %"),
        "high",
    ),
    Case(
        "a basic set without source counters: inferred from wavefronts an instruction",
        stage_of({"memory_throughput": 88.0, "l1": 88.0, "l1_data": 88.0, "lsu_requests": 11.0}),
        "Memory",
        "uncoalesced",
        ("inferred: 8.0 wavefronts",),
        "medium",
    ),
    Case(
        "the same ratio, but the block has shared memory: not inferred",
        stage_of(
            {"memory_throughput": 88.0, "l1": 88.0, "l1_data": 88.0, "lsu_requests": 11.0}
            | {"shared_memory": 16384}
        ),
        "Memory",
        "l1",
        ("wavefronts",),
        "high",
    ),
    Case(
        "5.7 wavefronts an instruction are wide accesses: not inferred",
        stage_of({"memory_throughput": 74.0, "l1": 74.0, "l1_data": 74.0, "lsu_requests": 13.0}),
        "Memory",
        "l1",
        ("wavefronts",),
        "high",
    ),
    Case(
        "the highest roof, not the first: issue 66, L1 82 with bank conflicts",
        stage_of(
            {"sm_throughput": 66.0, "memory_throughput": 82.0, "issue": 66.0, "fma": 48.0}
            | {"l1": 82.0, "l1_data": 82.0, "l1_shared": 71.0, "lsu_requests": 33.0}
            | {"global_sectors": 2e6, "global_sectors_excess": 0}
            | {"shared_wavefronts": 8e6, "shared_wavefronts_excess": 2e6},
            stalls={"mio_throttle": 40},
        ),
        "Memory",
        "bank_conflict",
        ("25 %", "bank conflicts"),
        "high",
    ),
    Case(
        "DRAM at its roof and bytes wasted: DRAM stays the limiter",
        stage_of(
            {"dram": 87.0, "memory_throughput": 87.0, "l1": 61.0, "l1_data": 22.0}
            | {"global_sectors": 1e6, "global_sectors_excess": 550e3}
        ),
        "Memory",
        "dram",
        ("DRAM 87.0 %", "55 %", "wasted"),
        "high",
    ),
    Case(
        "a warm-up: every SM has blocks, but it lasts 2.2 µs",
        stage_of(
            {"duration": 2200.0, "grid_size": 330, "block_size": 16, "waves": 0.25}
            | {"sm_count": 33, "active_share": 22.0, "lanes": 16.0},
            stalls={"imc_miss": 68},
        ),
        "Latency",
        "small_launch",
        ("launch too small",),
        "low",
    ),
    Case(
        "one block; neither cycles nor throughput; bank conflicts stay a line",
        stage_of(
            ABSENT
            | {"duration": 3100.0, "grid_size": 1, "waves": 0.01, "sm_count": 60}
            | {"bank_conflicts": 300, "shared_wavefronts_counter": 400}
        ),
        "Latency",
        "underfilled",
        ("one block on 60 SMs",),
        "low",
    ),
    Case(
        "64 blocks on 80 SMs: the loss is exactly 20 %",
        stage_of(
            {"grid_size": 64, "sm_count": 80, "waves": 0.4, "active_share": 74.0, "issue": 38.0}
        ),
        "Latency",
        "underfilled",
        ("64 blocks on 80 SMs", "loss 20 %"),
        "high",
    ),
    Case(
        "a tail of 1.2 waves: loss 40 %, but the SMs idle only 28 %",
        stage_of(
            {"grid_size": 480, "sm_count": 100, "waves": 1.2, "active_share": 72.0, "issue": 41.0}
        ),
        "Latency",
        "tail",
        ("tail wave", "40 %", "at most 28 %"),
        "high",
    ),
    Case(
        "atomics on one address: mean atomic unit 2 %, busiest slice 33 %",
        stage_of(
            {"dram": 3.0, "l2": 6.0, "atomics": 2e5, "global_load_requests": 3e5}
            | {"global_store_requests": 0, "atomic_unit": 2.1, "atomic_unit_max": 33.3},
            stalls={"drain": 42, "long_scoreboard": 28},
        ),
        "Latency",
        "atomics",
        ("atomics serialise", "one L2 slice", "33.3 %"),
        "high",
    ),
    Case(
        "only DRAM reads were recorded, 48 %: no verdict",
        stage_of(ABSENT | {"dram": 48.0}, raw={"dram": READS}),
        "Unknown",
        "unknown",
        ("not decidable: missing", "tensor pipe"),
        "none",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.why)
def test_the_verdict_is_the_expected_one(case: Case) -> None:
    found = diagnose_stage(case.stage, Environment(), None)
    assert (found.bound, found.cause, found.confidence) == (
        case.bound,
        case.cause,
        case.confidence,
    )
    for word in case.words:
        assert word in found.limiter


def test_case_two_counters_are_one() -> None:
    found = diagnose_stage(CASES[0].stage, Environment(), None)
    assert any("one counter" in note and "not balanced" in note for note in found.notes)


def test_bank_conflicts_of_one_block_stay_a_line() -> None:
    found = diagnose_stage(CASES[10].stage, Environment(), None)
    assert any("bank conflicts: 75 %" in item.text for item in found.evidence)
