"""Words, gates and exit codes of comparisons whose changes and clocks are chosen."""

import math
import random

import pytest
from msgspec import structs
from tests.support.comparisons import (
    SETTINGS,
    WHERE,
    changes,
    comparison_of,
    quads_of,
    run_of,
    shape_of,
)
from tests.support.noise import NoisyDevice, NoisyTimer
from tests.support.timings import gpu_timing

from mla_var3.analyse.comparison import exit_code, judge
from mla_var3.analyse.comparison_gate import conditions_of, differences
from mla_var3.conf import table
from mla_var3.core import rank
from mla_var3.core.comparison import Comparison, Floors, Shape, StoredSeries
from mla_var3.core.comparison_verdict import ShapeVerdict
from mla_var3.core.record import Environment, Metric, PlanIdentity, Profile, Stage
from mla_var3.core.timing import WarmUp
from mla_var3.measure import quads, timing

EQUAL = (1392.0, 1392.0)


def verdict(*runs, **more) -> ShapeVerdict:  # type: ignore[no-untyped-def]
    return judge(comparison_of(shape_of(*runs, **more))).shapes[0]


def noise(ns: float, mhz: float | None, count: int = 300) -> StoredSeries:
    chance = random.Random(ns)
    samples = tuple(ns * math.exp(chance.gauss(0.0, 0.003)) for _ in range(count))
    return StoredSeries(samples_ns=samples, mhz=mhz)


@pytest.mark.parametrize(
    ("pct", "word"), [(-3.4, "faster"), (3.4, "slower"), (0.2, "no change"), (-0.5, "no change")]
)
def test_time_and_cycles_agree(pct: float, word: str) -> None:
    found = verdict(run_of(pct, mhz=EQUAL))
    assert (found.word, found.detail) == (word, "")
    assert found.time is not None and found.cycles is not None
    assert found.time.change_pct == pytest.approx(found.cycles.change_pct)
    assert (found.a_ns, found.a_mhz, found.b_mhz) == (1e6, 1392.0, 1392.0)
    assert found.b_ns == pytest.approx(1e6 * (1 + pct / 100), rel=1e-3)


@pytest.mark.parametrize(
    ("pct", "b_mhz", "word", "detail"),
    [
        # cycles change by time and clock together: 0.979 * 1420 / 1392 = 0.9987
        (-2.1, 1420.0, "no change", "clock differs: A 1392, B 1420 MHz"),
        (2.1, 1364.0, "no change", "clock differs: A 1392, B 1364 MHz"),
        # 0.894 * 1355 / 1392 = 0.870: 2.4 % more is gained in cycles than in time
        (-10.6, 1355.0, "faster", "power-limited: fewer cycles than time shows"),
        (-10.6, 1390.0, "faster", ""),
        # 1.001 * 1364 / 1392 = 0.981
        (0.1, 1364.0, "no change", "fewer cycles, same time (power-limited)"),
        (0.1, 1420.0, "no change", ""),
        # 0.97 * 1460 / 1392 = 1.017
        (-3.0, 1460.0, "inconclusive",
         "time says faster, cycles say slower; clock differs: A 1392, B 1460 MHz"),
    ],
)  # fmt: skip
def test_cycle_rule(pct: float, b_mhz: float, word: str, detail: str) -> None:
    found = verdict(run_of(pct, mhz=(1392.0, b_mhz)))
    assert (found.word, found.detail) == (word, detail)


def test_cycles_that_decide_nothing_leave_the_word_and_are_told() -> None:
    """0.97 * 1425 / 1392 = 0.993: its interval of ± 0.5 % crosses the floor."""
    found = verdict(run_of(-3.0, wide=2.0, mhz=(1392.0, 1425.0)))
    assert found.word == "faster"
    assert found.detail.startswith("cycles inconclusive: −0.7 % [−1.")


