"""The real command line in a process of its own, as a user runs it."""

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple


class Ran(NamedTuple):
    """What one command printed, and its exit code."""

    code: int
    out: str
    err: str


def mla(*words: str | Path, cwd: Path | None = None, **environment: str) -> Ran:
    """Run `python -m mla_var3 WORDS` with pipes for stdout and stderr."""
    done = subprocess.run(
        [sys.executable, "-m", "mla_var3", *map(str, words)],
        cwd=cwd,
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
    return Ran(done.returncode, done.stdout, done.stderr)
