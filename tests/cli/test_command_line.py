"""Options, help, exit codes and what is imported: the shell around the commands."""

import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.cli.command import mla
from tests.render.samples import attention

from mla_var3.cli import main as cli
from mla_var3.core.record_file import save_profile

HEAVY = ("torch", "triton", "cuda.tile", "ncu_report", "matplotlib")


def test_without_arguments_an_overview() -> None:
    ran = mla()
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == mla("--help").out
    for command in cli.COMMANDS:
        assert f"mla {command}" in ran.out


def test_version() -> None:
    from mla_var3 import __version__

    assert mla("--version").out == f"mla_var3 {__version__}\n"


@pytest.mark.parametrize("words", [["--help"], ["list", "--help"], ["list"]])
def test_light_commands_load_nothing_heavy_and_answer_at_once(
    words: list[str], tmp_path: Path
) -> None:
    code = (
        "import sys, time\n"
        "from mla_var3.cli.main import main\n"
        f"code = main({words!r})\n"
        f"heavy = [name for name in {HEAVY!r} if name in sys.modules]\n"
        "print('CHECK', code, heavy, time.process_time(), file=sys.stderr)\n"
    )
    best = 9.0
    # Time of the processor, of the best run: the first one compiles, and others may run beside it.
    for _ in range(5):
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, encoding="utf-8"
        )
        word, exit_code, heavy, seconds = done.stderr.strip().rsplit("\n")[-1].split(" ")
        assert (word, exit_code, heavy) == ("CHECK", "0", "[]")
        best = min(best, float(seconds))
    assert best <= 0.3


def test_reading_the_files_of_diagnose_loads_no_type_checker(tmp_path: Path) -> None:
    """typeguard would take half of the time that all options take."""
    code = (
        "import sys\n"
        "from mla_var3.cli.arguments import parse\n"
        "from mla_var3.cli.diagnose import Diagnose\n"
        "read = parse(Diagnose, 'diagnose', ['a.ncu-rep', 'b c', '--top=3', '--json'])\n"
        "print(read.files == ('a.ncu-rep', 'b c'), read.top, read.json, 'typeguard' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, encoding="utf-8"
    )
    assert done.stdout == "True 3 True False\n"


@pytest.mark.parametrize(
    "command",
    ["diagnose", "import", "list", "report", "capture-command", "schema", "history", "devlog"],
)
def test_help_names_defaults_and_fits(command: str) -> None:
    ran = mla(command, "--help", COLUMNS="100")
    assert ran.code == 0
    assert f"usage: mla {command}" in ran.out
    assert "default: " in ran.out
    assert max(map(len, ran.out.splitlines())) <= 100
    assert "-_" not in ran.out and "out-dir" not in ran.out


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["diagnos"], "mla: no command 'diagnos'; did you mean diagnose?"),
        (
            ["frobnicate"],
            "mla: no command 'frobnicate'; mla --help names them",
        ),
        (["--jsn"], "mla: no option '--jsn'; mla --help names them"),
        (["diagnose"], "mla: give at least one FILE: mla diagnose report.ncu-rep"),
        (["diagnose", "a", "--jsn"], "mla: unknown option --jsn; did you mean --json?"),
        (["diagnose", "a", "-x"], "mla: unknown option -x (mla diagnose --help)"),
        (
            ["diagnose", "a", "--top", "x"],
            "mla: --top needs a whole number, not 'x' (mla diagnose --help)",
        ),
        (["diagnose", "a", "--top"], "mla: --top needs a whole number (mla diagnose --help)"),
        (["diagnose", "a", "--top=0"], "mla: --top needs a whole number from 1 on, not 0"),
        (["diagnose", "a", "--kernel", "("], "mla: --kernel '(' is no regular expression: "),
        (["import"], "mla: give a FILE: mla import report.ncu-rep"),
        (["import", "a", "b"], "mla: cannot use 'b' (mla import --help)"),
        (["schema", "contrct"], "mla: no format 'contrct'; did you mean contract?"),
        (["list", "--root", "nowhere"], "NOT_FOUND nowhere: no such folder; "),
        (["diagnose", "nowhere.ncu-rep"], "NOT_FOUND nowhere.ncu-rep: no such file; check"),
        (["schema", "--check", "nowhere.md"], "NOT_FOUND nowhere.md: no such file; check"),
        (["diagnose", "a", "--devices", "none.json"], "NOT_FOUND a: no such file"),
    ],
)
def test_wrong_words_are_one_line_and_exit_2(
    words: list[str], line: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(words) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith(line)
    assert err.count("\n") == 1 and len(err) <= 101


def test_an_internal_error_is_one_line_and_exit_1(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def broken(words: list[str]) -> int:
        raise ZeroDivisionError("of /home/me/secret/file.py")

    monkeypatch.setattr(cli, "_run", broken)
    assert cli.main(["list"]) == 1
    err = capfd.readouterr().err
    assert err.startswith("mla: internal error, ZeroDivisionError: of file.py; ")
    assert cli.main(["list", "--debug"]) == 1
    assert "in broken" in capfd.readouterr().err


def test_debug_shows_the_traceback() -> None:
    ran = mla("--debug", "diagnose", "nowhere.ncu-rep")
    assert ran.code == 2
    assert ran.err.startswith("Traceback")
    assert ran.err.endswith("\nNOT_FOUND nowhere.ncu-rep: no such file; check the path\n")


def test_a_closed_pipe_is_quiet() -> None:
    command = f"{sys.executable} -m mla_var3 schema | head -c 20"
    done = subprocess.run(command, shell=True, capture_output=True, encoding="utf-8")
    assert (len(done.stdout), done.stderr) == (20, "")


def test_interrupt_is_one_line_and_exit_130(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def stopped(words: list[str]) -> int:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)
        return 0

    monkeypatch.setattr(cli, "_run", stopped)
    # a shell's background job inherits SIGINT ignored
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert cli.main(["list"]) == 130
    finally:
        signal.signal(signal.SIGINT, before)
    assert capfd.readouterr().err == "\ninterrupted; nothing half-written is kept\n"


def _on_a_terminal(words: list[str], **environment: str) -> str:
    """What the command writes to a terminal."""
    master, slave = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "mla_var3", *words],
        stdout=slave,
        stderr=slave,
        stdin=subprocess.DEVNULL,
        env={key: value for key, value in os.environ.items() if key != "NO_COLOR"}
        | {"TERM": "xterm-256color"}
        | environment,
    )
    os.close(slave)
    chunks = []
    while True:
        try:
            chunk = os.read(master, 65536)
        except OSError:  # Linux says so when the other end is closed
            break
        if not chunk:
            break
        chunks.append(chunk)
    child.wait(timeout=30)
    os.close(master)
    return b"".join(chunks).decode()


def test_colour_on_a_terminal_only_and_never_with_no_color(tmp_path: Path) -> None:
    profile, _ = attention()
    save_profile(profile, tmp_path / "stored")
    words = ["diagnose", str(tmp_path / "stored")]
    plain = mla(*words).out
    assert "\x1b" not in plain and "     evidence   " in plain
    assert _on_a_terminal(words, NO_COLOR="1").replace("\r\n", "\n") == plain
    assert _on_a_terminal(words, TERM="dumb").replace("\r\n", "\n") == plain
    coloured = _on_a_terminal(words).replace("\r\n", "\n")
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == plain
