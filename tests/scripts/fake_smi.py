"""A machine whose `nvidia-smi` is a script: it writes down each call and plays its GPUs."""

import ast
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from tests.conftest import ROOT

H200 = "GPU-1c0f0000-0000-4000-8000-000000000001"
SECOND = "GPU-2d1e0000-0000-4000-8000-000000000002"
TOOLS = (
    "awk basename bash cat dirname grep kill mkdir paste python3 rm sed sleep sort timeout".split()
)

SCRIPT = r"""#!{python} -IS
import sys  # and nothing else: it is started hundreds of times
here = __file__.rpartition("/")[0]
setup = eval(open(here + "/setup").read())
words = sys.argv[1:]
with open(here + "/calls", "a") as calls:
    calls.write(" ".join(words) + "\n")
gpus = setup["gpus"]
if words[:1] == ["-i"]:
    gpus = [gpu for gpu in gpus if gpu["uuid"] == words[1]]
    words = words[2:]
gpu = gpus[0] if gpus else {{}}
for start, (code, text) in setup["says"].items():
    if " ".join(words).startswith(start):
        print(text)
        sys.exit(code)

def done(text, **changes):
    gpu.update(changes)
    open(here + "/setup", "w").write(repr(setup))
    print(text)
    print("All done.")
    sys.exit(0)

if words[0].startswith("--query-gpu="):
    for one in gpus:
        cells = []
        for field in words[0].partition("=")[2].split(","):
            if field not in one:
                print(f'Field "{{field}}" is not a valid field to query.')
                sys.exit(2)
            cells.append(str(one[field]))
        print(", ".join(cells))
elif words[0] == "--query-supported-clocks=gr":
    print("\n".join(map(str, gpu["steps"])))
elif words[0] == "-pm":
    done("persistence mode", persistence_mode=["Disabled", "Enabled"][int(words[1])])
elif words[0] == "-lgc":
    clock = int(words[1].split(",")[0]) + setup["off"]
    done('GPU clocks set to "(gpuClkMin, gpuClkMax)"', **{{"clocks.sm": clock}})
elif words[0] == "-rgc":
    done("All done.", **{{"clocks.sm": 345}})
else:
    sys.exit(f"the fake does not know {{words}}")
"""


def gpu(
    index: int = 0, uuid: str = H200, name: str = "NVIDIA H200", **fields: Any
) -> dict[str, Any]:
    """One GPU by the fields that nvidia-smi is asked for."""
    return {
        "index": index,
        "uuid": uuid,
        "name": name,
        "mig.mode.current": "Disabled",
        "persistence_mode": "Disabled",
        "clocks.sm": 345,
        "steps": [1980, 1965, 1410, 1395, 1380, 345],
    } | fields


class Ran(NamedTuple):
    """How a script ended."""

    code: int
    out: str
    err: str
    changes: list[str]
    """The calls of nvidia-smi that change something, in order, without the device."""


class Machine:
    """A search path with the fake first, and a folder for what the scripts remember."""

    def __init__(self, folder: Path, *gpus: dict[str, Any]) -> None:
        self.folder = folder
        self.state = folder / "state"
        self.bin = folder / "bin"
        self.bin.mkdir()
        for tool in TOOLS:  # and nothing else: no real nvidia-smi is ever reached
            found = next(
                Path(p) / tool
                for p in os.defpath.split(":") + os.environ["PATH"].split(":")
                if p and (Path(p) / tool).exists()
            )
            (self.bin / tool).symlink_to(found)
        self.setup: dict[str, Any] = {"gpus": list(gpus) or [gpu()], "says": {}, "off": 0}
        fake = self.bin / "nvidia-smi"
        fake.write_text(SCRIPT.format(python=sys.executable))
        fake.chmod(0o755)

    def says(self, start: str, code: int, text: str) -> "Machine":
        """Answer calls that begin with `start` (after the device) by this code and text."""
        self.setup["says"][start] = (code, text)
        return self

    def start(self, script: str, *words: str) -> subprocess.Popen[str]:
        """Start a script in a group of its own, as a terminal would."""
        (self.bin / "setup").write_text(repr(self.setup))
        (self.bin / "calls").write_text("")
        return subprocess.Popen(
            ["bash", str(ROOT / "scripts" / f"{script}-gpu-clock.sh"), *words],
            env={
                "PATH": str(self.bin),
                "HOME": str(self.folder),
                "XDG_STATE_HOME": str(self.state),
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def run(self, script: str, *words: str) -> Ran:
        """Run `lock` (without waiting for the clock) or `reset` to its end."""
        waiting = ["--wait=0"] if script == "lock" and not any("--wait" in w for w in words) else []
        return self.end(self.start(script, *waiting, *words))

    def end(self, child: "subprocess.Popen[str]") -> Ran:
        """Wait for a script; the machine goes on as it left it."""
        out, err = child.communicate(timeout=60)
        self.setup = ast.literal_eval((self.bin / "setup").read_text())
        return Ran(child.returncode, out, err, self.changes())

    def calls(self) -> list[str]:
        """All calls of the last script so far."""
        return (self.bin / "calls").read_text().splitlines()

    def changes(self) -> list[str]:
        """The calls that change a GPU, without `-i UUID`."""
        found = []
        for call in self.calls():
            words = call.split()
            if "-pm" in words or "-lgc" in words or "-rgc" in words:
                assert words[0] == "-i", "a change must name its device"
                found.append(" ".join(words[2:]))
        return found

    def remembered(self) -> list[str]:
        """The GPUs that the scripts remember as locked."""
        return sorted(file.name for file in self.state.rglob("GPU-*"))
