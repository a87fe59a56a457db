"""Runs a command as a child that cannot outlive us: bounded output, a time limit, no orphans."""

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO, NamedTuple

from mla_var3 import conf
from mla_var3.core.errors import MachineCannot
from mla_var3.measure import child_guard

HEAD_BYTES = 4 << 20
"""Of the output kept from its beginning; then `TAIL_BYTES` of its end."""
TAIL_BYTES = 256 << 10
TAIL_LINES = 40
LINE_BYTES = 4096
"""A longer line is cut into several."""
CUT = b"\n[... output cut here ...]\n"


class Watch(NamedTuple):
    """Follows an output that grows within a line: a bar of progress."""

    line: Callable[[str], None]
    """Called with each whole line."""
    unfinished: Callable[[str], None]
    """Called with the beginning of a line, each time that more of it has come."""


class ChildResult(NamedTuple):
    """How a command ended. `returncode` is 128 + N where signal N ended it."""

    returncode: int
    timed_out: bool
    log_path: Path
    tail: tuple[str, ...]
    """Its last lines, stdout and stderr as they came."""

    @property
    def text(self) -> str:
        """What the log holds, for a search in it."""
        try:
            return self.log_path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return "\n".join(self.tail)


def child_environment(
    extra: Mapping[str, str] = {}, source: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The few variables that a measuring child gets, of ours, and `extra`."""
    have = os.environ if source is None else source
    names = conf.table("event")["environment"]
    return {name: have[name] for name in names if name in have} | dict(extra)


def run_child(
    command: list[str],
    *,
    env: Mapping[str, str],
    cwd: Path | None,
    log: Path,
    limit_s: float,
    on_line: Callable[[str], None] | Watch | None = None,
) -> ChildResult:
    """Run a command to its end, at most `limit_s` seconds, with its output in `log`.

    It gets a session of its own, no input, and `env` alone. Whatever it started is killed when it
    ends, at the limit, and when this process ends, however that happens.
    """
    lifeline, ours = os.pipe()
    try:
        guard = _start(command, env, cwd, lifeline)
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(lifeline)
    try:
        with log.open("wb") as file:
            output = _Output(file, on_line)
            timed_out = _drain(guard, output, ours, limit_s)
            output.close()
    finally:
        os.close(ours)  # the guard kills what is left
        returncode = _ended(guard)
        assert guard.stdout is not None
        guard.stdout.close()
    return ChildResult(returncode, timed_out, log, tuple(output.tail))


def _start(
    command: list[str], env: Mapping[str, str], cwd: Path | None, lifeline: int
) -> subprocess.Popen[bytes]:
    guard = [sys.executable, "-I", "-S", child_guard.__file__, str(lifeline)]
    try:
        return subprocess.Popen(
            [*guard, *command],
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(lifeline,),
            start_new_session=True,
        )
    except OSError as error:
        raise MachineCannot(f"cannot start {Path(command[0]).name}: {error.strerror}") from error


def _drain(
    guard: subprocess.Popen[bytes], output: "_Output", lifeline: int, limit_s: float
) -> bool:
    """Read until the output and the guard end; whether the limit was reached."""
    if _read_until(guard, output, time.monotonic() + limit_s):
        return False
    with contextlib.suppress(OSError):
        os.write(lifeline, b"T")
    _read_until(guard, output, time.monotonic() + 2 * child_guard.GRACE_S)
    return True


def _read_until(guard: subprocess.Popen[bytes], output: "_Output", end: float) -> bool:
    """Pass the output on until it ends (True) or the time has come (False)."""
    assert guard.stdout is not None
    while (left := end - time.monotonic()) > 0:
        ready, _, _ = select.select([guard.stdout], [], [], min(left, 0.2))
        if ready:
            chunk = os.read(guard.stdout.fileno(), 1 << 16)
            if not chunk:
                return _waited(guard, end)
            output.write(chunk)
        elif guard.poll() is not None:
            return True  # something of it lives on with the pipe open: it is killed next
    return False


def _waited(guard: subprocess.Popen[bytes], end: float) -> bool:
    """Whether the command, which has closed its output, ends in time."""
    try:
        guard.wait(max(0.0, end - time.monotonic()))
    except subprocess.TimeoutExpired:
        return False
    return True


def _ended(guard: subprocess.Popen[bytes]) -> int:
    """The command's exit code, once nothing of its session runs any more."""
    try:
        code = guard.wait(4 * child_guard.GRACE_S)
    except subprocess.TimeoutExpired:
        guard.kill()
        code = guard.wait()
    if code < 0:  # the guard itself was killed: its session is ours to end
        _kill_session(guard.pid)
        return 128 - code
    return code


def _kill_session(session: int) -> None:
    """Kill what is of a session until nothing is left: one of them may just start another."""
    for _ in range(child_guard.ROUNDS):
        left = [pid for pid, (_, own) in child_guard.processes().items() if own == session]
        if not left:
            return
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(child_guard.POLL_S)


class _Output:
    """Keeps the beginning and the end of an output, and calls `on_line` with each line."""

    def __init__(self, file: BinaryIO, on_line: Callable[[str], None] | Watch | None) -> None:
        self.tail: deque[str] = deque(maxlen=TAIL_LINES)
        self._file = file
        self._on_line: Callable[[str], None] | None
        self._unfinished: Callable[[str], None] | None = None
        if isinstance(on_line, Watch):
            self._on_line, self._unfinished = on_line
        else:
            self._on_line = on_line
        self._room = HEAD_BYTES
        self._end = bytearray()
        self._cut = False
        self._line = b""

    def write(self, chunk: bytes) -> None:
        self._keep(chunk)
        *lines, self._line = (self._line + chunk).split(b"\n")
        while len(self._line) > LINE_BYTES:
            lines.append(self._line[:LINE_BYTES])
            self._line = self._line[LINE_BYTES:]
        for line in lines:
            self._tell(line)
        if self._unfinished is not None and self._line:
            self._unfinished(_text(self._line))

    def close(self) -> None:
        if self._line:
            self._tell(self._line)
        if self._cut:
            self._file.write(CUT)
        self._file.write(self._end)

    def _keep(self, chunk: bytes) -> None:
        head, rest = chunk[: self._room], chunk[self._room :]
        self._room -= len(head)
        self._file.write(head)
        self._file.flush()
        self._end += rest
        if len(self._end) > TAIL_BYTES:
            self._cut = True
            del self._end[:-TAIL_BYTES]

    def _tell(self, line: bytes) -> None:
        text = _text(line[:LINE_BYTES])
        self.tail.append(text)
        if self._on_line is not None:
            self._on_line(text)


def _text(line: bytes) -> str:
    return line.decode("utf-8", errors="replace").rstrip("\r")
