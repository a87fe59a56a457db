"""`mla devlog` from stored profiles: figures by hand, and what must not be compared (exit 12)."""

import shutil
from pathlib import Path

import msgspec
import pytest
from tests.support.histories import store, stored

from mla_var3.cli import main as cli
from mla_var3.core.comparison import Comparison, Conditions, Floors, Shape, Side, save_comparison
from mla_var3.core.comparison_verdict import ComparisonVerdict, Effect, ShapeVerdict
from mla_var3.core.errors import BadArgument, KernelFailed, NotComparable
from mla_var3.core.record import Check, Profile
from mla_var3.core.record_file import load_profile, save_profile
from mla_var3.runtime.devlog import write_devlog

ROOT = Path(__file__).parents[2]
H200 = ROOT / "examples" / "h200"
BASE, V1 = H200 / "annotation_flash_mla_base_s16", H200 / "annotation_flash_mla_v1_s16"


def rows(log: Path) -> dict[str, list[str]]:
    """The last table of a log: value and change by label."""
    lines = log.read_text(encoding="utf-8").rpartition("**Performance**")[2].splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines
             if line.startswith("|")]  # fmt: skip
    return {row[0]: row[1:] for row in cells[2:]}


def test_figures_of_two_shipped_profiles(tmp_path: Path) -> None:
    written = write_devlog("flash_mla", "v1", V1, BASE, tmp_path)
    assert written.path == tmp_path / "flash-mla.md" and written.changed
    now, before = (load_profile(path).end_to_end for path in (V1, BASE))
    assert now is not None and before is not None
    ns, was = now.metrics["duration"].value, before.metrics["duration"].value
    flops = 2 * 32 * 16 * 4096 * 128 * (512 + 64 + 512)
    found = rows(written.path)
    assert found["Duration"] == [f"{ns / 1e3:.2f} μs", f"{100 * (1 - ns / was):.1f}% faster"]
    assert float(found["Achieved TFLOPs/s"][0]) == pytest.approx(flops / ns / 1e3, rel=1e-4)
    assert found["Achieved TFLOPs/s"][1] == f"+{100 * (was / ns - 1):.1f}%"
    (stage,) = load_profile(V1).stages
    assert found["TC Util"] == [f"{stage.metrics['tensor'].value:.0f}%", "--"]
    assert found["Occupancy"] == [f"{stage.metrics['occupancy'].value:.0f}%", "--"]
    text = written.path.read_text(encoding="utf-8")
    assert "**Performance** (NVIDIA H200, bfloat16, b=32, s=16, t=4096):" in text
    assert "across runs, not interleaved" in text and "clocks not locked" in text
    again = write_devlog("flash_mla", "v1", V1, BASE, tmp_path)
    assert not again.changed and written.path.read_text(encoding="utf-8") == text


def test_stages_are_weighted_by_their_time(tmp_path: Path) -> None:
    folder = H200 / "annotation_flash_mla_v1_s1"
    stages = load_profile(folder).stages
    weights = [stage.metrics["duration"].value for stage in stages]
    shares = [stage.metrics["tensor"].value for stage in stages]
    mean = sum(w * s for w, s in zip(weights, shares, strict=True)) / sum(weights)
    log = write_devlog("flash_mla", "v1", folder, None, tmp_path).path
    assert len(stages) == 2 and rows(log)["TC Util"][0] == f"{mean:.0f}%"


def test_a_figure_that_was_not_measured_is_na_with_its_reason(tmp_path: Path) -> None:
    log = write_devlog("flash_mla", "v1", H200 / "event_flash_mla_v1_s16", None, tmp_path).path
    assert rows(log)["Occupancy"] == ["n/a (event reads no counters)", "--"]


@pytest.mark.parametrize(
    ("us", "words"),
    [(90.0, "10.0% faster"), (125.0, "25.0% slower"), (98.0, "no change (−2.0%)")],
)
def test_faster_slower_and_neither(tmp_path: Path, us: float, words: str) -> None:
    before, now = pair(tmp_path, stored(0, 100.0, version="base"), stored(1, us, version="v1"))
    log = write_devlog("flash_mla", "v1", now, before, tmp_path).path
    assert rows(log)["Duration"] == [f"{us:.2f} μs", words]


