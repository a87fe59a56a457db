"""The task `race`: several plans in one process, in rounds there and back."""

from pathlib import Path

import msgspec

from mla_var3.core.errors import NoUsableData
from mla_var3.core.race import Round
from mla_var3.core.timing import Machine, WarmUp
from mla_var3.measure import race as rounds
from mla_var3.measure import timing
from mla_var3.measure.timing_cpu import CpuLoad
from mla_var3.measure.worker_event import flush_words
from mla_var3.measure.worker_run import tell_progress
from mla_var3.measure.worker_sides import (
    call_ns,
    check_sides,
    crowd,
    hold_alike,
    poison_sides,
    prepare_sides,
    timers_of,
)
from mla_var3.measure.worker_spec import WorkerSpec

RESULT = "worker-raced.json"


class Raced(msgspec.Struct, frozen=True, kw_only=True):
    """What the process hands back."""

    rounds: tuple[Round, ...]
    warm_up: WarmUp
    machine: Machine
    errors: tuple[float, ...]
    """Relative error of each contender's output."""
    timer: str
    queueing: str
    flush: str
    clock_source: str = ""
    no_clock: str = ""
    """Why the clocks are not known."""
    warnings: tuple[str, ...] = ()


def race(spec: WorkerSpec) -> None:
    """Check all, warm up in turn, run the rounds, and save."""
    by = timing.settings(spec.device, spec.settings)
    chosen = rounds.settings(spec.protocol)
    least = int(2 * chosen["rounds"] * (1 + chosen["least_calls"]))
    sides = prepare_sides(spec, least)
    ready = timers_of(sides.prepared, spec, by, sides.machine)
    timers = ready.timers
    warm = rounds.warm_up(timers, by)
    queueing = hold_alike(timers, [call_ns(timer) for timer in timers], by)
    poisoned = poison_sides(sides.prepared)
    load = CpuLoad()
    legs = 2 * len(timers) * int(chosen["rounds"])
    done = 0

    def on_leg() -> None:
        nonlocal done
        done += 1
        tell_progress(done, legs)

    taken = rounds.run(timers, chosen, spec.cache, ready.clock, on_leg)
    found = Raced(
        rounds=taken,
        warm_up=warm,
        machine=sides.machine,
        errors=sides.errors,
        timer=timers[0].name,
        queueing=queueing,
        flush=flush_words(ready.flush_bytes),
        clock_source=ready.clock.source if ready.clock else "",
        no_clock=ready.no_clock,
        warnings=(*crowd(spec.device, load, by), *check_sides(sides, poisoned)),
    )
    (Path(spec.out_dir) / RESULT).write_bytes(msgspec.json.encode(found))


def take_raced(folder: Path) -> Raced:
    """What the child left in its folder; the file is no artifact."""
    file = folder / RESULT
    if not file.is_file():
        raise NoUsableData("the measuring child left no times: nothing was raced")
    found = msgspec.json.decode(file.read_bytes(), type=Raced)
    file.unlink()
    return found
