"""`mla compare` and `mla race` as a user types them; only the measuring children are invented."""

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.support.fake_children import Children

from mla_var3.cli import main as cli
from mla_var3.core.comparison import load_comparison
from mla_var3.core.errors import KernelFailed, OutOfTime
from mla_var3.core.locate import is_installed
from mla_var3.core.race import load_race, standings
from mla_var3.measure.gpus import cuda_devices

pytestmark = [
    pytest.mark.skipif(bool(cuda_devices()), reason="a GPU is here"),
    pytest.mark.skipif(not is_installed("torch"), reason="torch is not installed here"),
]
SIDES = ("torch:flash_mla", "torch:flash_mla")
SMALL = ("--b=1", "--h=4", "--t=128")
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> Any:
    def plant(*factors: float | Exception, **more: Any) -> Children:
        made = Children(factors, **more)
        monkeypatch.setattr("mla_var3.runtime.comparing.run_worker", made)
        monkeypatch.setattr("mla_var3.runtime.racing.run_worker", made)
        return made

    return plant


def compare(*words: str) -> int:
    return cli.main(["compare", *SIDES, *SMALL, *words])


class Case(NamedTuple):
    """What is planted and typed; the code, the word, and the line on stderr."""

    factor: float
    options: tuple[str, ...]
    code: int
    word: str
    said: str = ""


@pytest.mark.parametrize(
    "case",
    [
        Case(1.02, (), 0, "slower"),
        Case(0.97, ("--gate",), 0, "faster"),
        Case(1.0, ("--gate",), 0, "no change"),
        Case(1.02, ("--gate",), 10, "slower", r"mla: --gate: slower: \+[12]\.\d %, clocks unv.*"),
        Case(1.009, ("--gate",), 11, "inconclusive", r"mla: --gate: inconclusive: \+0\.\d %"),
        Case(1.009, (), 0, "inconclusive"),
        Case(1.02, ("--gate", "--min_effect=4"), 0, "no change"),
    ],
)
def test_words_and_exit_codes(case: Case, children: Any, capfd: Capture) -> None:
    """A planted factor on a device with drift, wandering clock and spikes."""
    children(case.factor)
    assert compare(*case.options) == case.code
    out, err = capfd.readouterr()
    assert re.search(rf"\]\s+n/a  {case.word}\b", out), out
    assert re.fullmatch(f"{case.said}\n" if case.said else "", err), err
    assert all(len(line) <= 100 for line in out.splitlines() if "out/profiles" not in line)


def test_a_wrong_result_is_exit_4_without_a_ratio(children: Any, capfd: Capture) -> None:
    why = "side B (base #2) gives wrong results: relative error 0.5 > 0.01"
    children(KernelFailed(why))
    assert compare("--gate") == 4
    out, err = capfd.readouterr()
    assert err == f"mla: a side gives wrong results, so there is no ratio: {why}\n"
    row = next(line for line in out.splitlines() if " failed" in line)
    assert row.split() == ["n/a", "n/a", "n/a", "n/a", "n/a", "failed"]
    (folder,) = Path("out/profiles/compare").glob("*/*/*")
    found = load_comparison(folder / "comparison.json")
    assert (found.shapes[0].failure, found.shapes[0].runs) == (why, ())
    assert found.verdict is not None and found.verdict.shapes[0].time is None
    assert (folder / "worker-1.log").read_text() == "it said why\n"
    assert sorted(file.name for file in folder.iterdir()) == [
        "comparison.json",
        "report.md",
        "worker-1.log",
    ]


def test_one_failed_shape_leaves_the_others_their_verdict(children: Any, capfd: Capture) -> None:
    children(1.03, KernelFailed("side B (base #2) gives wrong results"), 0.97)
    assert compare("--s=1,2,4") == 4
    out = capfd.readouterr().out
    words = [re.search(r"faster|slower|failed", line) for line in out.splitlines()[3:]]
    assert [word.group() for word in words[:4] if word] == ["slower", "failed", "faster"]
    assert "1 faster, 1 slower, 0 no change, 0 inconclusive, 1 failed" in out
    assert "the mean leaves out 1 of 3 shapes" in out


