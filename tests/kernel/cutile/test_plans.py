"""Stages of cuTile plans: work, grids, estimates, and where they run."""

import subprocess
import sys
import time
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("cuda.tile", reason="cuTile is not installed")

from tests.kernel.cutile.kernels import PLANS, run

from mla_var3.core.plan import stages_of
from mla_var3.kernel.cutile import backend

pytestmark = pytest.mark.kernel

TINY: tuple[dict[str, Any], ...] = (
    {"b": 1, "s": 1, "t": 257, "h": 1, "d": 1, "k": 1, "p": 1},
    {"b": 2, "s": 3, "t": 257, "h": 2, "d": 4, "k": 7, "p": 3},
    {"b": 2, "s": 3, "t": 257, "h": 2, "d": 4, "k": 7, "p": 3, "causal": True, "dtype": "fp16"},
)


@pytest.mark.parametrize("sizes", TINY, ids=str)
@pytest.mark.parametrize("version", PLANS)
def test_work_of_attention_counted_pair_by_pair(version: str, sizes: dict[str, Any]) -> None:
    plan = PLANS[version](**sizes)
    score_size = (plan.d if "attention" in version else plan.k) + plan.p
    value_size = score_size - plan.p
    flops = 0
    for _ in range(plan.b * plan.h):
        for query in range(plan.s):
            for key in range(plan.t):
                if not plan.causal or key <= plan.t - plan.s + query:
                    flops += 2 * score_size + 2 * value_size
    assert plan._algorithmic_flops_bytes().flops == flops
    assert stages_of(plan.plan_empty())[0].cost.flops == flops


@pytest.mark.parametrize("sizes", TINY, ids=str)
def test_work_of_the_stages_of_split_attention(sizes: dict[str, Any]) -> None:
    """Partial results leave the first stage and enter the second; inputs and result once."""
    plan = PLANS["flash_mla_v1"](**sizes)
    latent, combine = plan.plan_empty().stages
    splits = latent.grid[2]
    assert splits == 2
    partial_bytes = multiply_adds = result_bytes = 0
    for _row in range(plan.b * plan.s * plan.h):
        for _split in range(splits):
            partial_bytes += 4  # log-sum-exp
            for _column in range(plan.k):
                partial_bytes += 2
                multiply_adds += 1
        result_bytes += 2 * plan.k
    inputs = plan._algorithmic_flops_bytes().read_bytes
    assert (latent.cost.read_bytes, latent.cost.write_bytes) == (inputs, partial_bytes)
    assert (combine.cost.read_bytes, combine.cost.write_bytes) == (partial_bytes, result_bytes)
    assert combine.cost.flops == 2 * multiply_adds


def test_grids_of_the_standard_problem() -> None:
    """b=32, h=128: 64 rows a block for latent attention, one head and query tile otherwise."""
    grids = {
        version: stages_of(kind(s=3, t=4096).plan_empty())[0].grid
        for version, kind in PLANS.items()
    }
    assert grids == {
        "flash_mla": (6, 32),
        "flash_mla_v1": (6, 32, 2),
        "flash_attention": (1, 128, 32),
        "flash_attention_v1": (1, 128, 32),
    }


def test_tilings_that_do_not_fit_are_refused() -> None:
    for kind in PLANS.values():
        plan = kind(t=100)
        for tiling in kind.TILINGS.values():
            assert tiling.validate(plan)
            for changes in ({"tile_m": 48}, {"tile_m": 0}, {"tile_m": 4096}):
                assert not type(tiling)(**changes).validate(plan)
    latent = type(PLANS["flash_mla_v1"].TILINGS["latent"])
    assert latent(n_split=2).validate(PLANS["flash_mla_v1"](t=100))
    assert not latent(n_split=3).validate(PLANS["flash_mla_v1"](t=100))  # two tiles of 64 keys


@pytest.mark.parametrize("version", PLANS)
def test_an_empty_plan_needs_no_torch(version: str) -> None:
    kind = PLANS[version]
    code = (
        f"import sys; from {kind.__module__} import {kind.__name__} as P; p = P(); p.validate(); "
        "k = p.plan_empty(); print(p.tilings().keys(), 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip().endswith("False"), done.stderr
    assert all(kernel.launch is None for kernel in stages_of(kind().plan_empty()))


def test_full_size_is_over_a_minute_in_the_interpreter_and_a_small_one_is_not() -> None:
    for kind in PLANS.values():
        full = stages_of(kind(s=16).plan_empty())
        small = stages_of(kind(b=1, h=4, s=3, t=200).plan_empty())
        assert sum(kernel.cpu_seconds or 0 for kernel in full) > 60
        assert 0 < sum(kernel.cpu_seconds or 0 for kernel in small) < 2


@pytest.mark.parametrize("version", PLANS)
def test_the_estimate_is_of_the_right_size(version: str) -> None:
    """Meant to be within 2; a busy machine, or another, gets 8."""
    pytest.importorskip("torch", reason="torch is not installed")
    plan = PLANS[version](b=2, h=32, s=4, t=512)
    run(plan)
    start = time.process_time()
    run(plan)
    taken = time.process_time() - start
    estimate = sum(kernel.cpu_seconds or 0 for kernel in stages_of(plan.plan_empty()))
    assert estimate / 8 < taken < estimate * 8


def test_what_can_run_where() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    assert backend.is_available() and backend.can_run("cpu")
    assert backend.can_run("cuda:0") == torch.cuda.is_available()
    assert backend.sm_count(torch.zeros(1)) == backend.DEFAULT_SMS == 132


def test_automatic_splits_follow_the_sms_of_the_target() -> None:
    """64 row tiles: 2 splits fill 132 SMs with 128 blocks; 5 fill 170 SMs twice with 320."""
    plan = PLANS["flash_mla_v1"](b=32, s=1, t=4096)
    grids = {sms: stages_of(plan.for_sms(sms).plan_empty())[0].grid for sms in (None, 132, 170)}
    assert grids[None] == grids[132] == (2, 32, 2)
    assert grids[170] == (2, 32, 5)


@pytest.mark.parametrize("tail", [True, False])
def test_only_masked_tiles_are_loaded_as_tail_tma_says(
    tail: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """100 keys in tiles of 64: one whole tile in four chunks and its rope part, one masked."""
    from mla_var3.kernel.cutile.interpreter import memory

    seen: list[tuple[int, Any]] = []

    def load(array: Any, index: Any, shape: Any, **words: Any) -> Any:
        if array.shape[1] == 100:
            seen.append((index[1], words["allow_tma"]))
        return memory.load(array, index, shape, **words)

    monkeypatch.setitem(memory.OPERATIONS, "load", load)
    tiling = replace(PLANS["flash_mla_v1"].TILINGS["latent"], n_split=1, tail_tma=tail)
    plan = PLANS["flash_mla_v1"](b=1, s=1, t=100, h=1, k=64).with_tilings({"latent": tiling})
    run(plan)
    assert set(seen) == {(0, None), (1, tail)}
    assert len(seen) == 10