def test_the_clock_widens_what_is_no_change(tmp_path: Path) -> None:
    """9 % faster at a clock 10 % higher is nothing that the version did."""
    slow, fast = stored(0, 100.0, version="base"), stored(1, 91.0, clock_ghz=1.76)
    before, now = pair(tmp_path, slow, fast)
    written = write_devlog("flash_mla", "v1", now, before, tmp_path)
    assert rows(written.path)["Duration"][1] == "no change (−9.0%)"
    assert "SM clock differs by +10.0 %" in written.previous


def pair(root: Path, before: Profile, now: Profile) -> tuple[Path, Path]:
    first, second = store(root / "store", [before, now])
    return first, second


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"params": {"b": 32, "s": 1}}, ("s: 1 → 16",)),
        ({"driver": "570.1"}, ("driver: 570 → 580",)),
        ({"locked": True}, ("clocks: locked → not locked",)),
    ],
)
def test_unlike_conditions_are_refused(
    tmp_path: Path, change: dict[str, object], words: tuple[str, ...]
) -> None:
    first = stored(0, 100.0, **({"version": "base"} | change))
    before, now = pair(tmp_path, first, stored(1, 90.0))
    with pytest.raises(NotComparable) as error:
        write_devlog("flash_mla", "v1", now, before, tmp_path)
    assert all(word in str(error.value) for word in words)
    assert not (tmp_path / "flash-mla.md").exists()


def test_another_tool_and_size_are_refused_with_both_named(tmp_path: Path) -> None:
    """H7: one result by ncu with flushed caches, one by nsys, of another size."""
    folders = []
    for number, mode in enumerate(("ncu", "nsys")):
        profile = stored(number, 10.0, mode=mode, params={"m": 512 * (number + 1)})
        whole = profile.end_to_end
        assert whole is not None
        metric = msgspec.structs.replace(whole.metrics["duration"], source=mode, raw="one launch")
        whole = msgspec.structs.replace(whole, metrics={"duration": metric})
        folder = tmp_path / mode
        folder.mkdir()
        save_profile(msgspec.structs.replace(profile, end_to_end=whole), folder)
        folders.append(folder)
    with pytest.raises(NotComparable) as error:
        write_devlog("flash_mla", "v1", folders[1], folders[0], tmp_path)
    assert error.value.exit_code == 12
    for word in ("timed by: ncu → nsys", "m: 512 → 1024", "cache: flushed by ncu"):
        assert word in str(error.value)


def test_a_baseline_without_a_time_is_refused(tmp_path: Path) -> None:
    before, now = pair(tmp_path, stored(0, 1.0, version="base", end_to_end=None), stored(1, 90.0))
    with pytest.raises(NotComparable, match="the earlier profile has no end-to-end time"):
        write_devlog("flash_mla", "v1", now, before, tmp_path)


def test_a_profile_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadArgument, match="is a profile of flash_mla v1, not of flash_mla base"):
        write_devlog("flash_mla", "v0", V1, None, tmp_path)
    with pytest.raises(BadArgument, match="not of flash_attention v1"):
        write_devlog("flash_attention", "v1", V1, None, tmp_path)


def test_a_wrong_result_is_no_entry(tmp_path: Path) -> None:
    failed = stored(
        0, 1.0, status="CHECK_FAILED", stages=(), end_to_end=None, failure="wrong rows",
        check=Check(passed=False),
    )  # fmt: skip
    (folder,) = store(tmp_path / "store", [failed])
    with pytest.raises(KernelFailed, match="wrong rows"):
        write_devlog("flash_mla", "v1", folder, None, tmp_path)