def test_two_builds_that_differ_are_exit_6(children: Any, capfd: Capture) -> None:
    children(1.03, again=1.03)
    assert compare("--gate") == 6
    out, err = capfd.readouterr()
    assert "unreliable" in out and re.search(r"A/A self-check \+[23]\.\d % FAILED", out)
    assert err.startswith("mla: the measurement is unreliable: A against a second build of A: +")


def test_strict_is_exit_6_where_the_warm_up_did_not_settle(children: Any, capfd: Capture) -> None:
    children(1.03, settled=False)
    assert compare() == 0
    capfd.readouterr()
    assert compare("--strict") == 6
    err = capfd.readouterr().err
    assert err == "mla: the measurement is unreliable: the warm-up did not settle\n"


def test_other_inputs_are_exit_12(capfd: Capture) -> None:
    """Real children: the two designs take other tensors."""
    words = ["compare", "torch:flash_mla", "torch:flash_attention", "--b=1", "--h=2", "--t=64"]
    assert cli.main(words) == 12
    out, err = capfd.readouterr()
    assert out == "" and err.count("\n") == 1
    assert err.startswith(
        "mla: not comparable: side A (flash_mla base) and side B (flash_attention base) take other "
    )
    assert not list(Path("out/profiles").glob("*/*/*/[!.]*"))


def test_the_time_limit_is_exit_7_and_keeps_what_was_measured(
    children: Any, capfd: Capture
) -> None:
    children(1.03, OutOfTime("the measuring child did not end within 600 s and was stopped"))
    assert compare("--s=1,2") == 7
    err = capfd.readouterr().err
    assert err.count("\n") == 1 and "; kept: out/profiles/compare/" in err
    (left,) = Path("out/profiles/compare").glob("*/*/.incomplete-*")
    first, second = load_comparison(left / "comparison.json").shapes
    assert len(first.runs) == 1 and second.failure == "not timed: the run ended before"


def test_three_processes_must_agree(children: Any, capfd: Capture) -> None:
    made = children(1.03, 1.03, 1.0)
    assert compare("--processes=3", "--gate") == 11
    out, err = capfd.readouterr()
    assert "differs between processes: slower, slower, no change" in out + err
    assert "3 processes" in out
    assert len(made.specs) == 3


def test_what_the_children_are_told(children: Any) -> None:
    made = children(1.0)
    assert compare("--s=1,2", "--cache=warm", "--seed=7", "--min_effect=2") == 0
    assert [spec.params["s"] for spec in made.specs] == [1, 2]
    spec = made.specs[0]
    assert (spec.task, spec.cache, spec.seed, spec.floor_pct) == ("compare", "warm", 7, 2.0)
    assert (spec.shapes, spec.device, len(spec.rivals)) == (2, "cpu", 1)
    assert spec.rivals[0].params == spec.params
    assert spec.labels == ("side A (base)", "side B (base #2)")


def test_kernels_a_call_stand_in_the_file_and_the_report(children: Any, capfd: Capture) -> None:
    children(0.5, launches={"A": 6, "B": 1})
    assert compare("--out_dir=kept") == 0
    assert "kernels a call: A 6, B 1" in capfd.readouterr().out
    found = load_comparison(Path("kept") / "comparison.json")
    assert (found.a.launches, found.b.launches) == (6, 1)
    assert "| kernels a call | 6 | 1 |" in (Path("kept") / "report.md").read_text()


def test_the_document_for_programs(children: Any, capfd: Capture) -> None:
    children(1.02)
    assert compare("--json", "--gate") == 10
    found = json.loads(capfd.readouterr().out)
    assert (found["format"], found["exit_code"]) == ("mla_var3/comparison-verdict", 10)
    assert found["verdict"]["counts"]["slower"] == 1
    assert found["a"]["code_sha256"] == found["b"]["code_sha256"] != ""


