"""Options from a plan's fields, and plans from what was typed."""

from typing import Any

import pytest
from tests.support.fake_plan import CombineTiling, FakePlan, LatentTiling

from mla_var3.core.errors import BadArgument
from mla_var3.core.params import (
    PlanOption,
    build_plan,
    plan_options,
    problem_folder,
    problem_text,
    read_value,
    tiling_document,
)

OPTIONS = {option.name: option for option in plan_options(FakePlan)}


def typed(**words: str) -> dict[PlanOption, Any]:
    names = {name.replace("__", "."): text for name, text in words.items()}
    return {OPTIONS[name]: read_value(OPTIONS[name], text) for name, text in names.items()}


def test_every_field_is_an_option() -> None:
    problem = ["b", "s", "t", "h", "d", "k", "p", "dtype", "causal"]
    assert list(OPTIONS) == [*problem, "latent.tile_m", "latent.latency", "combine.tile_m"]
    b, latency = OPTIONS["b"], OPTIONS["latent.latency"]
    assert (b.kind, b.default, b.unit, b.stage) == (int, 32, "sequences", "")
    assert (latency.kind, latency.optional, latency.default) == (int, True, 3)
    assert all(option.help for option in OPTIONS.values())


def test_one_stage_needs_no_prefix() -> None:
    class One(FakePlan):
        TILINGS = {"latent": LatentTiling()}  # noqa: RUF012

    names = [option.name for option in plan_options(One)]
    assert names[-2:] == ["tile_m", "latency"]


def test_a_plan_with_what_was_typed() -> None:
    plan = build_plan(FakePlan, typed(b="2", causal="true", latent__tile_m="128"))
    assert plan == FakePlan(b=2, causal=True).with_tilings({"latent": LatentTiling(tile_m=128)})
    assert plan.tiling("combine") == CombineTiling()


def test_none_may_be_typed_where_it_may_be() -> None:
    plan = build_plan(FakePlan, typed(latent__latency="none"))
    assert plan.tiling("latent") == LatentTiling(latency=None)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ({"b": "0"}, "--b=0: must be at least 1"),
        ({"h": "-4"}, "--h=-4: must be at least 1"),
        ({"s": "9", "t": "4"}, "--s=9 is larger than --t=4: t counts the new tokens too"),
        ({"dtype": "int8"}, "--dtype=int8: one of bf16, fp16, fp32"),
        ({"b": "x"}, "--b needs a whole number, not 'x'"),
        ({"b": "1.5"}, "--b needs a whole number, not '1.5'"),
        ({"causal": "maybe"}, "--causal needs true or false, not 'maybe'"),
        ({"latent__tile_m": "-64"}, "--latent.tile_m=-64: must be at least 1"),
        ({"latent__tile_m": "0"}, "--latent.tile_m=0: must be at least 1"),
    ],
)
def test_what_cannot_be_is_one_line(words: dict[str, str], why: str) -> None:
    with pytest.raises(BadArgument) as error:
        build_plan(FakePlan, typed(**words))
    assert str(error.value) == why


def test_a_tile_that_does_not_fit_names_stage_tile_and_problem() -> None:
    with pytest.raises(BadArgument) as error:
        build_plan(FakePlan, typed(b="2", latent__tile_m="256"))
    assert str(error.value) == (
        "stage 'latent': tile_m=256 does not fit this problem "
        "(b=2 s=1 t=4096 h=128 d=128 k=512 p=64 bfloat16)"
    )


def test_the_problem_as_text_and_as_a_folder() -> None:
    plan = FakePlan(b=32, s=16, causal=True)
    assert problem_text(plan) == "b=32 s=16 t=4096 h=128 d=128 k=512 p=64 causal bfloat16"
    assert problem_folder(plan) == "b32_s16_t4096_h128_d128_k512_p64_causal_bf16"
    assert problem_folder(FakePlan()) == "b32_s1_t4096_h128_d128_k512_p64_bf16"


def test_a_tiling_says_whether_it_was_typed() -> None:
    plan = build_plan(FakePlan, typed(latent__tile_m="128"))
    latent = tiling_document(plan, "latent", plan.tiling("latent"))
    combine = tiling_document(plan, "combine", plan.tiling("combine"))
    assert (latent["source"], combine["source"]) == ("typed", "default")
    assert latent["tiling"] == {"tile_m": 128, "latency": 3}
    assert (latent["tuned_for"], combine["tuned_for"]) == (["sm_90"], [])
