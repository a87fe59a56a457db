"""What nvidia-smi tells of one GPU, again and again: where NVML cannot be asked directly.

One process answers every 100 ms; it is ended with the run. It adds nothing up: there are no
counters of what held the clock back.
"""

import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from typing import Any

from mla_var3 import conf
from mla_var3.core.monitor import Reading
from mla_var3.measure.clocks import FAMILIES, TOOL, Run, query, run_tool

_ACTIVE = ("Active", "Not Active")


class SmiProbe:
    """Reads one device every 100 ms. Raises `OSError` with the reason where it cannot be asked."""

    source = TOOL
    counters_from = ""

    def __init__(self, uuid: str, search_path: str | None = None, run: Run | None = None) -> None:
        """`search_path` replaces PATH."""
        self._table = conf.table("monitor")
        self.period_ms: float = self._table["period_ms"][TOOL]
        tool = shutil.which(TOOL, path=search_path)
        if tool is None:
            raise OSError(f"no {TOOL} on PATH")
        self._tool, self._uuid = tool, uuid
        self._fields = self._known(run or run_tool)
        self._loop: subprocess.Popen[str] | None = None

    def readings(self, stop: threading.Event) -> Iterator[Reading]:
        """Its answers as they come, until told to stop or it ends."""
        command = [self._tool, "-i", self._uuid, f"--query-gpu={','.join(self._fields)}"]
        command += ["--format=csv,noheader,nounits", "-lms", f"{self.period_ms:.0f}"]
        self._loop = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            errors="replace",
        )
        for line in self._loop.stdout or ():
            if stop.is_set():
                return
            cells = [cell.strip() for cell in line.split(",")]
            if len(cells) == len(self._fields):
                yield self._reading(dict(zip(self._fields, cells, strict=True)))

    def counters(self) -> tuple[dict[str, float], float | None]:
        """Nothing: nvidia-smi adds nothing up."""
        return {}, None

    def pause(self, paused: bool) -> None:
        """Stop or go on reading."""
        if self._loop is not None and self._loop.poll() is None:
            os.kill(self._loop.pid, signal.SIGSTOP if paused else signal.SIGCONT)

    def close(self) -> None:
        if self._loop is not None:
            self._loop.kill()
            self._loop.wait()
            if self._loop.stdout:
                self._loop.stdout.close()

    def _known(self, run: Run) -> tuple[str, ...]:
        """The fields that this driver knows: the newer names first, each tried alone."""
        figures: dict[str, str] = self._table["smi_figures"]
        older: dict[str, str] = self._table["smi_older_power"]
        names = [entry["smi"] for entry in self._table["reasons"].values()]
        power = {name: older.get(name, name) for name in figures}
        for named in (tuple(figures), tuple(filter(None, power.values()))):
            for family in (*FAMILIES, ""):
                reasons = tuple(f"{family}.{name}" for name in names) if family else ()
                answer = query(run, self._tool, self._uuid, (*named, *reasons))
                if not isinstance(answer, str):
                    return (*named, *reasons)
        raise OSError(str(answer))

    def _reading(self, told: dict[str, str]) -> Reading:
        figures: dict[str, str] = self._table["smi_figures"]
        older = {old: new for new, old in self._table["smi_older_power"].items() if old}
        found = {
            figures[older.get(name, name)]: _number(text)
            for name, text in told.items()
            if older.get(name, name) in figures
        }
        states = {
            name.rpartition(".")[2]: text for name, text in told.items() if "_reasons." in name
        }
        return Reading(time.perf_counter_ns(), reasons=self._bits(states), **found)

    def _bits(self, states: dict[str, str]) -> int | None:
        if not any(text in _ACTIVE for text in states.values()):
            return None
        entries: list[dict[str, Any]] = list(self._table["reasons"].values())
        return sum(int(e["bit"]) for e in entries if states.get(e["smi"]) == "Active")


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
