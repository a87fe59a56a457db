"""Other programs that may hold the counters of a GPU, by the names of their processes."""

from pathlib import Path
from typing import NamedTuple

from mla_var3 import conf


class OtherProfiler(NamedTuple):
    """A process that runs now."""

    pid: int
    name: str
    advice: str


def other_profilers(proc: Path = Path("/proc")) -> tuple[OtherProfiler, ...] | None:
    """Those that are seen from here, by process id; None where processes cannot be listed.

    Processes outside of a container are not seen from within it.
    """
    advice: dict[str, str] = conf.table("doctor")["profilers"]
    if not (proc / "self").exists():
        return None
    found = []
    for folder in proc.iterdir():
        if folder.name.isdigit() and (name := _name(folder)) in advice:
            found.append(OtherProfiler(int(folder.name), name, advice[name]))
    return tuple(sorted(found))


def _name(folder: Path) -> str:
    """At most 15 characters, as the kernel keeps it."""
    try:
        return (folder / "comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:  # it has ended
        return ""
