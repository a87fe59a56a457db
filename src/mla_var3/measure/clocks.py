"""The clocks of one GPU as nvidia-smi tells them, once, while the kernel runs.

The device is named by its UUID, never by an index. What the driver does not tell is missing with
its reason; it is never 0. The fields of throttle reasons have two names, by driver: both are tried.
"""

import os
import shutil
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec

from mla_var3.core.timing import Clock

TOOL = "nvidia-smi"
LIMIT_S = 10.0
FIGURES = {
    "clocks.sm": "sm_mhz",
    "clocks.mem": "memory_mhz",
    "clocks.max.sm": "max_sm_mhz",
    "temperature.gpu": "temperature_c",
    "power.draw": "power_w",
}
REASONS = {
    "sw_power_cap": "sw power cap",
    "hw_slowdown": "hw slowdown",
    "hw_thermal_slowdown": "hw thermal slowdown",
    "hw_power_brake_slowdown": "hw power brake",
    "sw_thermal_slowdown": "sw thermal slowdown",
    "applications_clocks_setting": "application clocks",
}
FAMILIES = ("clocks_event_reasons", "clocks_throttle_reasons")
"""Since driver 535, and before."""
LOCK = "applications_clocks_setting"

Run = Callable[[list[str]], tuple[int, str]]
"""Runs a command: its exit code and output."""


def read_clocks(uuid: str, search_path: str | None = None, run: Run | None = None) -> Clock:
    """Clocks, temperature, power and what holds the clock back; `search_path` replaces PATH."""
    tool = shutil.which(TOOL, path=search_path)
    if tool is None:
        return _nothing(f"no {TOOL} on PATH")
    if not uuid:
        return _nothing("the driver does not tell the UUID of the device")
    ask = run or run_tool
    answer = query(ask, tool, uuid, tuple(FIGURES))
    if isinstance(answer, str):
        return _nothing(answer)
    figures, missing = _numbers(answer)
    words, held = "no field of this driver tells why", None
    for family in FAMILIES:
        found = query(ask, tool, uuid, tuple(f"{family}.{reason}" for reason in REASONS))
        if not isinstance(found, str):
            held, words = dict(zip(REASONS, found, strict=True)), "not told by this driver"
            break
    active = tuple(REASONS[name] for name, text in (held or {}).items() if text == "Active")
    if not held or not any(text in ("Active", "Not Active") for text in held.values()):
        missing["reasons"] = words
    lock = {"Active": True, "Not Active": False}.get((held or {}).get(LOCK, ""))
    told = Clock(source=TOOL, reasons=active, locked=lock, missing=missing)
    return msgspec.structs.replace(told, **figures)


def driver_version(uuid: str, search_path: str | None = None, run: Run | None = None) -> str | None:
    """Version of the driver; None where it cannot be asked."""
    tool = shutil.which(TOOL, path=search_path)
    if tool is None or not uuid:
        return None
    answer = query(run or run_tool, tool, uuid, ("driver_version",))
    return None if isinstance(answer, str) or not _is_told(answer[0]) else answer[0]


def power_limit_w(
    uuid: str, search_path: str | None = None, run: Run | None = None
) -> float | None:
    """Watt that the driver holds the device to; None where it cannot be asked."""
    tool = shutil.which(TOOL, path=search_path)
    if tool is None or not uuid:
        return None
    answer = query(run or run_tool, tool, uuid, ("enforced.power.limit",))
    try:
        return None if isinstance(answer, str) else float(answer[0])
    except ValueError:
        return None


def locked_to_mhz(uuid: str, home: Path | None = None) -> float | None:
    """What scripts/lock-gpu-clock.sh locked the SM clock to; None where it did not.

    No driver tells it: the script notes it. `home` replaces the folder of such notes.
    """
    own = os.environ.get("XDG_STATE_HOME") or str(Path("~/.local/state").expanduser())
    file = (home or Path(own)) / "mla_var3" / "gpu-clock" / uuid
    try:
        lines = file.read_text(encoding="ascii", errors="replace").splitlines() if uuid else []
    except OSError:
        return None
    told = [line.removeprefix("clock=") for line in lines if line.startswith("clock=")]
    return float(told[-1]) if told and told[-1].isdigit() else None


def other_processes(
    uuid: str, search_path: str | None = None, run: Run | None = None
) -> int | None:
    """How many processes compute on the device, before we do; None where it cannot be asked."""
    tool = shutil.which(TOOL, path=search_path)
    if tool is None or not uuid:
        return None
    command = [tool, "-i", uuid, "--query-compute-apps=pid", "--format=csv,noheader"]
    code, text = (run or run_tool)(command)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if code or any(not line.isdigit() and not line.startswith("[") for line in lines):
        return None
    return len(lines)


class ClockWatch:
    """Reads the clocks beside the run, in a thread: nvidia-smi may take a second."""

    def __init__(self, read: Callable[[], Clock]) -> None:
        self._read = read
        self._thread: threading.Thread | None = None
        self._clock: Clock | None = None

    def start(self) -> None:
        """Begin to read; a second call does nothing."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._look, daemon=True)
            self._thread.start()

    def is_done(self) -> bool:
        """Whether the clocks have been read."""
        return self._clock is not None

    def result(self) -> Clock:
        """What was read by now."""
        return self._clock or _nothing(f"{TOOL} did not answer while the kernel ran")

    def _look(self) -> None:
        try:
            self._clock = self._read()
        except Exception as error:  # a thread must not print a traceback
            self._clock = _nothing(f"{TOOL} failed: {type(error).__name__}")


def run_tool(command: list[str]) -> tuple[int, str]:
    """Exit code and output of a tool that must answer soon."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return 124, f"no answer in {LIMIT_S:.0f} s"
    except OSError as error:
        return 127, error.strerror or type(error).__name__
    return done.returncode, done.stdout.decode("utf-8", errors="replace")


def query(run: Run, tool: str, uuid: str, fields: tuple[str, ...]) -> list[str] | str:
    """The answers of nvidia-smi in the order of the fields, or why there are none."""
    command = [tool, "-i", uuid, f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"]
    code, text = run(command)
    first = next((line.strip() for line in text.splitlines() if line.strip()), "no answer")
    if code:
        return f"{TOOL}: {first[:100]}"
    cells = [cell.strip() for cell in first.split(",")]
    return cells if len(cells) == len(fields) else f"{TOOL}: {first[:100]}"


def _numbers(cells: list[str]) -> tuple[dict[str, float], dict[str, str]]:
    """Figures by field, and the reasons of those that are no number."""
    figures, missing = {}, {}
    for name, text in zip(FIGURES.values(), cells, strict=True):
        try:
            figures[name] = float(text)
        except ValueError:
            missing[name] = f"{TOOL} answers {text[:60]!r}"
    return figures, missing


def _is_told(text: str) -> bool:
    return bool(text) and not text.startswith("[") and "deprecated" not in text


def _nothing(why: str) -> Clock:
    return Clock(source=TOOL, missing={"clock": why})