def test_the_store_gives_the_version_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of v1 and two profiles of v2, one on another driver: v3 is held against the other."""
    monkeypatch.chdir(tmp_path)
    runs = [
        stored(0, 200.0, version="v1"),
        stored(1, 100.0, version="v2"),
        stored(2, 10.0, version="v2", driver="570.1"),
        stored(3, 80.0, version="v3"),
    ]
    folders = store(Path("out/profiles"), runs)
    written = write_devlog("flash_mla", "v3", folders[3])
    assert written.path == Path("docs/kernels/flash-mla.md")
    assert rows(written.path)["Duration"] == ["80.00 μs", "20.0% faster"]
    assert written.previous.startswith("v2, 2026-01-01 00:01 UTC")


def compared(folder: Path, word: str, version: str = "v1") -> Path:
    """A comparison of base and v1 by 10.7 %, interleaved."""
    params = dict(load_profile(V1).plan.params)  # type: ignore[union-attr]
    conditions = Conditions(tool="event", gpu="NVIDIA H200", params=params)
    time = Effect(change_pct=-10.7, low_pct=-11.2, high_pct=-10.1, level_pct=99.0, n=12)
    verdict = ShapeVerdict(word=word, time=time)  # type: ignore[arg-type]
    sides = [Side(label=v, kernel="flash_mla", version=v, language="cutile")
             for v in ("base", version)]  # fmt: skip
    comparison = Comparison(
        created="2026-12-01T11:00:00+00:00",
        a=sides[0],
        b=sides[1],
        shapes=(Shape(a=conditions, b=conditions),),
        floors=Floors(least_pct=1.0),
        settings={},
        verdict=ComparisonVerdict(shapes=(verdict,), counts={}),
    )
    folder.mkdir()
    save_comparison(comparison, folder / "comparison.json")
    return folder


def test_a_comparison_gives_the_change(tmp_path: Path) -> None:
    """−10.7 % of the time is 1 / 0.893 − 1 = +12.0 % of the rate; bytes are a version's own."""
    written = write_devlog("flash_mla", "v1", V1, compared(tmp_path / "c", "faster"), tmp_path)
    found = rows(written.path)
    assert found["Duration"][1] == "10.7% faster"
    assert found["Achieved TFLOPs/s"][1] == "+12.0%"
    assert found["Achieved GB/s"][1] == "--"
    assert "base, mla compare, 2026-12-01 11:00 UTC, interleaved: faster" in written.previous
    assert "−11.2 to −10.1 %" in written.previous


def test_a_comparison_that_decides_nothing_claims_nothing(tmp_path: Path) -> None:
    folder = compared(tmp_path / "c", "inconclusive")
    log = write_devlog("flash_mla", "v1", V1, folder, tmp_path).path
    assert rows(log)["Duration"][1] == "inconclusive (−10.7%)"


def test_a_comparison_of_another_version_or_problem_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotComparable, match="judges flash_mla v2"):
        write_devlog("flash_mla", "v1", V1, compared(tmp_path / "c", "faster", "v2"), tmp_path)
    other = H200 / "annotation_flash_mla_v1_s1"
    with pytest.raises(NotComparable, match="no shape with the problem"):
        write_devlog("flash_mla", "v1", other, compared(tmp_path / "d", "faster"), tmp_path)


@pytest.mark.parametrize("kernel", ["flash_mla", "flash_attention"])
def test_the_logs_of_this_project_hold_the_shipped_profiles(tmp_path: Path, kernel: str) -> None:
    """Both versions at s=16 and s=1; writing them again changes nothing, nothing is left open."""
    log = ROOT / "docs" / "kernels" / f"{kernel.replace('_', '-')}.md"
    shutil.copy(log, tmp_path)
    for version in ("base", "v1"):
        for s in (16, 1):
            base = H200 / f"annotation_{kernel}_base_s{s}" if version == "v1" else None
            profile = H200 / f"annotation_{kernel}_{version}_s{s}"
            assert not write_devlog(kernel, version, profile, base, tmp_path).changed
    text = log.read_text(encoding="utf-8")
    assert text.count("**Performance**") == text.count("**Insights**:\n- ") == 4
    assert "to be written by hand" not in text


def test_the_command(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(V1, tmp_path / "p")
    words = ["devlog", "flash_mla", "v1", f"--from={tmp_path / 'p'}", f"--logs={tmp_path}"]
    assert cli.main(words) == 0
    assert capfd.readouterr().out == f"{tmp_path.as_posix()}/flash-mla.md\n"
    assert cli.main(words) == 0
    assert "nothing to change" in capfd.readouterr().err
    assert cli.main(["devlog", "flash_mla", "v1"]) == 2
    assert "--from=PROFILE" in capfd.readouterr().err
    assert cli.main([*words[:3], "--from=nowhere"]) == 2
    assert cli.main([*words, f"--baseline={H200 / 'event_flash_mla_v1_s1'}"]) == 12
    assert "s: 1 → 16" in capfd.readouterr().err
