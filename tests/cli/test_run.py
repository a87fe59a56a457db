"""`mla run` as a user types it: what it lists, shows and refuses, in one line with a code."""

import sys
import time
from pathlib import Path

import pytest
from tests.cli.command import Ran, mla
from tests.conftest import ROOT

from mla_var3.core.locate import is_installed

FAKE = str(ROOT / "tests" / "support" / "fake_plan.py")
STATIC = "--prof_type=static"
NO_GPU = {"CUDA_VISIBLE_DEVICES": ""}


def run(*words: str | Path, cwd: Path | None = None) -> Ran:
    """`mla run WORDS`, without a GPU wherever the tests run."""
    return mla("run", *words, cwd=cwd, PYTHONPATH=str(ROOT), **NO_GPU)


def test_no_words_list_languages_designs_and_versions() -> None:
    done = run()
    assert (done.code, done.err) == (0, "")
    rows = [line.split() for line in done.out.splitlines()]
    assert rows[0] == ["kernel", "language", "versions"]
    assert ["flash_mla", "torch", "base"] in rows
    assert ["demo_concurrent", "torch", "base"] in rows
    assert done.out.endswith("Next: mla run KERNEL [VERSION] --help\n")


def test_the_module_is_the_command() -> None:
    done = mla("run", "flash_mla", "--help", **NO_GPU)
    import subprocess

    for words in (
        ["mla_var3.kernel", "flash_mla", "--help"],
        ["mla_var3.kernel.torch.mla.flash_mla", "--help"],
    ):
        ran = subprocess.run(
            [sys.executable, "-m", *words], capture_output=True, text=True, timeout=60
        )
        assert ran.returncode == 0, ran.stderr
        first, *rest = ran.stdout.splitlines()
        assert first.startswith("usage: mla run ")
        assert rest == done.out.splitlines()[1:]


def test_help_shows_every_option_with_default_and_unit() -> None:
    done = run(f"{FAKE}:FakePlan", "--help")
    assert (done.code, done.err) == (0, "")
    lines = {" ".join(line.split()) for line in done.out.splitlines()}
    assert "--b=INT sequences in the batch (default: 32 sequences)" in lines
    assert "--causal mask the future among the s new tokens (default: no)" in lines
    assert "--latent.tile_m=INT rows of a tile (default: 64 rows)" in lines
    assert "tiling of stage combine" in lines
    for option in "prof_type check bench_runs out_dir device target language seed json".split():
        assert any(line.startswith(f"--{option}") for line in lines), option
    assert max(map(len, done.out.splitlines())) <= 100


@pytest.mark.parametrize("words", [["flash_mla"], ["demo_concurrent"]])
def test_help_is_quick_and_loads_no_torch(words: list[str]) -> None:
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        assert run(*words, "--help").code == 0
        seconds.append(time.perf_counter() - start)
    assert min(seconds) <= 0.6
    code = (
        f"import sys; from mla_var3.cli.main import main; main(['run', *{words}, '--help']); "
        "sys.exit('torch' in sys.modules)"
    )
    import subprocess

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
    assert done.returncode == 0


ONE_LINE_2: list[tuple[list[str], str]] = [
    (["flash_ml"], "mla: no kernel 'flash_ml'; did you mean flash_mla?"),
    (["flash_mla", "v77"], "mla: flash_mla has no version 'v77'"),
    (
        ["flash_mla", "--language=cutle"],
        "mla: no language 'cutle'; did you mean cutile?",
    ),
    (["flash_mla", "--prof_type=statc"], "mla: no mode 'statc'; did you mean static?"),
    (["flash_mla", "--profile=static"], "mla: unknown option --profile; did you mean --prof_type?"),
    (["flash_mla", "--zzz=1"], "mla: unknown option --zzz (mla run flash_mla --help)"),
    (["flash_mla", "--b"], "mla: --b needs a value (mla run flash_mla --help)"),
    (["flash_mla", "--b=x"], "mla: --b needs a whole number, not 'x'"),
    (["flash_mla", "--b=0"], "mla: --b=0: must be at least 1"),
    (["flash_mla", "--h", "-4"], "mla: --h=-4: must be at least 1"),
    (["flash_mla", "--s=9", "--t=4"], "mla: --s=9 is larger than --t=4"),
    (["flash_mla", "base", "surprise"], "mla: cannot use 'surprise'"),
    (["--b=3", "flash_mla"], "mla: give the kernel first"),
    (
        ["flash_mla", STATIC, "--target=h300", "--language=torch"],
        "mla: no target 'h300'; did you mean h200?",
    ),
    (["flash_mla", STATIC, "--target=h100", "--language=torch"], "mla: --target=h100 may be "),
    (["flash_mla", STATIC, "--check", "--language=torch"], "mla: --check runs the kernel"),
    (["flash_mla", STATIC, "--bench_runs=5", "--language=torch"], "mla: --bench_runs has no "),
    (["flash_mla", "--collector=kineto"], "mla: --collector has a meaning for --prof_type=nsys al"),
    (["flash_mla", "--check", "--keep_raw"], "mla: --keep_raw has a meaning for --prof_type=nsys"),
    (
        ["flash_mla", "--prof_type=nsys", "--collector=kinto"],
        "mla: --collector=kinto: no such collector; did you mean kineto?",
    ),
    (
        ["flash_mla", "--prof_type=nsys", "--cache=warm", "--language=torch"],
        "mla: --cache has no meaning for nsys",
    ),
    (["flash_mla", "--bench_runs=0"], "mla: --bench_runs=0: must be at least 1"),
    (["flash_mla", "--device=gpu:0"], "mla: --device=gpu:0: no such device; did you mean c"),
    (["flash_mla", "--check", "--target=h200"], "mla: --target is what static compiles for"),
    (
        [f"{FAKE}:FakePlan", STATIC, "--latent.tile_m=256"],
        "mla: stage 'latent': tile_m=256 does not fit this problem",
    ),
    (
        [f"{FAKE}:FakePlan", STATIC, "--latent.tile=64"],
        "mla: unknown option --latent.tile; did you mean --latent.tile_m?",
    ),
    ([f"{FAKE}:Fake"], "mla: fake_plan.py line 1: no KernelPlan 'Fake' in the file; did you mean"),
    (["nowhere.py:Plan"], "NOT_FOUND nowhere.py: no such file"),
    (["my_pkg.my_mod:Plan"], "mla: no module my_pkg.my_mod (no my_pkg)"),
]


