"""Runs one command so that nothing of it outlives its parent: a script of the standard library.

`child.py` starts it in a session of its own, as `python child_guard.py LIFELINE COMMAND …`, where
LIFELINE is the reading end of a pipe. When the parent closes the pipe, or is killed, the command
is killed with everything it started. One byte on the pipe asks politely first. The exit code is
the command's, 128 + N where signal N ended it.
"""

import contextlib
import ctypes
import os
import select
import signal
import sys
import time

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
GRACE_S = 2.0
"""Between the polite signal and the one that cannot be refused."""
POLL_S = 0.02
ROUNDS = 200
"""Of killing, at most: what the kernel holds back cannot be waited for."""


def set_process_option(option: int, value: int) -> None:
    """`prctl`, where the system has it."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def die_with(parent: int) -> None:
    """Ask the kernel to kill this process when its parent ends."""
    set_process_option(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before the kernel knew
        os._exit(128 + signal.SIGKILL)


def processes() -> dict[int, tuple[int, int]]:
    """Parent and session of every process by its id; empty where there is no /proc."""
    found = {}
    for word in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if word.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                with open(f"/proc/{word}/stat", encoding="ascii", errors="replace") as file:
                    state, parent, _, session = file.read().rpartition(")")[2].split()[:4]
                if state != "Z":
                    found[int(word)] = int(parent), int(session)
    return found


def descendants(root: int) -> set[int]:
    """Everything that `root` started and that still runs; orphans come to a subreaper."""
    table = processes()
    found: set[int] = set()
    new = {root}
    while new:
        new = {pid for pid, (parent, _) in table.items() if parent in new} - found
        found |= new
    return found


def kill_all(root: int) -> None:
    """Kill the group of `root` and all that this process started, until nothing is left."""
    for _ in range(ROUNDS):
        with contextlib.suppress(OSError):
            os.killpg(root, signal.SIGKILL)
        left = descendants(os.getpid())
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        reap()
        if not left:
            return
        time.sleep(POLL_S)


def reap() -> dict[int, int]:
    """Exit codes of the children that have ended, by process."""
    codes = {}
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                break
            code = os.waitstatus_to_exitcode(status)
            codes[pid] = code if code >= 0 else 128 - code
    return codes


def start(command: list[str]) -> int:
    """The process of the command, in a group of its own."""
    guard = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setpgid(0, 0)
        die_with(guard)
        os.execvpe(command[0], command, os.environ)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
    os._exit(127)


def watch(command: list[str], lifeline: int) -> int:
    """Run the command to its end, or until the parent lets go; its exit code."""
    set_process_option(PR_SET_CHILD_SUBREAPER, 1)
    child = start(command)
    with open(os.devnull, "r+b", buffering=0) as nothing:
        for stream in (0, 1, 2):  # the pipe must close when the command's own ends do
            os.dup2(nothing.fileno(), stream)
    deadline = None
    while True:
        codes = reap()
        if child in codes:
            kill_all(child)
            return codes[child]
        if deadline is not None and time.monotonic() > deadline:
            kill_all(child)
            return 128 + signal.SIGKILL
        ready, _, _ = select.select([lifeline], [], [], POLL_S)
        if ready and deadline is None:
            if os.read(lifeline, 1):
                deadline = time.monotonic() + GRACE_S
                with contextlib.suppress(OSError):
                    os.killpg(child, signal.SIGTERM)
            else:
                deadline = 0.0
        elif ready and not os.read(lifeline, 1):
            deadline = 0.0


if __name__ == "__main__":
    sys.exit(watch(sys.argv[2:], int(sys.argv[1])))
