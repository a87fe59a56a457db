"""Children: how they end, what is kept of their output, and that nothing of them lives on."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mla_var3.measure import child, child_guard
from mla_var3.measure.child import CUT, ChildResult, child_environment, run_child

PYTHON = [sys.executable, "-I", "-S", "-c"]
OURS = f"71.{os.getpid()}"
"""Seconds to sleep: the mark of the processes of this run of the tests."""


def run(tmp_path: Path, *command: str, limit_s: float = 20.0, **more: object) -> ChildResult:
    env = {"PATH": os.environ["PATH"]}
    words = {"env": env, "cwd": None, "log": tmp_path / "log", "limit_s": limit_s} | more
    return run_child(list(command), **words)  # type: ignore[arg-type]


def processes_of(marker: str) -> list[int]:
    """Processes that have the marker among their words."""
    found = []
    for pid in child_guard.processes():
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if marker in words and pid != os.getpid():
            found.append(pid)
    return found


def wait_until_gone(marker: str, limit_s: float = 10.0) -> None:
    end = time.monotonic() + limit_s
    while processes_of(marker):
        assert time.monotonic() < end, f"{marker} still runs"
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("script", "code"), [("exit 0", 0), ("exit 3", 3), ("kill -SEGV $$", 139), ("exec nosuch", 127)]
)
def test_how_it_ended(tmp_path: Path, script: str, code: int) -> None:
    result = run(tmp_path, "sh", "-c", script)
    assert (result.returncode, result.timed_out) == (code, False)


def test_a_command_that_is_not_there_is_named(tmp_path: Path) -> None:
    result = run(tmp_path, "nosuchtool", "-x")
    assert result.returncode == 127
    assert result.tail == ("nosuchtool: No such file or directory",)


def test_output_of_both_streams_is_in_the_log_in_its_order(tmp_path: Path) -> None:
    lines: list[str] = []
    script = "echo one; echo two >&2; printf three"
    result = run(tmp_path, "sh", "-c", script, on_line=lines.append)
    assert result.log_path.read_text() == "one\ntwo\nthree"
    assert result.tail == ("one", "two", "three") == tuple(lines)


def test_a_child_gets_the_named_variables_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_SECRET", "x")
    monkeypatch.setenv("LANG", "C")
    env = child_environment({"EXTRA": "1"})
    assert "A_SECRET" not in env
    assert (env["LANG"], env["EXTRA"]) == ("C", "1")
    code = "import os; print(sorted(os.environ))"
    result = run(tmp_path, *PYTHON, code, env={"EXTRA": "1", "LC_CTYPE": "C"})
    assert result.tail == ("['EXTRA', 'LC_CTYPE']",)


def test_a_child_has_no_input_and_a_session_of_its_own(tmp_path: Path) -> None:
    code = "import os, sys; print(repr(sys.stdin.read()), os.getsid(0))"
    words = run(tmp_path, *PYTHON, code).tail[0].split()
    assert words[0] == "''"
    assert int(words[1]) != os.getsid(0)


def test_the_limit_ends_the_whole_group(tmp_path: Path) -> None:
    script = f"sleep {OURS} & setsid sleep {OURS} & echo started; sleep {OURS}"
    begin = time.monotonic()
    result = run(tmp_path, "sh", "-c", script, limit_s=0.7)
    assert result.timed_out
    assert result.tail == ("started",)
    assert time.monotonic() - begin < 5
    assert processes_of(OURS) == []


def test_a_child_that_refuses_to_end_is_killed(tmp_path: Path) -> None:
    script = "trap '' TERM; echo deaf; while true; do sleep 0.1; done"
    result = run(tmp_path, "sh", "-c", script, limit_s=0.5)
    assert (result.timed_out, result.returncode, result.tail) == (True, 137, ("deaf",))


def test_what_it_leaves_behind_is_ended(tmp_path: Path) -> None:
    result = run(tmp_path, "sh", "-c", f"setsid sleep {OURS} & sleep {OURS} & exit 4")
    assert result.returncode == 4
    assert processes_of(OURS) == []


def test_a_command_dies_with_its_guard_though_its_parent_can_do_nothing(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from mla_var3.measure.child import run_child\n"
        "run_child(['sleep', sys.argv[1]], env={'PATH': sys.argv[2]}, cwd=None, "
        "log=Path(sys.argv[3]), limit_s=60)"
    )
    words = [sys.executable, "-c", code, OURS, os.environ["PATH"], str(tmp_path / "log")]
    with subprocess.Popen(words) as parent:
        try:
            end = time.monotonic() + 20
            while len(processes_of(OURS)) < 3 and time.monotonic() < end:
                time.sleep(0.02)
            parent.send_signal(signal.SIGSTOP)
            (guard,) = set(processes_of("child_guard.py")) & set(processes_of(OURS))
            os.kill(guard, signal.SIGKILL)
            while processes_of(OURS) != [parent.pid] and time.monotonic() < end:
                time.sleep(0.02)
            assert processes_of(OURS) == [parent.pid]
        finally:
            parent.kill()


def test_what_starts_while_a_killed_guards_session_is_ended_is_ended_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process table of three looks: 101 has started 102 when it is killed."""

    killed: list[tuple[int, int]] = []
    guard: list[int] = []
    start = child._start

    def starts(*words: object) -> object:
        process = start(*words)  # type: ignore[arg-type]
        guard.append(process.pid)
        return process

    monkeypatch.setattr(child, "_start", starts)

    def kill_guard(line: str) -> None:
        (own,) = guard
        os.kill(own, signal.SIGKILL)
        tables = iter(({101: (1, own)}, {102: (1, own), 103: (1, 1)}, {103: (1, 1)}))
        monkeypatch.setattr(child_guard, "processes", lambda: next(tables))
        monkeypatch.setattr(os, "kill", lambda pid, number: killed.append((pid, number)))

    assert (
        run(tmp_path, "sh", "-c", f"echo x; exec sleep {OURS}", on_line=kill_guard).returncode
        == 137
    )
    assert killed == [(101, signal.SIGKILL), (102, signal.SIGKILL)]


def test_a_child_that_closes_its_output_is_waited_for(tmp_path: Path) -> None:
    done = tmp_path / "done"
    result = run(tmp_path, "sh", "-c", f"exec >&- 2>&-; sleep 0.4; touch {done}; exit 5")
    assert (result.returncode, result.timed_out) == (5, False)
    assert done.exists()


def test_long_output_is_cut_in_the_middle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mla_var3.measure.child.HEAD_BYTES", 1000)
    monkeypatch.setattr("mla_var3.measure.child.TAIL_BYTES", 500)
    code = "for i in range(2000): print(i)"
    result = run(tmp_path, *PYTHON, code)
    kept = result.log_path.read_bytes()
    assert kept.startswith(b"0\n1\n2\n") and kept.endswith(b"1998\n1999\n")
    assert kept.count(CUT) == 1
    assert len(kept) == 1500 + len(CUT)
    assert result.tail[-1] == "1999"


def test_a_line_without_end_costs_no_memory(tmp_path: Path) -> None:
    result = run(tmp_path, *PYTHON, "print('x' * 100_000)")
    assert max(map(len, result.tail)) == 4096
    assert result.text.count("x") == 100_000


def test_an_error_in_a_callback_ends_the_child(tmp_path: Path) -> None:
    def fail(line: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, "sh", "-c", f"echo x; sleep {OURS}", on_line=fail)
    assert processes_of(OURS) == []
