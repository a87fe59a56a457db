"""`mla capture-command`: the line is complete, quoted, says its conditions, and is the README's."""

import shlex

import pytest
from tests.conftest import ROOT
from tests.support import chip_metrics

from mla_var3.cli import main as cli
from mla_var3.core.errors import BadArgument
from mla_var3.measure.ncu_capture import Capture, capture_command, metric_names, report_name
from mla_var3.measure.ncu_command import NcuJob, ncu_command
from mla_var3.measure.ncu_metrics import base_name, metric_set
from mla_var3.measure.ncu_reader.table import table

CONDITIONS = "--clock-control none --cache-control all --replay-mode kernel"
PROGRAM = ("./my_program",)


def line(*words: str, capfd: pytest.CaptureFixture[str]) -> str:
    """What the command prints on stdout: one line."""
    assert cli.main(["capture-command", *words]) == 0
    out = capfd.readouterr().out
    assert out.endswith("\n") and out.count("\n") == 1
    return out.removesuffix("\n")


def option(command: list[str], name: str) -> str:
    return command[command.index(name) + 1]


def test_the_whole_line(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("mla_var3.cli.capture.cuda_devices", lambda: ())
    assert line("ncu", "--", *PROGRAM, capfd=capfd) == (
        f"ncu --set full --import-source yes {CONDITIONS} --target-processes all "
        "-o my_program ./my_program"
    )
    words = "--kernel=my_kernel --launch_skip=3 --launch_count=1 --report=my_report".split()
    shown = line("ncu", *words, "--", *PROGRAM, capfd=capfd)
    assert shown == (
        f"ncu --set full --import-source yes {CONDITIONS} --target-processes all "
        "--kernel-name regex:my_kernel --launch-skip 3 --launch-count 1 -o my_report ./my_program"
    )
    assert f"\n{shown}\n" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_words_that_a_shell_would_split_are_quoted(capfd: pytest.CaptureFixture[str]) -> None:
    program = ["python", "-u", "my dir/train.py", "--name=a b", "--", "$HOME", "it's"]
    shown = line("--kernel=fa_(fwd|bwd)", "--", *program, capfd=capfd)
    assert shlex.split(shown)[-len(program) :] == program
    assert "--kernel-name 'regex:fa_(fwd|bwd)'" in shown
    assert option(shlex.split(shown), "-o") == "train"


def test_what_stands_after_the_dashes_is_the_program_s(capfd: pytest.CaptureFixture[str]) -> None:
    shown = line("ncu", "--", "./a.out", "--kernel=x", "--help", capfd=capfd)
    assert shown.endswith("-o a ./a.out --kernel=x --help")
    assert "--kernel-name" not in shown


@pytest.mark.parametrize(
    ("program", "name"),
    [
        ("./my_program", "my_program"),
        ("/opt/bin/bench.exe 3", "bench"),
        ("python3.12 -u train.py --steps 3", "train"),
        ("python -m my_pkg.bench", "my_pkg.bench"),
        ("env CUDA_VISIBLE_DEVICES=1 python run.py", "run"),
        ("torchrun --nproc_per_node=2 a%h.py", "a_h"),
        ("python", "python"),
    ],
)
def test_the_report_is_named_after_the_program(program: str, name: str) -> None:
    assert report_name(program.split()) == name


@pytest.mark.parametrize(
    ("nvtx", "shown"),
    [
        ("latent", "latent/"),
        ("latent/", "latent/"),
        ("outer/inner", "outer/inner/"),
        ("a,b[0]", r"a\,b\[0\]/"),
    ],
)
def test_a_push_pop_range_ends_in_a_slash(nvtx: str, shown: str) -> None:
    command = capture_command(Capture(PROGRAM, nvtx=nvtx))
    assert "--nvtx" in command
    assert option(command, "--nvtx-include") == shown
    job = NcuJob(PROGRAM, ("latent",), ("m",), ROOT / "x.ncu-rep")
    assert option(ncu_command(ROOT / "ncu", job), "--nvtx-include") == "latent/"


def test_every_command_of_ours_says_clocks_and_caches() -> None:
    """ncu's default has been `base`, then `boost`: it is never left to it."""
    ours = [
        capture_command(Capture(PROGRAM)),
        capture_command(Capture(PROGRAM, counters="annotation", capability="9.0")),
        ncu_command(ROOT / "ncu", NcuJob(PROGRAM, ("s",), ("m",), ROOT / "x.ncu-rep")),
    ]
    for command in ours:
        assert option(command, "--clock-control") == "none"
        assert option(command, "--cache-control") == "all"
        assert option(command, "--replay-mode") == "kernel"


def test_the_annotation_line_asks_for_the_counters_of_that_mode() -> None:
    command = capture_command(Capture(PROGRAM, counters="annotation", capability="9.0"))
    assert option(command, "--metrics") == ",".join(metric_set("GH100", ("bf16",)).names)
    assert "--set" not in command
    with pytest.raises(BadArgument, match="name it by --target"):
        capture_command(Capture(PROGRAM, counters="annotation"))


def test_a_known_chip_adds_the_flops_and_no_name_that_it_lacks() -> None:
    assert "--metrics" not in capture_command(Capture(PROGRAM))
    hopper = capture_command(Capture(PROGRAM, capability="9.0", dtypes=("bf16",)))
    assert option(hopper, "--metrics").split(",") == [
        "l1tex__m_xbar2l1tex_read_bytes.sum",
        "lrc__average_xbar2gpc_sectors_op_read.ratio",
        "sm__ops_path_tensor_src_bf16_dst_fp32.sum",
    ]
    for capability, chip in table().chips.items():
        try:
            there = chip_metrics.counters(chip)
        except chip_metrics.Unavailable as error:
            pytest.skip(str(error))
        names = option(capture_command(Capture(PROGRAM, capability=capability)), "--metrics")
        assert [n for n in names.split(",") if base_name(n) not in there] == [], capability


@pytest.mark.parametrize(
    ("typed", "names"),
    [
        (["a__x.sum,b__y.avg"], ("a__x.sum", "b__y.avg")),
        (["a__x.sum", "b__y.avg"], ("a__x.sum", "b__y.avg")),
        (["a__x.sum, a__x.sum"], ("a__x.sum",)),
        (["a__x.sum,"], ("a__x.sum",)),
        ([",", ""], ()),
    ],
)
def test_several_counters_in_one_text_are_several(typed: list[str], names: tuple[str, ...]) -> None:
    assert metric_names(typed) == names
    command = capture_command(Capture(PROGRAM, metrics=metric_names(typed)))
    assert ("--metrics" in command) == bool(names)
    if names:
        assert option(command, "--metrics") == ",".join(names)


def test_a_counter_that_is_no_name_is_named() -> None:
    with pytest.raises(BadArgument, match="'b y' is no name of a counter"):
        metric_names(["a__x.sum,b y"])


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ([], 2, "mla: give the program after --: mla capture-command ncu -- ./my_program"),
        (["ncu", "--"], 2, "mla: give the program after --: mla capture-command ncu -- ./my_pr"),
        (["ncu", "./a.out"], 2, "mla: cannot use './a.out' (mla capture-command --help)"),
        (["nsys"], 2, "mla: give the program after --: mla capture-command nsys -- ./my_program"),
        (["nsys", "--kernel=k", "--", "a"], 2, "mla: --kernel is of ncu: nsys records all kernels"),
        (["nsys", "--counters=annotation", "--", "a"], 2, "mla: --counters is of ncu: "),
        (["nuc", "--", "a"], 2, "mla: no tool 'nuc'; did you mean ncu?"),
        (["--kernel=(", "--", "a"], 2, "mla: --kernel '(' is no regular expression"),
        (["--counters=ful", "--", "a"], 2, "mla: no set of counters 'ful'; did you mean full?"),
        (["--launch_skip=-1", "--", "a"], 2, "mla: --launch_skip needs a whole number from 0 on"),
        (["--target=h20", "--", "a"], 2, "mla: no target 'h20'; did you mean h200?"),
        (["--dtypes=bf15", "--", "a"], 2, "mla: no FLOP counters of 'bf15'; did you mean bf16?"),
        (["--nvtx=/", "--", "a"], 2, "mla: --nvtx=/ names no range"),
    ],
)
def test_what_is_refused_is_one_line(
    words: list[str], code: int, told: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["capture-command", *words]) == code
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith(told) and err.count("\n") == 1


