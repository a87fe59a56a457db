"""What a new run is held against, in its contract: the newest, a named one, or a comparison."""

from itertools import chain, repeat
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.support.comparisons import comparison_of, run_of, shape_of
from tests.support.stored_runs import event_run, samples
from tests.support.timings import cpu_timing

from mla_var3.cli import main as cli
from mla_var3.core.annotation import AcrossRuns
from mla_var3.core.baseline import Baseline, load_baseline, save_baseline
from mla_var3.core.comparison import Side, save_comparison
from mla_var3.core.errors import BadArgument, NotComparable, NoUsableData
from mla_var3.core.record_file import load_profile
from mla_var3.core.timing import save_timing
from mla_var3.measure.gpus import cuda_devices
from mla_var3.measure.worker_spec import WorkerSpec
from mla_var3.render.contract_grammar import parse
from mla_var3.runtime.baselines import find_baseline, refuse_baseline, refuse_unlike
from mla_var3.runtime.measuring import MeasureOptions
from mla_var3.runtime.problem_files import identity
from mla_var3.runtime.profiling.event import event_profile_plan

torch = pytest.importorskip("torch", reason="torch is not installed here")
pytestmark = [pytest.mark.kernel, pytest.mark.skipif(bool(cuda_devices()), reason="a GPU is here")]

from tests.support.rival_plans import Twice  # noqa: E402

PLAN = Twice(n=4096)
OWN = identity(PLAN)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own, and a child whose runs take 1000, 900, 900, … µs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    times = chain((1000.0,), repeat(900.0))

    def child(spec: WorkerSpec, limit_s: float) -> None:
        save_timing(cpu_timing(samples(next(times))), Path(spec.out_dir) / "timing.json")

    monkeypatch.setattr("mla_var3.runtime.profiling.event.run_worker", child)
    return tmp_path


def run_now(baseline: Path | None = None) -> Path:
    options = MeasureOptions(device="cpu", baseline=baseline)
    return event_profile_plan(PLAN, options=options).out_dir


def compared(folder: Path, **more: Any) -> Path:
    """A comparison whose side B is PLAN, 4 % slower than its side A."""
    fields: dict[str, Any] = {
        "kernel": OWN.kernel,
        "version": OWN.version,
        "language": OWN.language,
        "source_sha256": OWN.source_sha256,
    }
    shape = shape_of(run_of(4.0))
    params = more.pop("params", OWN.params)
    a, b = (msgspec.structs.replace(side, params=params) for side in (shape.a, shape.b))
    folder.mkdir(parents=True)
    comparison = comparison_of(
        msgspec.structs.replace(shape, a=a, b=b),
        a=Side(label="v9", kernel=OWN.kernel, version="v9"),
        b=Side(label="base", **fields | more),
    )
    save_comparison(comparison, folder / "comparison.json")
    return folder


def test_the_newest_profile_fills_the_contract() -> None:
    """1000 and then 900 µs: 10 % less; the second names the first."""
    first, second = run_now(), run_now()
    assert load_baseline(first / "baseline.json") is None
    found = load_baseline(second / "baseline.json")
    assert found is not None and not found.typed
    assert found.before.profile == first.relative_to("out/profiles").as_posix()
    assert found.before.ratio == pytest.approx(1000 / 900)
    sheet = parse((second / "contract.md").read_text())
    row = sheet.baseline[0]
    assert row.metric == "duration, end to end"
    assert [found.before.changes[0].previous.value, found.before.changes[0].current.value] == (
        pytest.approx([1e6, 9e5], rel=1e-3)
    )
    assert row.change == "−10.0 %"
    assert not parse((first / "contract.md").read_text()).baseline
    contract = (second / "contract.json").read_bytes()
    assert cli.main(["report", str(second)]) == 0
    assert (second / "contract.json").read_bytes() == contract


