"""The children of compare and race in this process: what is checked first, what is timed, kept."""

from pathlib import Path
from typing import Any

import pytest
from tests.measure.test_events import FakeTorch
from tests.support import rival_plans
from tests.support.rival_plans import Both, Lazy, Nothing, Other, Slow, Spoils, Twice, Wrong

from mla_var3 import conf
from mla_var3.core import quads as core
from mla_var3.core.errors import KernelFailed, MachineCannot, NotComparable
from mla_var3.core.plan import Cost, KernelPlan
from mla_var3.core.timing import CacheState
from mla_var3.measure import quads, worker_compare, worker_race, worker_sides
from mla_var3.measure.events import EventTimer
from mla_var3.measure.kernel_count import KernelCount
from mla_var3.measure.timing_cpu import CpuTimer
from mla_var3.measure.worker_compare import Compared, compare, least_calls, take_compared
from mla_var3.measure.worker_race import Raced, race, take_raced
from mla_var3.measure.worker_spec import WorkerSpec, plan_spec, spec_for

pytest.importorskip("torch", reason="torch is not installed here")
pytestmark = pytest.mark.kernel

SHORT = {
    "warm_up_busy_s": 0.005,
    "warm_up_limit_s": 0.2,
    "window_s": 0.002,
    "settle_pct": 1000.0,
    "settle_windows": 1.0,
}
FEW = {"leg_ns": 0.0, "calls": 3.0}
LABELS = ("side A (one)", "side B (two)")


def spec_of(folder: Path, *plans: KernelPlan, task: str = "compare", **more: Any) -> WorkerSpec:
    first, *others = plans
    words: dict[str, Any] = {
        "settings": SHORT,
        "protocol": FEW,
        "floor_pct": 1.0,
        "cache": "warm",
        "rivals": tuple(map(plan_spec, others)),
        "labels": LABELS[: len(plans)],
    }
    return spec_for(first, task, "cpu", folder, **words | more)  # type: ignore[arg-type]


def compared(folder: Path, a: KernelPlan, b: KernelPlan, **more: Any) -> Compared:
    compare(spec_of(folder, a, b, **more))
    return take_compared(folder)


def test_more_work_takes_longer(tmp_path: Path) -> None:
    """64 times the work is at least twice the time, on a busy machine too."""
    found = compared(tmp_path, Twice(n=4096), Slow(n=4096))
    effect = core.effect_of(found.run.quads, 96.0)
    assert effect is not None and effect.low_pct > 100.0
    assert found.outputs == {"A": 0.0, "B": 0.0}
    assert len(found.run.self_check) == 6
    assert found.run.warm_up is not None and found.run.warm_up.calls >= 1
    assert found.run.no_clock == "the clock of a CPU is not read"
    assert (found.timer, found.machine.peaks) == ("perf_counter_ns", {})
    assert list(tmp_path.iterdir()) == []


class Planted(CpuTimer):
    """A timer that runs each call and reads what was planted: 1 ms, times the side's factor."""

    factors: tuple[float, ...] = ()
    made = 0

    def __init__(self, run: Any, flush_bytes: int) -> None:
        super().__init__(run, 1 << 12)
        cls = type(self)
        self.factor = cls.factors[cls.made]
        cls.made += 1

    def calls(self, count: int) -> float:
        super().calls(1)
        return 1e6 * self.factor * count

    def start(self, count: int, cache: CacheState) -> list[float]:
        super().start(1, cache)
        return [1e6 * self.factor] * count


def plant(monkeypatch: pytest.MonkeyPatch, *factors: float) -> None:
    monkeypatch.setattr(worker_sides, "CpuTimer", Planted)
    monkeypatch.setattr(Planted, "factors", factors)
    monkeypatch.setattr(Planted, "made", 0)


def test_a_planted_slowdown_of_two_percent_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, 1.0, 1.02, 1.001)
    run = compared(tmp_path, Twice(), Twice()).run
    (look,) = core.looks(run.quads, quads.settings(), 1.0)
    assert (look.quads, look.word) == (12, "slower")
    assert look.effect.change_pct == pytest.approx(2.0)
    check = core.self_check_of(run.self_check, quads.settings())
    assert check is not None and check.change_pct == pytest.approx(0.1)
    assert not core.is_unreliable(check, 1.0, quads.settings())