def test_what_is_missing_and_what_comes_next_is_said(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("mla_var3.cli.capture.cuda_devices", lambda: ())
    cli.main(["capture-command", "--", "./a.out"])
    err = capfd.readouterr().err.splitlines()
    assert [text.partition(" ")[0] for text in err] == ["note:", "note:", "Next:"]
    assert err[-1].startswith("Next: mla diagnose a.ncu-rep")
    cli.main(["capture-command", "--kernel=k", "--target=h200", "--", "./a.out"])
    assert capfd.readouterr().err.splitlines() == err[-1:]


def test_the_line_of_nsys_is_the_one_that_our_own_runs_use(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["capture-command", "nsys", "--", "python", "my dir/train.py"]) == 0
    out, err = capfd.readouterr()
    assert out == (
        "nsys profile -t cuda,nvtx --sample=none --cpuctxsw=none --cuda-graph-trace=node "
        "--stats=false --force-overwrite=true -o train python 'my dir/train.py'\n"
    )
    note, after = err.splitlines()
    assert note.startswith("note: train.nsys-rep will hold all environment variables")
    assert after.startswith("Next: mla import train.nsys-rep;")
    assert "nsys export -t sqlite train.nsys-rep" in after
    assert max(map(len, (note, after))) <= 100
    assert "-o mine ./a" in line("nsys", "--report=mine.nsys-rep", "--", "./a", capfd=capfd)
