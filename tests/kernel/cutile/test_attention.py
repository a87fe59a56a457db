"""Every cuTile version in the interpreter against float64, on shapes that fit no tile."""

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("cuda.tile", reason="cuTile is not installed")

from tests.kernel.cutile.kernels import MODULES, PLANS, changed, errors, run  # noqa: E402
from tests.kernel.torch.float64 import decompressed, latent  # noqa: E402

from mla_var3.core.errors import BadArgument  # noqa: E402
from mla_var3.core.plan import stages_of  # noqa: E402

pytestmark = pytest.mark.kernel

SHAPES: tuple[dict[str, Any], ...] = (
    {"b": 1, "h": 4, "s": 3, "t": 200},
    {"b": 2, "h": 16, "s": 1, "t": 65},
    {"b": 1, "h": 16, "s": 5, "t": 70, "causal": True},
    {"b": 2, "h": 3, "s": 2, "t": 64},
    {"b": 1, "h": 1, "s": 1, "t": 1},
    {"b": 1, "h": 5, "s": 9, "t": 130, "dtype": "fp16", "causal": True},
    {"b": 1, "h": 2, "s": 131, "t": 300, "d": 32, "k": 128, "p": 16, "causal": True},
    {"b": 1, "h": 7, "s": 67, "t": 67, "d": 40, "k": 96, "p": 24, "causal": True},
    {"b": 1, "h": 129, "s": 1, "t": 129, "d": 32, "k": 64, "p": 16},
)
BOUNDS = {"bf16": (5e-3, 2e-2), "fp16": (1.25e-3, 5e-3)}


def expected(plan: Any, inputs: tuple[Any, ...]) -> Any:
    return (latent if plan.KERNEL == "flash_mla" else decompressed)(plan, inputs)


@pytest.mark.parametrize("sizes", SHAPES, ids=str)
@pytest.mark.parametrize("version", PLANS)
def test_every_version_on_shapes_that_fit_no_tile(version: str, sizes: dict[str, Any]) -> None:
    plan = PLANS[version](**sizes)
    inputs, result = run(plan, seed=3)
    relative, worst = errors(result, expected(plan, inputs))
    most, most_of_a_row = BOUNDS[plan.dtype]
    assert relative <= most
    assert worst <= most_of_a_row


@pytest.mark.parametrize("splits", [1, 2, 3, 5])
@pytest.mark.parametrize("causal", [False, True])
def test_any_number_of_splits_gives_the_same(splits: int, causal: bool) -> None:
    plan = PLANS["flash_mla_v1"](b=1, h=9, s=20, t=290, d=32, k=64, p=16, causal=causal)
    tiling = plan.latent_tiling()
    plan = plan.with_tilings({"latent": type(tiling)(n_split=splits)})
    inputs, result = run(plan)
    assert stages_of(plan.plan_empty())[0].grid[2] == splits
    assert errors(result, expected(plan, inputs))[0] <= 5e-3


def test_a_split_in_which_early_rows_see_no_key_counts_nothing() -> None:
    """s = t and many splits: the last splits hold keys that only the last tokens see."""
    plan = PLANS["flash_mla_v1"](b=1, h=4, s=300, t=300, d=32, k=64, p=16, causal=True)
    plan = plan.with_tilings({"latent": type(plan.latent_tiling())(n_split=5, tile_m=32)})
    inputs, result = run(plan)
    relative, worst = errors(result, expected(plan, inputs))
    assert relative <= 5e-3 and worst <= 2e-2


def test_every_candidate_gives_the_same() -> None:
    for name, kind in PLANS.items():
        plan = kind(b=1, h=6, s=4, t=150, d=32, k=64, p=16, causal=True)
        for stage, candidates in plan._autotune_configs().items():
            if stage not in {kernel.name for kernel in stages_of(plan.plan_empty())}:
                continue
            for tiling in candidates:
                assert tiling.validate(plan), (name, tiling)
                inputs, result = run(plan.with_tilings({stage: tiling}))
                assert errors(result, expected(plan, inputs))[0] <= 5e-3, (name, tiling)


