"""A stand-in for nsys on a search path: notes how it was called, records and exports as told."""

import sys
from pathlib import Path

SCRIPT = """#!{python}
import os, shutil, sys, time
from pathlib import Path
words = sys.argv[1:]
here = Path({folder!r})
with (here / "calls.txt").open("a", encoding="utf-8") as file:
    file.write("\\x1f".join(words) + "\\n")
if words[:1] == ["--version"]:
    print("NVIDIA Nsight Systems version 2025.3.2.474-253236389321v0")
    sys.exit(0)
out = Path(words[words.index("-o") + 1])
if words[0] == "profile":
    (here / "environment.txt").write_text(repr(dict(os.environ)), encoding="utf-8")
    report = Path(str(out) + ".nsys-rep")
    number = sum(line.startswith("profile") for line in (here / "calls.txt").open())
    trace = words[words.index("-t") + 1]
{profile}
else:
{export}
"""
RECORD = """
print("Generating '/tmp/nsys-report-8f3a.qdstrm'")
report.write_text("a report with " + repr(dict(os.environ)))
print("Generated:\\n    " + str(report))
"""
HAND_OUT = """
shutil.copy({sqlite!r}, out)
"""


class FakeNsys:
    """Where it lies, the variables that lead to it, and the calls it saw."""

    def __init__(self, folder: Path, profile: str = RECORD, export: str = "pass") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.tool = folder / "nsys"
        text = SCRIPT.format(
            python=sys.executable,
            folder=str(folder),
            profile=_indented(profile),
            export=_indented(export),
        )
        self.tool.write_text(text, encoding="utf-8")
        self.tool.chmod(0o755)
        self.environment = {"PATH": f"{folder}:/usr/bin:/bin"}

    def calls(self, kind: str) -> list[list[str]]:
        """The arguments of every `profile`, or `export`."""
        lines = (self.folder / "calls.txt").read_text(encoding="utf-8").splitlines()
        return [words for line in lines if (words := line.split("\x1f"))[0] == kind]


def handing_out(folder: Path, sqlite: Path, profile: str = RECORD) -> FakeNsys:
    """An nsys that works: it exports a copy of `sqlite`."""
    return FakeNsys(folder, profile, HAND_OUT.format(sqlite=str(sqlite)))


def _indented(body: str) -> str:
    return "\n".join(f"    {line}" for line in body.strip().splitlines())
