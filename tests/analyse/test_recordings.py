"""Recorded kernels of known limit get the right verdict, whatever they are called."""

from collections.abc import Callable

import pytest
from msgspec import structs

from mla_var3.analyse.diagnose import diagnose
from mla_var3.core.device import Device
from mla_var3.core.diagnosis import Diagnosis
from mla_var3.core.record import Profile

Recorded = Callable[[str], Profile]

ZOO_A = {
    "copy_stream": ("Memory", "dram", ("DRAM", "at the roof")),
    "bank_conflict": ("Memory", "bank_conflict", ("shared-memory bank conflicts", "97 %")),
    "spill_heavy": ("Memory", "spill", ("register spill", "local memory")),
    "fma_bound": ("Compute", "fma", ("FMA pipe",)),
    "tail_wave": ("Latency", "tail", ("tail wave", "133 blocks on 132 SMs")),
    "pointer_chase": ("Latency", "underfilled", ("memory latency", "8 blocks on 132 SMs")),
    "hmma_bound": ("Compute", "tensor", ("tensor pipe", "HMMA", "wgmma has up to 1.5 x more")),
    "strided_read": ("Memory", "uncoalesced", ("uncoalesced", "L2 97.3 %")),
}
ATTENTION = {
    "fa_fwd": ("Latency", "phases", ("tensor 48.8 % + issue 35.7 % = 84 %", "softmax")),
    "copy_k": ("Memory", "dram", ("84.0 % of peak = 95 %", "only fewer bytes help")),
    "nvjet": ("Compute", "tensor", ("93.5 % busy (HGMMA)", "1.56 of 1.98 GHz, 21 %")),
}
CUTILE = {"flash_mla": ("Latency", "stall_long_scoreboard", ("memory latency",))}
PREDICTED = {
    "triton_ops": {
        "softmax_rows": ("Memory", "dram", ("DRAM",)),
        "matmul_pipelined": ("Compute", "tensor", ("HGMMA",)),
        "gather_rows": ("Latency", "block_rate", ("starts one every 157 cycles",)),
        "transpose_naive": ("Memory", "uncoalesced", ("uncoalesced",)),
    },
    "zoo_b": {
        "fill_chain": ("Latency", "block_rate", ("starts one every 145 cycles",)),
        "atomic_one_address": ("Latency", "atomics", ("atomics serialise", "79.7 %")),
        "sfu_bound": ("Compute", "xu", ("SFU (XU) pipe 99.8 %",)),
        "divergent": ("Compute", "divergence", ("4.3 of 32 lanes",)),
        "l2_reread": ("Memory", "l2", ("L2 80.6 %",)),
        "shared_wavefronts": ("Memory", "l1", ("wavefronts, shared-memory",)),
        "barrier_bound": ("Latency", "stall_barrier", ("synchronisation", "89 %")),
        "fp64_bound": ("Compute", "fp64", ("FP64 pipe 98.4 %",)),
        "few_in_flight": ("Latency", "stall_long_scoreboard", ("memory latency",)),
    },
    "zoo_a": ZOO_A,
    "attention_full": ATTENTION,
    "cutile_mla": CUTILE,
}


def named(profile: Profile, device: Device, part: str) -> Diagnosis:
    """The diagnosis of the launch whose name begins so."""
    found = [s for s in diagnose(profile, device).stages if s.stage.startswith(part)]
    assert found, part
    return found[0]


@pytest.mark.parametrize(
    ("report", "kernel"), [(r, k) for r, kernels in PREDICTED.items() for k in kernels]
)
def test_the_limit_is_named(recorded: Recorded, h200: Device, report: str, kernel: str) -> None:
    bound, cause, words = PREDICTED[report][kernel]
    found = named(recorded(report), h200, kernel)
    assert (found.bound, found.cause, found.confidence) == (bound, cause, "high")
    for word in words:
        assert word in found.limiter


@pytest.mark.parametrize("report", list(PREDICTED))
def test_names_do_not_matter(recorded: Recorded, h200: Device, report: str) -> None:
    profile = recorded(report)
    renamed = structs.replace(
        profile,
        stages=tuple(
            structs.replace(stage, name=f"x{number}", kernel=f"x{number}(int)", nvtx=())
            for number, stage in enumerate(profile.stages)
        ),
    )
    before, after = diagnose(profile, h200), diagnose(renamed, h200)
    for old, new in zip(before.stages, after.stages, strict=True):
        assert structs.replace(new, stage=old.stage) == old
    assert (after.bound, after.confidence, after.total_ns) == (
        before.bound,
        before.confidence,
        before.total_ns,
    )


def test_only_wgmma_and_not_a_pipeline_helps_a_full_hmma_kernel(
    recorded: Recorded, h200: Device
) -> None:
    found = named(recorded("zoo_a"), h200, "hmma_bound")
    assert [item.name for item in found.opportunities] == ["use wgmma instead of mma.sync"]
    assert found.opportunities[0].gain_pct == pytest.approx(100.0 / 3.0, abs=0.1)


def test_a_copy_at_its_roof_has_no_opportunity(recorded: Recorded, h200: Device) -> None:
    found = named(recorded("attention_full"), h200, "copy_k")
    assert found.opportunities == ()
    assert found.key_issue == "at the roof: 95 % of the measured copy rate"


def test_the_alarms_of_the_spec_are_answered(recorded: Recorded, h200: Device) -> None:
    texts = [
        item.text for item in named(recorded("attention_full"), h200, "fa_fwd").counter_evidence
    ]
    assert "occupancy 12.5 %: by design (1 CTA/SM: 128 KB smem, 142 registers)" in texts
    assert "L2 hit 73.0 %: no issue, DRAM is only 8.8 % busy" in texts
    matmul = named(recorded("attention_full"), h200, "nvjet")
    assert any("is L1, not DRAM (20.2 %)" in item.text for item in matmul.counter_evidence)


def test_the_seed_class_stays_as_evidence(recorded: Recorded, h200: Device) -> None:
    found = named(recorded("zoo_a"), h200, "bank_conflict")
    assert found.seed_class == "Latency"
    assert found.evidence[0].text == "by TC 0.0 % and DRAM 0.0 % alone: Latency"


def test_the_latent_kernel_waits_at_its_tma_load(recorded: Recorded, h200: Device) -> None:
    found = named(recorded("cutile_mla"), h200, "flash_mla")
    assert "long_scoreboard is 48 %" in found.limiter
    assert found.where is not None
    assert not found.where.library
    assert (found.where.file, found.where.line) == ("fa_ct.py", 36)
    assert found.where.samples_pct == pytest.approx(26.4, abs=3.0)


def test_the_whole_is_the_class_of_most_time(recorded: Recorded, h200: Device) -> None:
    whole = diagnose(recorded("attention_full"), h200)
    assert whole.bound == "Compute"  # 1.42 of 2.29 ms
    assert whole.total_ns == 612768 + 259648 + 1419744
    assert whole.root_cause.startswith("nvjet") and "(62 % of the time)" in whole.root_cause
    best = whole.opportunities[0]
    assert best.name.startswith("fa_fwd: overlap softmax")
    assert best.gain_pct == pytest.approx(53.3 * 612768 / whole.total_ns, abs=0.1)
