"""The `mla` command: find the subcommand, run it, turn what went wrong into one line and a code."""

import importlib
import os
import sys
from collections.abc import Sequence
from contextvars import ContextVar

from mla_var3.core.errors import MlaError

COMMANDS = {
    "diagnose": "what limits each kernel of a recorded report, why, where, what to try",
    "import": "store a recorded report with its diagnosis and contract",
    "list": "the stored profiles",
    "report": "make the reports of a stored profile again; --index: a page of all profiles",
    "history": "all stored profiles by time; change points; SQL, CSV, JSON",
    "run": "measure, compile or check a kernel; without a name: list the kernels",
    "compare": "two versions, plans or stored runs against each other, with a verdict",
    "race": "several plans in turn, and their ratios to the first",
    "devlog": "the figures of a version into the development log of its kernel",
    "doctor": "what works on this machine, found by doing it, and the fix of what does not",
    "capture-command": "the exact ncu line that records a program of your own",
    "schema": "print the format of the files, or check a file against it",
}
MODULES = {"import": "importing", "list": "listing", "capture-command": "capture"}

TRACEBACKS = ContextVar("tracebacks", default=False)
"""Whether errors show their traceback: `--debug`."""

OVERVIEW = """\
mla: why a GPU kernel is slow, from a report recorded anywhere (needs no GPU) or from a run here.

{commands}

Try:  mla diagnose report.ncu-rep              one screen
      mla diagnose report.ncu-rep --contract   the Profiler Output Contract
      mla run                                  the kernels, and what this machine can do with them
      mla COMMAND --help                       options, with defaults and units

Every command takes --debug (a traceback for errors). mla --version tells the version.
Exit: 0 done, 2 bad arguments, 3 not possible here, 4 kernel failed, 5 no usable data,
6 unreliable, 7 time limit; 10 slower and 11 inconclusive with --gate; 12 not comparable.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    TRACEBACKS.set("--debug" in words)
    words = [word for word in words if word != "--debug"]
    try:
        code = _run(words)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # The reader of the pipe has enough. stdout must not complain again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except KeyboardInterrupt:
        sys.stderr.write("\ninterrupted; nothing half-written is kept\n")
        return 130
    except MlaError as error:
        return fail(error)
    except Exception as error:
        return _internal(error)


def fail(error: MlaError, file: str = "") -> int:
    """Say the error in one line, naming the file; returns its exit code."""
    from mla_var3.cli.console import say

    _trace(error)
    text = str(error)
    # A word in capitals, such as EMPTY or NOT_FOUND, begins the line: programs look for it.
    word, _, why = text.partition(" ")
    if not word.isupper():
        text = f"mla: {text}" if file in text else f"mla: {file}: {text}"
    elif file not in text:
        text = f"{word} {file}: {why}"
    say(text)
    return error.exit_code


def _trace(error: Exception) -> None:
    sys.stdout.flush()
    if TRACEBACKS.get():
        import traceback

        traceback.print_exception(error)


def overview() -> str:
    """The commands, one line each, and where to look further."""
    width = max(map(len, COMMANDS))
    lines = (f"  mla {name.ljust(width)}   {about}" for name, about in COMMANDS.items())
    return OVERVIEW.format(commands="\n".join(lines))


def _run(words: list[str]) -> int:
    first = words[0] if words else "--help"
    if first in ("--help", "-h", "help"):
        sys.stdout.write(overview())
        return 0
    if first == "--version":
        from mla_var3 import __version__

        sys.stdout.write(f"mla_var3 {__version__}\n")
        return 0
    if first not in COMMANDS:
        from mla_var3.cli.arguments import nearest
        from mla_var3.core.errors import BadArgument

        kind = "option" if first.startswith("-") else "command"
        hint = nearest(first, list(COMMANDS)) or "; mla --help names them"
        raise BadArgument(f"no {kind} {first!r}{hint}")
    module = importlib.import_module(f"mla_var3.cli.{MODULES.get(first, first)}")
    try:
        code: int = module.run(words[1:])
    except SystemExit as stop:  # tyro's --help
        return int(stop.code or 0)
    return code


def _internal(error: Exception) -> int:
    from mla_var3.cli.console import say

    _trace(error)
    kind = type(error).__name__
    say(f"mla: internal error, {kind}: {error}; please report it, with what --debug prints")
    return 1