def test_the_self_check_is_of_a_second_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three timers, and nothing that they write is shared."""
    plant(monkeypatch, 1.0, 1.0, 1.0)
    seen: list[Any] = []

    def spy(prepared: Any, *more: Any) -> Any:
        seen.extend(prepared)
        return worker_sides.timers_of(prepared, *more)

    monkeypatch.setattr(worker_compare, "timers_of", spy)
    compared(tmp_path, Twice(n=4096), Slow(n=4096))
    assert [type(each.plan) for each in seen] == [Twice, Slow, Twice]
    assert len({x.data_ptr() for each in seen for k in each.stages for x in k.outputs}) == 3


def test_a_busy_cpu_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, 1.0, 1.0, 1.0)
    monkeypatch.setattr(worker_sides.CpuLoad, "others_pct", lambda self: 63.0)
    warnings = compared(tmp_path, Twice(), Twice()).run.warnings
    assert warnings == ("shared CPU: others used 63 % of its cores",)


def test_a_second_build_that_is_slower_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, 1.0, 1.0, 1.015)
    run = compared(tmp_path, Twice(), Twice()).run
    check = core.self_check_of(run.self_check, quads.settings())
    assert check is not None and core.is_unreliable(check, 1.0, quads.settings())


@pytest.mark.parametrize(
    ("b", "error", "why"),
    [
        (Wrong(), KernelFailed, r"side B \(two\) gives wrong results: .*relative error 0.5"),
        (Nothing(), KernelFailed, r"side B \(two\) gives wrong results: .*65536 of 65536 .*never"),
        (Spoils(), KernelFailed, r"side B \(two\) writes into its inputs"),
        (Lazy(), KernelFailed, r"side B \(two\): .*65536 of 65536 elements .*never written while"),
        (
            Other(),
            NotComparable,
            r"not comparable: side A \(one\) and side B \(two\) take other inputs, "
            r"\[65536 float32\] and \[65536 float32, 65536 float32\]",
        ),
    ],
)
def test_what_gets_no_ratio(
    tmp_path: Path, b: KernelPlan, error: type[Exception], why: str
) -> None:
    with pytest.raises(error, match=why):
        compared(tmp_path, Twice(), b)
    assert not (tmp_path / worker_compare.RESULT).exists()


def test_a_wrong_first_side_is_named(tmp_path: Path) -> None:
    with pytest.raises(KernelFailed, match=r"side A \(one\) gives wrong results"):
        compared(tmp_path, Wrong(), Twice())


def test_concurrent_stages_are_timed_as_one(tmp_path: Path) -> None:
    found = compared(tmp_path, Twice(), Both())
    assert found.outputs["B"] == 0.0
    assert len(found.run.quads) in (12, 30)


def test_all_sides_read_the_same_and_write_their_own(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, Twice(), Slow())
    sides = worker_sides.prepare_sides(spec, 1)
    again = sides.again()
    reads = {x.untyped_storage().data_ptr() for p in (*sides.prepared, again) for x in p.inputs}
    every = (*sides.prepared, again)
    writes = {x.untyped_storage().data_ptr() for p in every for k in p.stages for x in k.outputs}
    assert (len(reads), len(writes)) == (1, 3)


def test_a_change_of_one_bit_is_seen() -> None:
    import torch

    x = torch.ones(1000, dtype=torch.bfloat16)
    before = worker_sides.checksums((x, "text"))
    x[999] = 1.0078125
    assert worker_sides.checksums((x, "text")) != before


def test_a_comparison_of_minutes_is_refused_on_a_cpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """6 and 12 quads, two legs of a side in each, 6 calls a leg: 216 calls of both sides.

    Of a plan that takes a second a call on this CPU, and no memory: 432 s, told in minutes.
    """
    assert least_calls(quads.settings()) == 216
    work = Cost(1e9, 0.0, 0.0)
    share = conf.table("check")["cpu"]["matmul_share"]
    monkeypatch.setattr(Twice, "_algorithmic_flops_bytes", lambda self, tiling=None: work)
    monkeypatch.setattr(worker_sides, "matmul_rate", lambda: 1e9 / share)
    with pytest.raises(MachineCannot, match=r"would take about 7 min on this CPU"):
        compared(tmp_path, Twice(), Twice(), protocol={})


def test_how_far_it_is_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    plant(monkeypatch, 1.0, 1.02, 1.0)
    compared(tmp_path, Twice(), Twice())
    lines = capfd.readouterr().out.splitlines()
    assert lines[0] == "@progress 4 72"
    assert lines[-1] == "@progress 72 72"
    assert len(lines) == 18


def raced(folder: Path, *plans: KernelPlan) -> Raced:
    few = {"leg_ns": 3e6, "drop_ns": 1e6, "rounds": 6.0}
    names = tuple(f"twice {at}" for at in range(len(plans)))
    race(spec_of(folder, *plans, task="race", protocol=few, labels=names))
    return take_raced(folder)


def test_a_race_of_three(tmp_path: Path) -> None:
    found = raced(tmp_path, Twice(n=4096), Slow(n=4096), Both(n=4096))
    assert [leg.contender for leg in found.rounds[1].legs] == [1, 2, 0, 0, 2, 1]
    assert (len(found.rounds), found.errors) == (6, (0.0, 0.0, 0.0))
    from mla_var3.core.race import round_ratio

    ratios = sorted(round_ratio(each, 1) for each in found.rounds)
    assert ratios[2] > 2.0  # the lower middle of six


def test_a_wrong_contender_ends_a_race(tmp_path: Path) -> None:
    with pytest.raises(KernelFailed, match="twice 2 gives wrong results"):
        raced(tmp_path, Twice(), Slow(), Wrong())
    assert not (tmp_path / worker_race.RESULT).exists()


def test_the_plans_are_of_one_problem() -> None:
    """What the tests rest on."""
    made = [getattr(rival_plans, name)() for name in ("Twice", "Slow", "Wrong", "Both")]
    assert {tuple(plan.params().items()) for plan in made} == {(("n", 65536),)}


def test_kernels_are_counted_of_both_sides_on_a_gpu_only(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = iter([KernelCount({"k": 4, "copy": 2}), KernelCount({}, "no CUPTI")])
    monkeypatch.setattr(worker_sides, "count_kernels", lambda once: next(counts))
    on_gpu = [EventTimer(lambda: None, 0, FakeTorch()) for _ in range(2)]
    on_cpu = CpuTimer(lambda: None, 0)
    assert worker_sides.launches_of((*on_gpu, on_cpu)) == (6, None, None)