def test_memory_bound_kernels_skip_the_cycle_rule_and_say_so() -> None:
    run = run_of(-2.1, mhz=(1392.0, 1420.0))
    found = verdict(run, memory_bound=True, memory_bound_by="the model")
    assert (found.word, found.detail) == ("faster", "")
    assert any("cycle rule is skipped (by the model)" in note for note in found.notes)
    assert verdict(run, memory_bound=False).word == "no change"


def test_a_large_change_without_clocks_is_told_and_fails_a_gate() -> None:
    """As is not so in nvbench, which calls +30 % without clocks ambiguous and exits 0."""
    compared = judge(comparison_of(shape_of(run_of(30.0))))
    found = compared.shapes[0]
    assert (found.word, found.detail) == ("slower", "clocks unverified")
    assert found.no_cycles == "nvidia-smi is not on PATH"
    assert exit_code(compared, gate=True) == 10


def test_some_legs_without_a_clock() -> None:
    run = run_of(0.0, mhz=EQUAL)
    first = run.quads[0]
    maimed = structs.replace(
        first, legs=(structs.replace(first.legs[0], mhz=None), *first.legs[1:])
    )
    found = verdict(structs.replace(run, quads=(maimed, *run.quads[1:])))
    assert (found.cycles, found.no_cycles) == (None, "the clock is known of 47 of 48 legs")


def test_two_builds_that_differ_make_it_unreliable() -> None:
    for check, word in ((0.4, "faster"), (1.5, "unreliable"), (-1.5, "unreliable")):
        compared = judge(comparison_of(shape_of(run_of(-3.0, check=check, mhz=EQUAL))))
        assert compared.shapes[0].word == word
        assert exit_code(compared) == (6 if word == "unreliable" else 0)
    assert compared.shapes[0].detail.startswith("A against a second build of A: −1.5 % [−1.8")
    assert any("two builds of the same code differ" in note for note in compared.notes)


def test_the_floor_is_the_largest_of_three() -> None:
    for floors, word in (
        (Floors(least_pct=1.0), "slower"),
        (Floors(least_pct=1.0, machine_pct=2.4), "no change"),
        (Floors(least_pct=1.0, typed_pct=2.4), "no change"),
        (Floors(least_pct=1.0, machine_pct=1.5, typed_pct=1.2), "slower"),
    ):
        compared = comparison_of(shape_of(run_of(2.0, mhz=EQUAL)), floors=floors)
        found = judge(compared).shapes[0]
        assert (found.word, found.floor_pct) == (word, floors.pct)


def test_a_run_that_was_stopped_says_nothing() -> None:
    found = verdict(run_of(3.0, count=11))
    assert found.word == "inconclusive"
    assert found.detail == "11 quads, the first look needs more"
    assert found.time is None
    unsure = verdict(run_of(0.9, count=20, wide=4.0))
    assert unsure.word == "inconclusive"
    assert unsure.time is not None and unsure.time.n == 12


def test_three_processes_must_agree() -> None:
    agreed = verdict(*(run_of(pct, mhz=EQUAL) for pct in (3.0, 3.2, 3.1)))
    assert agreed.word == "slower"
    assert agreed.time is not None
    assert agreed.time.change_pct == pytest.approx(3.1, abs=0.05)
    singles = [verdict(run_of(pct)).time for pct in (3.0, 3.2)]
    assert (agreed.time.low_pct, agreed.time.high_pct) == (
        singles[0].low_pct,  # type: ignore[union-attr]
        singles[1].high_pct,  # type: ignore[union-attr]
    )
    apart = verdict(run_of(3.0, mhz=EQUAL), run_of(3.2, mhz=EQUAL), run_of(0.1, mhz=EQUAL))
    assert apart.word == "inconclusive"
    assert apart.detail == "differs between processes: slower, slower, no change"
    assert verdict(run_of(3.0), run_of(3.0, check=2.0)).word == "unreliable"