def test_a_stored_comparison_is_made_again_listed_and_checked(
    children: Any, capfd: Capture
) -> None:
    children(1.02)
    assert compare("--out_dir=kept/compare/k/p/20261201-101502") == 0
    shown = capfd.readouterr().out
    folder = Path("kept/compare/k/p/20261201-101502")
    report = (folder / "report.md").read_bytes()
    (folder / "report.md").write_text("spoilt")
    assert cli.main(["report", str(folder)]) == 0
    out, err = capfd.readouterr()
    assert (out, err) == (shown, "made again: report.md\n")
    assert (folder / "report.md").read_bytes() == report
    assert cli.main(["report", str(folder / "comparison.json"), "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["verdict"]["counts"]["slower"] == 1
    assert cli.main(["schema", "--check", str(folder / "comparison.json")]) == 0
    assert "comparison of 1 shape" in capfd.readouterr().out
    assert cli.main(["list", "--root=kept"]) == 0
    listed = capfd.readouterr().out
    assert "slower         n/a       compare/k/p/20261201-101502" in listed
    assert "Next: mla report kept/compare/k/p/20261201-101502" in listed
    assert cli.main(["report", "--index", "kept"]) == 0
    assert "compare/k/p/20261201-101502/report.md" in (Path("kept/index.md")).read_text()


def test_a_damaged_comparison_is_told(place: Path, capfd: Capture) -> None:
    folder = place / "s" / "compare" / "k" / "p" / "t"
    folder.mkdir(parents=True)
    (folder / "comparison.json").write_text('{"format": "mla_var3/comparison"}')
    assert cli.main(["list", f"--root={place / 's'}"]) == 0
    assert "damaged: compare/k/p/t: comparison.json" in capfd.readouterr().out
    assert cli.main(["report", str(folder)]) == 5
    assert "comparison.json is no comparison of mla_var3" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ((), 2, "mla: give two sides: mla compare KERNEL VERSION VERSION (mla compare --help)"),
        (("flash_mla", "base"), 2, "mla: 1 side in 'flash_mla base': it takes"),
        ((*SIDES, SIDES[0]), 2, "mla: 3 sides in "),
        (("flash_mal", "base", "base"), 2, "mla: no kernel 'flash_mal'; did you mean flash_mla?"),
        (("flash_mla", "bse", "base"), 2, "mla: flash_mla has no version 'bse'"),
        (("flash_mla", "base@no-such", "base"), 2, "mla: no revision 'no-such'"),
        (("out/a/b", "out/c/d"), 2, "NOT_FOUND b: no such profile"),
        ((*SIDES, "--gat"), 2, "mla: unknown option --gat; did you mean --gate?"),
        ((*SIDES, "--ss=3"), 2, "mla: unknown option --ss; did you mean --s?"),
        ((*SIDES, "--s=1,x"), 2, "mla: --s needs a whole number, not 'x'"),
        ((*SIDES, "--s=1,,2"), 2, "mla: --s=1,,2: a value is missing between the commas"),
        ((*SIDES, "--workspace_mb=1,2"), 2, "mla: --workspace_mb takes one value"),
        ((*SIDES, "--processes=0"), 2, "mla: --processes=0: must be at least 1"),
        ((*SIDES, "--processes=99"), 2, "mla: --processes=99: from 1 to 20"),
        ((*SIDES, "--min_effect=0"), 2, "mla: --min_effect=0: percent, above 0"),
        ((*SIDES, "--cache=hot"), 2, "mla: --cache=hot: cold or warm"),
        ((*SIDES, "--device=gpu"), 2, "mla: --device=gpu: no such device"),
        ((*SIDES, "--device=cuda:0"), 3, "mla: --device=cuda:0: no such CUDA device here"),
        ((*SIDES, f"--s={','.join(map(str, range(1, 66)))}"), 2, "mla: 65 shapes: at most 64"),
        ((*SIDES, "--b=64", "--s=16"), 3, "mla: flash_mla at b=64 s=16 t=4096"),
        (("torch:flash_mla", "torch:demo_concurrent", "--b=1"), 2, "mla: --b: demo_concurrent "),
    ],
)
def test_what_is_refused(words: tuple[str, ...], code: int, said: str, capfd: Capture) -> None:
    assert cli.main(["compare", *words]) == code
    out, err = capfd.readouterr()
    assert out == "" and err.count("\n") == 1 and err.startswith(said), err
    assert not list(Path("out").glob("profiles/*/*/*/[!.]*"))


