"""The task `compare`: two plans in one process, in quads, with every sample."""

from pathlib import Path

import msgspec

from mla_var3.core import quads as core
from mla_var3.core.comparison import LEGS, QuadRun
from mla_var3.core.errors import NoUsableData
from mla_var3.core.timing import Machine
from mla_var3.measure import quads, timing
from mla_var3.measure.quads import Pair, Task
from mla_var3.measure.timing import Settings
from mla_var3.measure.timing_cpu import CpuLoad
from mla_var3.measure.worker_event import flush_words
from mla_var3.measure.worker_run import tell_progress
from mla_var3.measure.worker_sides import (
    call_ns,
    check_sides,
    crowd,
    hold_alike,
    launches_of,
    poison_sides,
    prepare_sides,
    timers_of,
)
from mla_var3.measure.worker_spec import WorkerSpec

RESULT = "worker-compared.json"
LETTERS = ("A", "B")


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """What one process hands back."""

    run: QuadRun
    machine: Machine
    outputs: dict[str, float]
    """Relative error of each side's output, by letter."""
    timer: str
    queueing: str
    flush: str
    launches: dict[str, int] = {}
    """Kernels in one call, by letter, where they were counted."""


def compare(spec: WorkerSpec) -> None:
    """Check, warm up in turn, time in quads, and save."""
    by = timing.settings(spec.device, spec.settings)
    chosen = quads.settings(spec.protocol)
    sides = prepare_sides(spec, least_calls(chosen))
    ready = timers_of((*sides.prepared, sides.again()), spec, by, sides.machine)
    timers = ready.timers
    pair = Pair(*timers)
    warm = quads.warm_up(pair, by)
    calls = [call_ns(timer) for timer in timers]
    queueing = hold_alike(timers, calls, by)
    poisoned = poison_sides(sides.prepared)
    load = CpuLoad()
    task = Task(chosen, spec.floor_pct, min(calls), spec.cache, spec.shapes, Count(chosen).leg)
    run = quads.take(pair, task, ready.clock)
    doubts = (*crowd(spec.device, load, by), *check_sides(sides, poisoned))
    counts = zip(LETTERS, launches_of(timers[: len(LETTERS)]), strict=True)
    found = Compared(
        run=msgspec.structs.replace(run, warm_up=warm, warnings=doubts, no_clock=ready.no_clock),
        machine=sides.machine,
        outputs=dict(zip(LETTERS, sides.errors, strict=True)),
        timer=timers[0].name,
        queueing=queueing,
        flush=flush_words(ready.flush_bytes),
        launches={letter: count for letter, count in counts if count is not None},
    )
    (Path(spec.out_dir) / RESULT).write_bytes(msgspec.json.encode(found))


def take_compared(folder: Path) -> Compared:
    """What a child left in its folder; the file is no artifact."""
    file = folder / RESULT
    if not file.is_file():
        raise NoUsableData("the measuring child left no times: nothing was compared")
    found = msgspec.json.decode(file.read_bytes(), type=Compared)
    file.unlink()
    return found


def least_calls(chosen: Settings) -> int:
    """Calls of a side up to the first look."""
    first, _ = core.planned_looks(chosen)
    legs = 2 * (int(chosen["self_check_quads"]) + first.quads)
    return legs * int(chosen["thrown_calls"] + chosen["calls"])


class Count:
    """Tells how many legs are done, and of how many: up to the first look, then to the second."""

    def __init__(self, chosen: Settings) -> None:
        first, second = core.planned_looks(chosen)
        check = int(chosen["self_check_quads"]) if chosen["self_check"] else 0
        self._ends = [LEGS * (check + look.quads) for look in (first, second)]
        self._done = 0

    def leg(self) -> None:
        """One more."""
        self._done += 1
        if self._done % LEGS == 0:
            end = next((end for end in self._ends if self._done <= end), self._done)
            tell_progress(self._done, end)