def test_several_shapes_are_counted_and_averaged() -> None:
    """ln of 0.893, 0.894 and 0.997, over three; intervals of 99 % in quadrature."""
    pcts = (-10.7, -10.6, -0.3)
    shapes = [shape_of(run_of(pct, mhz=EQUAL), params={"s": s}) for s, pct in enumerate(pcts)]
    found = judge(comparison_of(*shapes))
    assert [shape.word for shape in found.shapes] == ["faster", "faster", "no change"]
    assert found.counts == {"faster": 2, "slower": 0, "no change": 1, "inconclusive": 0}
    singles = [rank.signed_rank_interval([math.log(r) for r in changes(p)], 0.99) for p in pcts]
    mean = sum(s.estimate for s in singles) / 3
    below = math.sqrt(sum((s.estimate - s.low) ** 2 for s in singles)) / 3
    assert found.mean is not None
    assert found.mean.change_pct == pytest.approx(100 * math.expm1(mean), abs=1e-6)
    assert found.mean.low_pct == pytest.approx(100 * math.expm1(mean - below), abs=1e-6)
    assert found.mean.low_pct > min(-10.7, found.shapes[0].time.low_pct)  # type: ignore[union-attr]


def test_a_slower_shape_is_not_hidden_by_the_mean() -> None:
    shapes = [shape_of(run_of(pct), params={"s": s}) for s, pct in enumerate((-20.0, -20.0, 2.0))]
    found = judge(comparison_of(*shapes))
    assert found.mean is not None and found.mean.high_pct < -10.0
    assert found.counts["slower"] == 1
    assert exit_code(found, gate=True) == 10


def test_shapes_at_different_looks_are_averaged_at_the_lower_level() -> None:
    shapes = (
        shape_of(run_of(3.0), params={"s": 1}),
        shape_of(run_of(0.9, 30, 4.0), params={"s": 2}),
    )
    found = judge(comparison_of(*shapes))
    assert [shape.runs[0].looks[-1].quads for shape in found.shapes] == [12, 30]
    assert found.mean is not None
    assert 96.0 <= found.mean.level_pct < 99.0
    alone = rank.signed_rank_interval([math.log(r) for r in changes(3.0)], 0.96)
    other = rank.signed_rank_interval([math.log(r) for r in changes(0.9, 30, 4.0)], 0.96)
    both = rank.mean_interval([alone, other])
    assert found.mean.high_pct == pytest.approx(100 * math.expm1(both.high), abs=1e-6)


def test_one_of_twenty_chances_is_no_finding() -> None:
    """p is 0.0106 at the second look: times 1.25 enough for one shape, times 20 not for many."""
    chance = random.Random(11)
    weak = [1.0 + chance.gauss(1.3, 3.0) / 100.0 for _ in range(30)]
    run = structs.replace(run_of(0.0), quads=quads_of(weak), self_check=())
    alone = judge(comparison_of(shape_of(run)))
    assert alone.shapes[0].word == "slower"
    others = [shape_of(run_of(0.0), params={"s": s}) for s in range(19)]
    many = judge(comparison_of(shape_of(run, params={"s": 99}), *others))
    found = many.shapes[0]
    assert found.word == "inconclusive"
    assert found.detail == "slower alone, not as one of 20 shapes (Holm)"
    assert found.p == alone.shapes[0].p
    assert found.p == pytest.approx(1.25 * 0.010598260909)
    assert found.holm_p == pytest.approx(20 * 1.25 * 0.010598260909)