@pytest.mark.skipif(not is_installed("cutile"), reason="cuda.tile is not installed here")
def test_a_kernel_that_needs_a_gpu_says_what_works(capfd: Capture) -> None:
    assert cli.main(["compare", "flash_mla", "base", "v1"]) == 3
    assert capfd.readouterr().err == (
        "mla: flash_mla base (cutile) needs a CUDA GPU to be measured; what works here: "
        "mla compare torch:flash_mla torch:flash_mla --b=1 --h=8 --s=4 --t=1024\n"
    )


@pytest.mark.parametrize("command", ["compare", "race"])
def test_help_shows_every_option_and_fits(command: str, capfd: Capture) -> None:
    for words in ([], list(SIDES)):
        assert cli.main([command, *words, "--help"]) == 0
        out = capfd.readouterr().out
        assert max(map(len, out.splitlines())) <= 100
        assert ("--gate" in out) == (command == "compare")
        assert ("--workspace_mb" in out) == bool(words)
        assert f"out/profiles/{command}/" in out


def test_a_race_shows_ratios_to_the_first(children: Any, capfd: Capture) -> None:
    made = children(1.0, 1.05)
    words = ["race", *SIDES, "torch:flash_mla", *SMALL, "--cache=warm", "--seed=7"]
    assert cli.main(words) == 0
    out = capfd.readouterr().out
    (folder,) = Path("out/profiles/race").glob("*/*/*")
    race = load_race(folder / "race.json")
    assert (made.specs[0].cache, made.specs[0].seed, race.conditions.cache) == ("warm", 7, "warm")
    found = standings(race)
    assert [round(each.ratio, 2) for each in found] == [1.0, 1.0, 1.05]
    for each, name in zip(found, ("base", "base #2", "base #3"), strict=True):
        row = next(line for line in out.splitlines() if line.startswith(f"flash_mla {name}  "))
        assert f"{each.ratio:.3f}" in row and f"{each.median_ns / 1e3:.1f}" in row
    assert "not told apart from the first: flash_mla base #2\n" in out
    report = (folder / "report.md").read_bytes()
    assert cli.main(["report", str(folder)]) == 0
    assert (folder / "report.md").read_bytes() == report
    capfd.readouterr()
    assert cli.main([*words, "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["standings"][2]["contender"] == 2


def test_a_wrong_contender_is_exit_4_and_stores_nothing(children: Any, capfd: Capture) -> None:
    children(KernelFailed("flash_mla base #2 gives wrong results"))
    assert cli.main(["race", *SIDES, *SMALL]) == 4
    assert capfd.readouterr().err.startswith("mla: flash_mla base #2 gives wrong results; kept: ")
    assert not list(Path("out/profiles/race").glob("*/*/[!.]*"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "mla: give two contenders or more"),
        (("flash_mla",), "mla: a race needs two contenders or more"),
        ((*SIDES, "--s=1,2"), "mla: a race is of one shape"),
        ((*SIDES, "--gate"), "mla: unknown option --gate"),
    ],
)
def test_what_a_race_refuses(words: tuple[str, ...], said: str, capfd: Capture) -> None:
    assert cli.main(["race", *words]) == 2
    assert capfd.readouterr().err.startswith(said)
