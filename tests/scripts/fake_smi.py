"""A machine whose `nvidia-smi` is a script: it writes down each call and plays its GPUs."""

import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from tests.conftest import ROOT

H200 = "GPU-1c0f0000-0000-4000-8000-000000000001"
SECOND = "GPU-2d1e0000-0000-4000-8000-000000000002"
TOOLS = (
    "awk basename bash cat dirname grep kill mkdir paste python3 rm sed sleep sort timeout".split()
)

STATE = ("persistence_mode", "clocks.sm")
"""What the scripts change."""

SCRIPT = r"""#!/usr/bin/env bash
# No other program is started here: this runs hundreds of times.
here=${BASH_SOURCE[0]%/*}
slurp() { IFS= read -r -d '' text <"$1"; }
printf '%s\n' "$*" >>"$here/calls"
gpus=("$here"/gpus/*)
if [ "$1" = -i ]; then
  for one in "${gpus[@]}"; do
    slurp "$one/uuid"
    [ "$text" != "$2" ] || gpu=$one
  done
  gpus=("$gpu")
  shift 2
fi
for said in "$here"/says/*; do
  [ -e "$said" ] || continue
  slurp "$said/start"
  if [[ "$*" == "$text"* ]]; then
    slurp "$said/text"
    printf '%s\n' "$text"
    slurp "$said/code"
    exit "$text"
  fi
done
case $1 in
  --query-gpu=*)
    IFS=, read -r -a fields <<<"${1#*=}"
    for one in "${gpus[@]}"; do
      line=""
      for field in "${fields[@]}"; do
        [ -e "$one/$field" ] || { echo "Field \"$field\" is not a valid field to query."; exit 2; }
        slurp "$one/$field"
        line+=", $text"
      done
      echo "${line#, }"
    done
    exit ;;
  --query-supported-clocks=gr)
    slurp "$gpu/steps"
    printf '%s\n' "$text"
    exit ;;
  -pm)
    modes=(Disabled Enabled)
    printf '%s' "${modes[$2]}" >"$gpu/persistence_mode" ;;
  -lgc)
    slurp "$here/off"
    printf '%s' "$((${2%,*} + text))" >"$gpu/clocks.sm"
    echo 'GPU clocks set to "(gpuClkMin, gpuClkMax)" for GPU 00000000:19:00.0' ;;
  -rgc) printf 345 >"$gpu/clocks.sm" ;;
  *)
    echo "the fake does not know $*"
    exit 99 ;;
esac
echo "All done."
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
        fake.write_text(SCRIPT)
        fake.chmod(0o755)

    def says(self, start: str, code: int, text: str) -> "Machine":
        """Answer calls that begin with `start` (after the device) by this code and text."""
        self.setup["says"][start] = (code, text)
        return self

    def start(self, script: str, *words: str) -> subprocess.Popen[str]:
        """Start a script in a group of its own, as a terminal would."""
        self._write()
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
        for place, fields in zip(self._gpus(), self.setup["gpus"], strict=True):
            fields |= {name: (place / name).read_text() for name in STATE if name in fields}
        return Ran(child.returncode, out, err, self.changes())

    def _gpus(self) -> list[Path]:
        return [self.bin / "gpus" / str(n) for n in range(len(self.setup["gpus"]))]

    def _write(self) -> None:
        """The machine as the fake reads it: a file a field."""
        files = {"off": self.setup["off"]}
        for place, fields in zip(self._gpus(), self.setup["gpus"], strict=True):
            steps = "\n".join(map(str, fields["steps"]))
            files |= {f"gpus/{place.name}/{k}": v for k, v in (fields | {"steps": steps}).items()}
        for number, (start, (code, text)) in enumerate(self.setup["says"].items()):
            said = {"start": start, "code": code, "text": text}
            files |= {f"says/{number}/{name}": value for name, value in said.items()}
        shutil.rmtree(self.bin / "says", ignore_errors=True)
        for name, value in files.items():
            (self.bin / name).parent.mkdir(parents=True, exist_ok=True)
            (self.bin / name).write_text(str(value))

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

    def note(self, uuid: str) -> str:
        """What the scripts noted of a GPU."""
        (file,) = self.state.rglob(uuid)
        return file.read_text()

    def remembered(self) -> list[str]:
        """The GPUs that the scripts remember as locked."""
        return sorted(file.name for file in self.state.rglob("GPU-*"))