@pytest.mark.parametrize(
    ("shapes", "plain", "gate"),
    [
        ([run_of(-3.0)], 0, 0),
        ([run_of(0.0)], 0, 0),
        ([run_of(3.0)], 0, 10),
        ([run_of(0.9, 30, 4.0)], 0, 11),
        ([run_of(3.0), run_of(0.9, 30, 4.0)], 0, 10),
        ([run_of(3.0), run_of(3.0, check=2.0)], 6, 6),
        (["unlike", run_of(3.0, check=2.0)], 12, 12),
        (["wrong", "unlike", run_of(3.0)], 4, 4),
        (["wrong"], 4, 4),
        (["unlike"], 12, 12),
    ],
)
def test_exit_codes(shapes: list[object], plain: int, gate: int) -> None:
    warm = structs.replace(WHERE, cache="warm")
    made = {
        "wrong": shape_of(failure="B gives wrong results: relative error 0.3", outputs={}),
        "unlike": Shape(a=WHERE, b=warm),
    }
    of_runs = [made[s] if isinstance(s, str) else shape_of(s) for s in shapes]
    found = judge(comparison_of(*of_runs))
    assert (exit_code(found), exit_code(found, gate=True)) == (plain, gate)


def test_wrong_results_have_no_ratio() -> None:
    found = verdict(failure="B gives wrong results: relative error 0.3", outputs={})
    assert (found.word, found.time, found.a_ns) == ("failed", None, None)
    assert found.detail == "B gives wrong results: relative error 0.3"


def test_strict_refuses_what_did_not_settle_or_was_shared() -> None:
    unsettled = WarmUp(calls=9, busy_ns=5e9, settled=False, window_ns=(1.1e8, 1.0e8, 0.9e8))
    for more in ({"warm_up": unsettled}, {"shared_gpu": True}):
        found = judge(comparison_of(shape_of(run_of(-3.0, mhz=EQUAL, **more))))
        assert found.shapes[0].word == "faster"
        assert found.shapes[0].doubts[0] in found.shapes[0].notes
        assert (exit_code(found), exit_code(found, strict=True)) == (0, 6)
    assert exit_code(judge(comparison_of(shape_of(run_of(-3.0)))), strict=True) == 0


def test_other_sizes_tools_and_caches_are_not_comparable() -> None:
    """Issue 360150 of NVIDIA's forum: 11.15 µs in ncu, 7.0 µs in nsys, and the sizes differed."""
    ncu, nsys = (
        Profile(
            mode=mode,
            status="OK",
            stages=(Stage(name="k", kernel="k", launch=0, metrics={"duration": time}),),
            environment=Environment(device="NVIDIA H200", driver="580.1", clocks_locked=locked),
            plan=PlanIdentity(kernel="gemm", version="", params={"m": m, "n": 512}),
        )
        for mode, time, locked, m in (
            ("ncu", Metric(11150, "ns", "ncu", "gpu__time_duration.sum"), True, 128),
            ("nsys", Metric(7000, "ns", "nsys", "end - start"), False, 64),
        )
    )
    a, b = conditions_of(ncu, None), conditions_of(nsys, None)
    found = differences(a, b)
    assert found == (
        "timed by: ncu → nsys",
        "m: 128 → 64",
        "cache: flushed by ncu → not told",
        "timer: gpu__time_duration.sum, one launch → start to end of kernels",
        "clocks: locked → not locked",
    )
    compared = judge(comparison_of(Shape(a=a, b=b)))
    assert (compared.shapes[0].word, compared.shapes[0].differs) == ("not comparable", found)
    assert (compared.shapes[0].time, compared.mean) == (None, None)
    assert exit_code(compared) == 12


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("gpu", "NVIDIA H100 80GB HBM3", "GPU: NVIDIA H200 → NVIDIA H100 80GB HBM3"),
        ("power_limit_w", 500.0, "power limit: 700 W → 500 W"),
        ("power_limit_w", None, "power limit: 700 W → not told"),
        ("driver_major", "575", "driver: 580 → 575"),
        ("params", WHERE.params | {"dtype": "float16"}, "dtype: bfloat16 → float16"),
        ("params", {"b": 32, "s": 16, "t": 4096}, "dtype: bfloat16 → not told"),
        ("cache", "warm", "cache: cold → warm"),
        ("regime", "burst", "regime: sustained → burst"),
        ("timer", "CUDA graph", "timer: CUDA events → CUDA graph"),
        ("clocks", "locked", "clocks: not locked → locked"),
        ("seed", 1, "input seed: 0 → 1"),
        ("distribution", "uniform", "input distribution: normal → uniform"),
        ("tool", "nsys", "timed by: event → nsys"),
    ],
)
def test_each_condition_alone_forbids_it(field: str, value: object, text: str) -> None:
    other = structs.replace(WHERE, **{field: value})
    assert differences(WHERE, WHERE) == ()
    assert differences(WHERE, other) == (text,)
    assert judge(comparison_of(Shape(a=WHERE, b=other, runs=(run_of(3.0),)))).shapes[0].word == (
        "not comparable"
    )


