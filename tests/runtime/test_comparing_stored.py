"""Stored runs against each other: by their samples, under the gate, with the higher floor."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.support.fake_children import Children
from tests.support.stored_runs import PARAMS, event_run, samples, tool_run, with_clock
from tests.support.timings import cpu_timing, gpu_timing, series

from mla_var3.cli import main as cli
from mla_var3.core.comparison import load_comparison
from mla_var3.core.errors import BadArgument, NotFound, NoUsableData
from mla_var3.core.timing import save_timing
from mla_var3.measure.worker_spec import WorkerSpec
from mla_var3.runtime.comparing_stored import compare_stored

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def store(name: str) -> Path:
    return Path("out/profiles/event/flash_mla_v1/p") / name


@pytest.mark.parametrize(
    ("us", "word"), [(900.0, "faster"), (1100.0, "slower"), (1010.0, "no change")]
)
def test_the_floor_of_three_percent(us: float, word: str) -> None:
    """10 % is a change; 1 % of separate runs is none."""
    a, b = event_run(store("a"), 1000.0), event_run(store("b"), us, version="v2")
    found = compare_stored(a, b)
    (shape,) = found.verdict.shapes
    assert (shape.word, shape.floor_pct) == (word, 3.0)
    assert shape.time is not None
    assert shape.time.change_pct == pytest.approx(us / 10 - 100, abs=0.01)
    assert (shape.a_ns, shape.b_ns) == pytest.approx((1e6, 1e3 * us), rel=1e-3)
    assert found.out_dir is not None
    assert load_comparison(found.out_dir / "comparison.json").verdict == found.verdict
    stored = found.comparison.shapes[0].stored
    assert stored is not None
    assert [each.profile for each in stored] == [f"event/flash_mla_v1/p/{n}" for n in "ab"]


def test_clocks_that_differ_raise_the_floor() -> None:
    """1500 to 1620 MHz are 8 %: a change of 6 % may be the clock."""
    first = with_clock(gpu_timing(samples(1000.0)), 1500.0)
    a, b = event_run(store("a"), 1000.0, first), event_run(store("b"), 940.0)
    (shape,) = compare_stored(a, b).verdict.shapes
    assert shape.floor_pct == pytest.approx(8.0)
    assert shape.word == "no change"
    assert shape.notes == ("SM clocks differ by +8.0 %: A 1500, B 1620 MHz",)


def test_short_runs_decide_nothing() -> None:
    few = gpu_timing(samples(1000.0, 50))
    (shape,) = compare_stored(
        event_run(store("a"), 1000.0, few), event_run(store("b"), 500.0)
    ).verdict.shapes
    assert shape.word == "inconclusive"
    assert shape.detail == "short run: 50 samples, an interval needs 100"


def test_a_tool_each_and_another_size_is_not_comparable(capfd: Capture) -> None:
    """Two tools of two problems, one of which flushes the caches (NVIDIA forum 360150)."""
    a = tool_run(Path("n/ncu/k/p/a"), "ncu", 11.15, PARAMS | {"s": 8})
    b = tool_run(Path("n/nsys/k/p/b"), "nsys", 7.0)
    assert cli.main(["compare", str(a), str(b), "--gate"]) == 12
    out, err = capfd.readouterr()
    row = next(line for line in out.splitlines() if " not comparable" in line)
    assert row.split()[:5] == ["n/a"] * 5
    for told in ("timed by: ncu → nsys", "s: 8 → 16", "cache: flushed by ncu → not told"):
        assert told in err
    assert err.startswith("mla: not comparable: ") and err.count("\n") == 1
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"kernel": "flash_attention"}, "kernel: flash_mla → flash_attention"),
        ({"params": PARAMS | {"dtype": "float16"}}, "dtype: bfloat16 → float16"),
    ],
)
def test_another_kernel_or_type_is_not_comparable(more: dict[str, Any], told: str) -> None:
    found = compare_stored(event_run(store("a"), 1.0), event_run(store("b"), 1.0, **more))
    assert found.verdict.shapes[0].differs == (told,)
    assert (found.verdict.shapes[0].word, found.out_dir) == ("not comparable", None)


def test_another_machine_and_cache_are_not_comparable() -> None:
    warm = gpu_timing(samples(1.0), series=series(samples(1.0), cache="warm"))
    a = event_run(store("a"), 1.0, cpu_timing(samples(1.0)))
    found = compare_stored(a, event_run(store("b"), 1.0, warm))
    told = "; ".join(found.verdict.shapes[0].differs)
    assert "GPU: A CPU → NVIDIA H200" in told and "cache: cold → warm" in told
    assert "timer: perf_counter_ns → CUDA events" in told


def test_runs_without_samples_cannot_be_compared() -> None:
    a, b = (tool_run(Path(f"n/ncu/k/p/{n}"), "ncu", 7.0) for n in "ab")
    with pytest.raises(NoUsableData, match=r"a \(ncu\) has no timing.json"):
        compare_stored(a, b)


def test_what_is_no_stored_run(place: Path) -> None:
    event_run(store("a"), 1.0)
    with pytest.raises(NotFound, match="NOT_FOUND nowhere"):
        compare_stored(store("a"), Path("nowhere"))
    with pytest.raises(BadArgument, match=r"is no profile: give the folder"):
        compare_stored(store("a"), place)


def test_source_and_tiling_are_told_before_any_percentage(capfd: Capture) -> None:
    a = event_run(store("a"), 1000.0)
    b = event_run(store("b"), 900.0, source_sha256="b" * 64, tilings={"latent": {"tile_m": 128}})
    assert cli.main(["compare", str(a), str(b / "profile.json")]) == 0
    out = capfd.readouterr().out
    assert "note      source differs: aaaaaaaa → bbbbbbbb\nnote      tiling differs\n" in out
    assert "flash_mla v1 first → v1 second" in out
    assert "across runs: faster" in out
    assert "stored runs, not interleaved, floor 3.0 %" in out


def test_a_gate_on_stored_runs(capfd: Capture) -> None:
    a, b = event_run(store("a"), 1000.0), event_run(store("b"), 1100.0)
    assert cli.main(["compare", str(a), str(b), "--gate"]) == 10
    assert capfd.readouterr().err == "mla: --gate: slower: +10.0 %\n"
    assert cli.main(["compare", str(b), "--baseline", str(a), "--gate"]) == 10
    assert cli.main(["compare", str(a), str(b), "--gate", "--min_effect=20"]) == 0


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--processes=3", "--processes has no meaning for stored profiles"),
        ("--cache=warm", "--cache has no meaning for stored profiles"),
        ("--s=3", "unknown option --s"),
        ("--baseline=x", "give two stored profiles, not 3"),
    ],
)
def test_what_stored_runs_do_not_take(option: str, said: str, capfd: Capture) -> None:
    words = [str(event_run(store(name), 1.0)) for name in "ab"]
    assert cli.main(["compare", *words, option]) == 2
    assert capfd.readouterr().err.startswith(f"mla: {said}")


def test_an_unsettled_run_is_a_doubt_under_strict(capfd: Capture) -> None:
    taken = gpu_timing(samples(1000.0))
    warm = msgspec.structs.replace(taken.warm_up, settled=False)
    a = event_run(store("a"), 1000.0, msgspec.structs.replace(taken, warm_up=warm))
    b = event_run(store("b"), 900.0)
    assert cli.main(["compare", str(a), str(b)]) == 0
    assert cli.main(["compare", str(a), str(b), "--strict"]) == 6
    assert "A: the warm-up did not settle" in capfd.readouterr().err


def test_a_baseline_of_another_problem_is_refused_before_anything_runs(
    monkeypatch: pytest.MonkeyPatch, capfd: Capture
) -> None:
    pytest.importorskip("torch", reason="torch is not installed here")
    made = Children([1.0])
    monkeypatch.setattr("mla_var3.runtime.profiling.event.run_worker", made)
    a = event_run(store("a"), 1000.0, params={"b": 1, "s": 1, "t": 64})
    words = ["compare", "torch:flash_mla", "--baseline", str(a), "--b=1", "--t=128"]
    assert cli.main(words) == 12
    err = capfd.readouterr().err
    assert err.startswith("mla: not comparable: t: 64 → 128; ") and made.specs == []


def test_a_version_is_measured_now_and_held_against_a_stored_run(
    monkeypatch: pytest.MonkeyPatch, capfd: Capture
) -> None:
    """1000 µs are stored, 1100 µs are measured: 10 % slower, across runs."""
    pytest.importorskip("torch", reason="torch is not installed here")
    times = iter((1000.0, 1100.0))

    def child(spec: WorkerSpec, limit_s: float) -> None:
        save_timing(cpu_timing(samples(next(times))), Path(spec.out_dir) / "timing.json")

    monkeypatch.setattr("mla_var3.runtime.profiling.event.run_worker", child)
    sizes = ("--b=1", "--t=64")
    words = ["run", "flash_mla", "--language=torch", *sizes, "--prof_type=event", "--out_dir=old"]
    assert cli.main(words) == 0
    capfd.readouterr()
    words = ["compare", "torch:flash_mla", "--baseline=old", *sizes, "--gate"]
    assert cli.main(words) == 10
    out, err = capfd.readouterr()
    assert "across runs: slower" in out and err == "mla: --gate: slower: +10.0 %\n"
    assert len(list(Path("out/profiles/event/flash_mla").glob("*/*/profile.json"))) == 1
    assert len(list(Path("out/profiles/compare").glob("*/*/*/comparison.json"))) == 1
    assert cli.main([*words, "--processes=3"]) == 2
    assert cli.main(["compare", "flash_mla", "base", "base", "--baseline=old"]) == 2
    assert "--baseline is the first side: give one other, not 2" in capfd.readouterr().err
