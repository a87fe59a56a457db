"""A stand-in for ncu on a search path: notes how it was called, hands out a prepared report."""

import sys
from pathlib import Path

SCRIPT = """#!{python}
import shutil, sys, time
from pathlib import Path
words = sys.argv[1:]
calls = Path({calls!r})
with calls.open("a", encoding="utf-8") as file:
    file.write("\\x1f".join(words) + "\\n")
count = len(calls.read_text(encoding="utf-8").splitlines())
print({banner!r}, flush=True)
{body}
"""
BANNER = "==PROF== Connected to process 4711 (/usr/bin/python3)"
PROFILING = '==PROF== Profiling "{name}" - 0: 0%....50%....100% - 14 passes'
COPY = """
report = Path(words[words.index("--export") + 1] + ".ncu-rep")
for name in {names!r}:
    print('==PROF== Profiling "' + name + '" - 0: 0%....50%....100% - 14 passes', flush=True)
shutil.copy({report!r}, report)
print("==PROF== Report: " + str(report))
"""


class FakeNcu:
    """Where it lies, the variables that lead to it, and the calls it saw."""

    def __init__(self, folder: Path, body: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.calls_file = folder / "calls.txt"
        tool = folder / "ncu"
        text = SCRIPT.format(
            python=sys.executable, calls=str(self.calls_file), banner=BANNER, body=body
        )
        tool.write_text(text, encoding="utf-8")
        tool.chmod(0o755)
        self.environment = {"PATH": str(folder)}

    @property
    def calls(self) -> list[list[str]]:
        """The arguments of every call."""
        lines = self.calls_file.read_text(encoding="utf-8").splitlines()
        return [line.split("\x1f") for line in lines]


def handing_out(folder: Path, report: Path, names: tuple[str, ...] = ("kernel",)) -> FakeNcu:
    """An ncu that works: it profiles `names` and leaves a copy of `report`."""
    return FakeNcu(folder, COPY.format(names=names, report=str(report)))