def test_a_comparison_fills_the_contract_with_its_own_times() -> None:
    """A takes 1 ms, B 4 % more, in the invented comparison, whatever the run itself takes."""
    folder = run_now(compared(Path("c")))
    found = load_baseline(folder / "baseline.json")
    assert found is not None and found.typed
    (change,) = found.before.changes
    assert (change.previous.value, change.current.value) == pytest.approx((1e6, 1.04e6), rel=1e-3)
    (row,) = parse((folder / "contract.md").read_text()).baseline
    assert (row.metric, row.change) == ("duration, interleaved", "+4.0 % (slower)")


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"params": {"n": 8192}}, "n: 8192 → 4096"),
        ({"version": "v3"}, "version: v3 → base"),
        ({"source_sha256": "c" * 64}, f"source: cccccccc → {OWN.source_sha256[:8]}"),
        ({"kernel": "thrice"}, "kernel: thrice → twice"),
    ],
)
def test_a_comparison_of_something_else_is_refused(more: dict[str, Any], told: str) -> None:
    with pytest.raises(NotComparable, match=f"--baseline is not comparable: {told}") as caught:
        refuse_baseline(PLAN, compared(Path("c"), **more))
    assert caught.value.exit_code == 12


def test_a_profile_of_another_problem_is_refused_before_it_is_measured() -> None:
    typed = event_run(Path("e"), 1000.0, kernel="twice", params={"n": 8192})
    with pytest.raises(NotComparable, match=r"n: 8192 → 4096$"):
        run_now(typed)
    assert not Path("out").exists()


def test_unlike_conditions_are_refused_after_it_is_stored() -> None:
    """A run on an H200 with a cold cache, under CUDA events: only the child knows the CPU's."""
    typed = event_run(Path("e"), 1000.0, kernel="twice", params={"n": 4096})
    with pytest.raises(NotComparable) as caught:
        run_now(typed)
    told = str(caught.value)
    assert (
        "device: NVIDIA H200 → " in told and "; timed, and kept: out/profiles/event/twice/" in told
    )
    (stored,) = Path("out/profiles/event/twice").glob("*/*")
    assert load_profile(stored).status == "OK"
    assert not parse((stored / "contract.md").read_text()).baseline


def test_the_command_line_takes_it(capfd: pytest.CaptureFixture[str]) -> None:
    typed = event_run(Path("e"), 1000.0)
    words = ["run", "flash_mla", "--language=torch", "--b=1", "--t=64", "--prof_type=event"]
    assert cli.main([*words, f"--baseline={typed}"]) == 12
    err = capfd.readouterr().err
    assert err.startswith("mla: --baseline is not comparable: b: 32 → 1; s: 16 → 1; t: 4096 → 64")
    assert cli.main([*words[:-1], "--prof_type=ncu", "--baseline=x"]) == 2
    assert "--baseline has a meaning for event and annotation alone" in capfd.readouterr().err
    assert cli.main([*words, "--baseline=nowhere"]) == 2
    assert capfd.readouterr().err.startswith("NOT_FOUND nowhere: no such profile")


def test_without_a_time_there_is_no_figure() -> None:
    """A comparison that failed has a verdict and no times."""
    folder = compared(Path("c"))
    text = (folder / "comparison.json").read_text()
    failed = comparison_of(shape_of(failure="B gives wrong results", params=None or {}))
    shape = msgspec.structs.replace(failed.shapes[0].b, params=OWN.params)
    both = msgspec.structs.replace(failed.shapes[0], a=shape, b=shape)
    b = msgspec.json.decode(text)["b"]
    save_comparison(
        msgspec.structs.replace(failed, shapes=(both,), b=msgspec.convert(b, Side)),
        folder / "comparison.json",
    )
    found = find_baseline(PLAN, load_profile(run_now()), folder, None)
    assert found is not None and found.changes == ()
    assert found.differs == ("the comparison has no time: failed",)
    with pytest.raises(NotComparable, match="the comparison has no time: failed; timed, and kept"):
        refuse_unlike(found, folder, Path("out"))


def test_a_race_is_no_baseline() -> None:
    Path("r").mkdir()
    (Path("r") / "race.json").write_text("{}")
    with pytest.raises(BadArgument, match="r is a race"):
        refuse_baseline(PLAN, Path("r"))


def test_the_file_is_read_as_it_was_written(place: Path) -> None:
    before = AcrossRuns(version="v0", created="2026-12-01", profile="event/k/p/t", ratio=1.2)
    save_baseline(Baseline(typed=True, before=before), place / "baseline.json")
    assert load_baseline(place / "baseline.json") == Baseline(typed=True, before=before)
    assert cli.main(["schema", "--check", str(place / "baseline.json")]) == 0
    (place / "baseline.json").write_text("{}")
    with pytest.raises(NoUsableData, match=r"baseline.json is no baseline"):
        load_baseline(place / "baseline.json")