def test_every_condition_is_compared() -> None:
    assert {entry["key"] for entry in table("compare")["conditions"]} == set(
        WHERE.__struct_fields__
    )


def test_conditions_of_a_timed_profile() -> None:
    whole = Stage(
        name="end to end",
        kernel="end to end",
        launch=0,
        metrics={"duration": Metric(1e6, "ns", "event", "median of samples")},
    )
    profile = Profile(
        mode="annotation",
        status="OK",
        stages=(structs.replace(whole, name="latent"),),
        end_to_end=whole,
        environment=Environment(device="NVIDIA H200", clocks_locked=False),
        plan=PlanIdentity(kernel="flash_mla", version="v1", params={"b": 32}),
    )
    found = conditions_of(profile, gpu_timing([1e6] * 10))
    told = (found.tool, found.driver_major, found.cache, found.timer, found.clocks, found.seed)
    assert told == ("event", "580", "cold", "CUDA events", "not locked", 0)
    assert (found.gpu, found.params, found.power_limit_w) == ("NVIDIA H200", {"b": 32}, None)


@pytest.mark.parametrize(
    ("b_ns", "b_mhz", "word", "floor"),
    [
        (0.95e6, 1400.0, "faster", 3.0),
        (1.05e6, 1400.0, "slower", 3.0),
        (0.98e6, 1400.0, "no change", 3.0),
        (0.95e6, 1500.0, "no change", 100 * (1500 / 1392 - 1)),
        (0.95e6, None, "faster", 3.0),
    ],
)
def test_stored_runs_need_a_larger_change(
    b_ns: float, b_mhz: float | None, word: str, floor: float
) -> None:
    stored = (noise(1e6, 1392.0), noise(b_ns, b_mhz))
    compared = judge(comparison_of(shape_of(stored=stored, outputs={})))
    found = compared.shapes[0]
    assert (found.word, found.floor_pct) == (word, pytest.approx(floor))
    assert compared.across_runs
    assert any("not interleaved" in note for note in compared.notes)
    blocks = [rank.block_interval([math.log(ns) for ns in s.samples_ns]) for s in stored]
    wanted = rank.difference_interval(blocks[1], blocks[0])  # type: ignore[arg-type]
    assert found.time is not None
    assert found.time.low_pct == pytest.approx(100 * math.expm1(wanted.low))


def test_several_stored_shapes_need_clearer_answers() -> None:
    """5 % of error over four shapes: each is asked at 98.75 %; ten blocks reach 99.0 %."""
    stored = (noise(1e6, 1392.0), noise(0.95e6, 1400.0))
    shapes = [shape_of(stored=stored, outputs={}, params={"s": s}) for s in range(4)]
    found = judge(comparison_of(*shapes))
    first = found.shapes[0].time
    assert first is not None
    assert first.level_pct == pytest.approx(99.02, abs=0.01)
    assert found.counts["faster"] == 4
    assert found.mean is not None
    assert found.mean.change_pct == pytest.approx(first.change_pct)
    assert found.mean.low_pct > first.low_pct