@pytest.mark.parametrize(("words", "beginning"), ONE_LINE_2)
def test_what_was_typed_wrong_is_one_line_and_exit_2(
    words: list[str], beginning: str, tmp_path: Path
) -> None:
    done = run(*words, cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(beginning), done.err
    assert done.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "beginning"),
    [
        ("def f(:\n", "mla: plan.py line 1: invalid syntax"),
        ("x = 1\n", "mla: plan.py line 1: no KernelPlan in the file"),
        (
            "from tests.support.fake_plan import FakePlan\n"
            "class A(FakePlan): ...\nclass B(FakePlan): ...\n",
            "mla: plan.py has 2 plans: A (line 2), B (line 3)",
        ),
    ],
)
def test_a_faulty_plan_file_is_one_line_and_exit_2(
    text: str, beginning: str, tmp_path: Path
) -> None:
    (tmp_path / "plan.py").write_text(text)
    done = run("plan.py", STATIC, cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(beginning), done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "beginning"),
    [
        (
            ["flash_mla", "--language=torch", "--device=cuda:7", "--check"],
            "mla: --device=cuda:7: no such CUDA device here (there is none)",
        ),
        (
            ["flash_mla", "--language=torch", STATIC, "--device=cuda:7"],
            "mla: --device=cuda:7: no such CUDA device here (there is none)",
        ),
        pytest.param(
            ["flash_mla", "--language=torch", "--prof_type=nsys", "--collector=nsys"],
            "mla: nsys records what a CUDA GPU does, and this would run on the CPU: --collector=k",
            marks=pytest.mark.skipif(not is_installed("torch"), reason="torch is not installed"),
        ),
    ],
)
def test_what_this_machine_cannot_is_one_line_and_exit_3(
    words: list[str], beginning: str, tmp_path: Path
) -> None:
    done = run(*words, cwd=tmp_path)
    assert (done.code, done.out) == (3, "")
    assert done.err.startswith(beginning), done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("mode", ["annotation", "event", "ncu", "nsys"])
def test_without_a_gpu_the_commands_that_do_work_are_shown(mode: str, tmp_path: Path) -> None:
    done = run(f"{FAKE}:FakePlan", "--b=2", f"--prof_type={mode}", cwd=tmp_path)
    assert (done.code, done.out) == (3, "")
    lines = done.err.splitlines()
    assert lines[0] == (
        "fake v1 (cutile) needs a CUDA GPU to be measured; none is here. "
        "What works on this machine:"
    )
    assert lines[-1].split() == [
        "mla",
        "diagnose",
        "FILE.ncu-rep",
        *"a report recorded elsewhere".split(),
    ]
    assert ("mla import FILE.sqlite" in done.err) == (mode == "nsys")
    static = [line for line in lines if "--prof_type=static --target=h200" in line]
    assert bool(static) == is_installed("cutile")
    assert all(f"mla run {FAKE}:FakePlan --b=2" in line for line in static)


@pytest.mark.skipif(is_installed("torch"), reason="torch is installed here")
def test_a_check_without_torch_has_the_install_line() -> None:
    done = run("flash_mla", "--language=torch", "--check", "--b=1", "--h=4", "--t=64")
    assert done.code == 3
    assert (
        done.err
        == "mla: torch (torch) is not installed here: python -m pip install 'mla_var3[torch]'\n"
    )


@pytest.mark.skipif(not is_installed("torch"), reason="torch is not installed here")
@pytest.mark.kernel
def test_check_alone_means_disabled() -> None:
    done = run("flash_mla", "--language=torch", "--check", "--b=1", "--h=4", "--s=3", "--t=64")
    assert (done.code, done.err.count("\n")) == (0, 1)
    first, second = done.out.splitlines()
    assert first == "flash_mla base · torch · b=1 s=3 t=64 h=4 d=128 k=512 p=64 bfloat16 · CPU"
    assert second.startswith("check passed: relative error ")


@pytest.mark.skipif(not is_installed("torch"), reason="torch is not installed here")
@pytest.mark.kernel
def test_a_cpu_run_over_a_minute_is_refused_with_a_smaller_shape() -> None:
    done = run("flash_mla", "--language=torch", "--check", "--s=64", "--t=100000")
    assert done.code == 3
    assert "on this CPU (limit 60 s): try --" in done.err
