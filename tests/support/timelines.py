"""Timelines made by hand in microseconds, and those of the recordings."""

import lzma
import tempfile
from functools import cache
from pathlib import Path

from mla_var3.core.timeline import (
    Call,
    Kind,
    Operation,
    PlanTimeline,
    Range,
    Shape,
    Timeline,
    TimelineDevice,
)
from mla_var3.measure.nsys_reader.read import read_timeline

ROOT = Path(__file__).parent.parent.parent
THREAD, PROCESS = 5, 9


class Made:
    """Collects calls, operations and ranges; times in µs."""

    def __init__(self) -> None:
        self.names: dict[str, int] = {}
        self.shapes: dict[tuple[Kind, str], int] = {}
        self.operations: list[Operation] = []
        self.calls: list[Call] = []
        self.ranges: list[Range] = []

    def call(
        self, name: str, begin: float, end: float, thread: int = THREAD, process: int = PROCESS
    ) -> int:
        """An API call; its position, to launch with."""
        number = self.names.setdefault(name, len(self.names))
        self.calls.append(Call(number, _ns(begin), _ns(end), thread, process))
        return len(self.calls) - 1

    def ran(
        self,
        name: str,
        stream: int,
        begin: float,
        end: float,
        call: int = -1,
        kind: Kind = "kernel",
    ) -> None:
        """One operation; those of kind `cpu` run on the CPU, `stream` is their thread."""
        device = -1 if kind == "cpu" else 0
        shape = self.shapes.setdefault((kind, name), len(self.shapes))
        self.operations.append(
            Operation(shape, _ns(begin), _ns(end), device, 1, stream, PROCESS, call)
        )

    def launch(
        self, name: str, stream: int, at: float, begin: float, end: float, kind: Kind = "kernel"
    ) -> None:
        """An operation and its call of 1 µs."""
        self.ran(name, stream, begin, end, self.call("cudaLaunchKernel_v7000", at, at + 1), kind)

    def inside(self, name: str, begin: float, end: float | None, nested: bool = True) -> None:
        """One range."""
        number = self.names.setdefault(name, len(self.names))
        last = None if end is None else _ns(end)
        self.ranges.append(Range(number, _ns(begin), last, THREAD, PROCESS, nested))

    def timeline(self, plan: PlanTimeline | None = None, **more: object) -> Timeline:
        """All of it, by start."""
        order = sorted(range(len(self.calls)), key=lambda at: self.calls[at].start)
        moved = {old: new for new, old in enumerate(order)} | {-1: -1}
        operations = [
            Operation(
                o.shape, o.start, o.end, o.device, o.context, o.stream, o.process, moved[o.call]
            )
            for o in self.operations
        ]
        return Timeline(
            collector="nsys",
            tool="nsys 2025.3.2",
            plan=plan,
            devices=(TimelineDevice(name="NVIDIA H200", ordinal=0),),
            names=tuple(self.names),
            shapes=tuple(
                Shape(kind=kind, name=name, full_name=f"void {name}()")
                for kind, name in self.shapes
            ),
            operations=tuple(sorted(operations, key=lambda one: one.start)),
            calls=tuple(self.calls[at] for at in order),
            ranges=tuple(sorted(self.ranges, key=lambda one: one.start)),
            **more,
        )


def _ns(microseconds: float) -> int:
    return round(microseconds * 1000)


@cache
def unpacked(name: str) -> Path:
    """The plain SQLite file of a recording in `examples/`."""
    folder = Path(tempfile.mkdtemp(prefix="timelines-"))
    path = folder / f"{name}.sqlite"
    path.write_bytes(lzma.decompress((ROOT / "examples" / f"{name}.sqlite.xz").read_bytes()))
    return path


@cache
def recorded(name: str) -> Timeline:
    """The timeline of a recording: `concurrent`, `copies`, `launchbound`."""
    return read_timeline(unpacked(name))


def concurrent_plan(
    iterations: int = 5, together: int = 5, solo: bool = True, streams: tuple[int, int] = (13, 17)
) -> Timeline:
    """matmul (100 µs) and copy (40 µs) of a plan, then join (10 µs), as our own captures are.

    In `together` of the iterations the copy runs inside the matmul, in the others after it. Alone,
    matmul takes 90 µs and copy 30 µs; a warm-up of 500 µs stands before.
    """
    made = Made()
    made.inside("warm-up", 0, 600)
    made.launch("mm", streams[0], 10, 50, 550)
    at = 1000.0
    if solo:
        made.inside("solo", at, at + 400)
        for name, stream, shift, length in (("matmul", 0, 0, 90), ("copy", 1, 200, 30)):
            made.inside(name, at + shift + 1, at + shift + 150)
            begin = at + shift + 10
            made.launch(name, streams[stream], at + shift + 2, begin, begin + length)
        at += 1000
    for number in range(iterations):
        made.inside("iteration", at, at + 300)
        made.inside("matmul", at + 1, at + 5)
        made.launch("mm", streams[0], at + 2, at + 10, at + 110)
        made.inside("copy", at + 6, at + 9)
        begin = at + (20 if number < together else 110)
        made.launch("memcpy HtoD", streams[1], at + 7, begin, begin + 40, "memcpy")
        made.inside("join", at + 10, at + 14)
        made.launch("add", streams[0], at + 11, at + 155, at + 165)
        at += 300
    plan = PlanTimeline(
        stages=("matmul", "copy", "join"),
        groups=(("matmul", "copy"),),
        streams=len(set(streams)),
    )
    return made.timeline(plan)