PLANTED = (
    ("flash_mla_v1", "scores = hide(score(", "scores = (lambda s, *_: s)(score("),  # no mask
    ("flash_mla_v1", "weigh(scores, scale, top)", "weigh(scores, 1.0 / scale, top)"),
    ("flash_mla_v1", "range(first, whole)", "range(first + 1, whole)"),
    ("flash_mla_v1", "parts[c] * rescale", "parts[c]"),
    ("flash_mla_v1", "history + 1 + tokens", "history + 2 + tokens"),
    ("flash_mla_v1", "weight = ct.exp2(", "weight = 1.0 + 0.0 * ct.exp2("),  # LSE does not count
    ("flash_mla", "scores = hide(scores, j * keys, limit)", "pass"),
    ("flash_mla", "weigh(scores, scale, top)", "weigh(scores, 1.0 / scale, top)"),
    ("flash_mla", "ct.cdiv(last_key, keys)", "ct.cdiv(last_key, keys) - 1"),
    ("flash_mla", "result * rescale", "result"),
    ("flash_mla", "history + 1 + tokens", "history + tokens"),
    ("flash_attention", "hide(scores, j * keys, limit)", "hide(scores, j * keys, t + keys)"),
    ("flash_attention", "result * rescale", "result"),
    ("flash_attention", "history + 1 + tokens", "history + 2 + tokens"),
    ("flash_attention_v1", "range(whole, ", "range(whole + 1, "),
    ("flash_attention_v1", "total * rescale", "total"),
    ("flash_attention_v1", "first_limit = ct.minimum(t,", "first_limit = keys + ct.minimum(t,"),
)


@pytest.mark.parametrize(("version", "old", "new"), PLANTED)
def test_a_planted_bug_breaks_the_bound(
    version: str, old: str, new: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = PLANS[version](b=1, h=4, s=5, t=200, d=32, k=64, p=16, causal=True)
    assert errors(*_both(plan))[0] <= 5e-3
    for name, kernel in changed(version, old, new, tmp_path).items():
        monkeypatch.setattr(MODULES[version], name, kernel)
    relative, worst = errors(*_both(plan))
    assert not (relative <= 5e-3 and worst <= 2e-2)  # a NaN passes no bound


def _both(plan: Any) -> tuple[Any, Any]:
    inputs, result = run(plan, seed=1)
    return result, expected(plan, inputs)


def test_large_scores_stay_finite() -> None:
    """Scores of several thousand: only the running maximum keeps exp2 in range."""
    for kind in PLANS.values():
        plan = kind(b=1, h=3, s=4, t=150, d=32, k=64, p=16, causal=True)
        inputs = tuple(60 * x for x in plan.prepare_inputs("cpu", 5))
        stages = stages_of(plan.plan(*inputs))
        for stage in stages:
            stage.launch()
        result, reference = stages[-1].outputs[0], plan.reference_fn(*inputs)
        assert result.isfinite().all()
        assert errors(result, reference)[0] <= 2e-2  # ties between keys turn on float32 sums


@pytest.mark.parametrize("version", PLANS)
def test_float32_and_tensors_with_gaps_are_refused(version: str) -> None:
    with pytest.raises(BadArgument, match="--dtype=fp32: cuTile kernels take bf16 or fp16"):
        PLANS[version](dtype="fp32").validate()
    plan = PLANS[version](b=1, h=2, s=1, t=16, d=16, k=16, p=16)
    *inputs, last = plan.prepare_inputs("cpu")
    compile_to_files = stages_of(plan.plan(*inputs, last.mT.contiguous().mT))[0].compile_to_files
    assert compile_to_files is not None
    with pytest.raises(BadArgument, match="contiguous"):
        compile_to_files(Path("unused"), "sm_90")