def test_the_raw_samples_of_stored_runs_decide_not_their_medians() -> None:
    """The same medians; in one run half of the blocks are 8 % longer."""
    steps = [1e6 if (at // 30) % 2 else 1.08e6 for at in range(300)]
    calm = StoredSeries(samples_ns=(1e6, *[1.0001e6] * 299), mhz=1400.0)
    found = verdict(stored=(calm, StoredSeries(samples_ns=tuple(steps), mhz=1400.0)), outputs={})
    assert found.word == "inconclusive"
    assert found.time is not None and found.time.high_pct > 7.0


def test_short_stored_runs_decide_nothing() -> None:
    stored = (noise(1e6, 1400.0), noise(2e6, 1400.0, count=99))
    found = verdict(stored=stored, outputs={})
    assert (found.word, found.time) == ("inconclusive", None)
    assert found.detail == "short run: 99 samples, an interval needs 100"
    assert found.b_ns == pytest.approx(2e6, rel=0.01)


def test_stored_runs_say_what_differs() -> None:
    stored = (structs.replace(noise(1e6, 1400.0), settled=False), noise(1e6, 1440.0))
    compared = judge(comparison_of(shape_of(stored=stored, outputs={})))
    assert compared.shapes[0].notes == (
        "A: the warm-up did not settle",
        "SM clocks differ by +2.9 %: A 1400, B 1440 MHz",
    )
    assert (exit_code(compared), exit_code(compared, strict=True)) == (0, 6)


def test_the_second_of_two_equal_commands_does_not_lose_to_drift() -> None:
    """hyperfine issue 483: all calls get 4 % slower over the run, A and B are equal."""
    device = NoisyDevice("independent", 5)
    last = 6 * 4 * 12
    ramp = [NoisyTimer(device, 1.0, lambda call: 0.04 * min(call, last) / last) for _ in range(2)]
    run = quads.take(quads.Pair(ramp[0], ramp[1]), quads.Task(SETTINGS, 1.0, 1e6))
    found = verdict(run)
    assert found.word == "no change"
    assert any(note.startswith("drift of A over the run +2.") for note in found.notes)
    medians = [
        [ns for quad in run.quads for leg in quad.legs if leg.side == side for ns in leg.samples_ns]
        for side in "AB"
    ]
    assert max(medians[0]) > 1.03 * min(medians[0])


def test_a_ramp_ends_in_a_doubt_not_in_a_change() -> None:
    """triton issue 2306: calls fall from 11.2 ms to 8.8 ms, and the warm-up ends too early."""
    device = NoisyDevice("independent", 5)
    falls = [
        NoisyTimer(device, 8.8, lambda call: math.log(11.2 / 8.8) * max(0.0, 1 - call / 400))
        for _ in range(2)
    ]
    pair = quads.Pair(falls[0], falls[1])
    warm = quads.warm_up(pair, timing.settings("cuda:0") | {"warm_up_limit_s": 1.0})
    run = quads.take(pair, quads.Task(SETTINGS, 1.0, 9e6))
    compared: Comparison = comparison_of(shape_of(structs.replace(run, warm_up=warm)))
    found = judge(compared)
    assert not warm.settled
    assert found.shapes[0].word == "no change"
    assert "the warm-up did not settle" in found.shapes[0].notes
    assert exit_code(found, strict=True) == 6


@pytest.mark.parametrize(
    ("a", "b", "told"), [(6, 1, ("kernels a call: A 6, B 1",)), (2, 2, ()), (None, 1, ())]
)
def test_six_kernels_against_one_is_told(a: int | None, b: int, told: tuple[str, ...]) -> None:
    """TileGym issue 82: the baseline was six kernels that nobody had fused."""
    one = comparison_of(shape_of(run_of(-50.0)))
    sides = structs.replace(
        one, a=structs.replace(one.a, launches=a), b=structs.replace(one.b, launches=b)
    )
    assert judge(sides).notes == told
