"""Ends the range of a stage that launches more than a profiler can replay in reasonable time.

A profiler runs every launch inside a range many times. A stage of thousands of small kernels is
cut where the operators of torch, or the seconds, are used up; the rest of it runs outside.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from mla_var3.core.errors import NoUsableData

SEEN = "worker-ranges.json"
"""In the job's folder: what lay inside the range of each stage."""
OPERATORS, SECONDS = "operators", "seconds"
"""The settings of a job: operators a range, and seconds for all ranges."""

Cut = Literal["", "operators", "seconds"]


class RangeSeen(msgspec.Struct, frozen=True):
    """Operators of torch in one run of a stage, how many lay inside its range, and why not all.

    A kernel that is launched without torch counts as no operator.
    """

    inside: int = 0
    operators: int = 0
    cut: Cut = ""


class RangeLimit(NamedTuple):
    """What a range may hold; None: no limit. `deadline` is a time of `time.monotonic`."""

    operators: float | None = None
    deadline: float | None = None

    @property
    def is_over(self) -> bool:
        """Whether the time has come."""
        return self.deadline is not None and time.monotonic() >= self.deadline


class Counter:
    """Counts operators, and calls `close` once where a limit is reached."""

    def __init__(self, limit: RangeLimit, close: Callable[[], None]) -> None:
        self.limit = limit
        self.seen = RangeSeen()
        self._close = close

    def count(self) -> None:
        """An operator begins: it lies outside where the limit is reached already."""
        inside, operators, cut = self.seen.inside, self.seen.operators + 1, self.seen.cut
        if not cut:
            cut = self._reached(inside)
            if cut:
                self._close()
            else:
                inside += 1
        self.seen = RangeSeen(inside, operators, cut)

    def _reached(self, inside: int) -> Cut:
        if self.limit.operators is not None and inside >= self.limit.operators:
            return "operators"
        return "seconds" if self.limit.is_over else ""


def limit_of(settings: dict[str, float]) -> RangeLimit:
    """The limit that a job asks for, its seconds counted from now."""
    seconds = settings.get(SECONDS)
    deadline = time.monotonic() + seconds if seconds is not None else None
    return RangeLimit(settings.get(OPERATORS), deadline)


def operators_counted(counter: Counter) -> Any:
    """A context in which every operator of torch that may launch a kernel is counted."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Mode(TorchDispatchMode):  # type: ignore[misc, unused-ignore]  # torch may not be here
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if launches(func):
                counter.count()
            return func(*args, **(kwargs or {}))

    return Mode()


def launches(func: Any) -> bool:
    """Whether an operator may launch a kernel: views and new memory do not."""
    return not getattr(func, "is_view", False) and not str(func).startswith("aten.empty")


def save_seen(seen: dict[str, RangeSeen], folder: Path) -> None:
    """Write what lay inside the ranges."""
    (folder / SEEN).write_bytes(msgspec.json.encode(seen))


def take_seen(folder: Path) -> dict[str, RangeSeen]:
    """What the child said of its ranges, by stage; its file is no artifact and is taken away."""
    file = folder / SEEN
    if not file.is_file():
        return {}
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[str, RangeSeen])
    except msgspec.MsgspecError as error:
        raise NoUsableData(f"{SEEN} of the measuring child is damaged: {error}") from error
    finally:
        file.unlink()
