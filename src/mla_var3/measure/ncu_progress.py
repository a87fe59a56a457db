"""How far ncu is while it replays, from the lines it prints: kernel, share of its passes, rest."""

import re
import time
from collections.abc import Callable
from typing import NamedTuple

_LINE = re.compile(
    r'==PROF== Profiling "(?P<name>[^"]*)"'
    r"(?: - (?P<number>\d+)(?: \((?P<at>\d+)/(?P<of>\d+)\))?)?"
    r"(?:: (?P<bar>[\d%.]*))?"
    r"(?: - (?P<passes>\d+) pass(?:es)?)?"
)
_PERCENT = re.compile(r"(\d+)%(\.*)\d*$")
DOT_PCT = 10
"""One dot of ncu's bar `0%....50%....100%`."""


class NcuProgress(NamedTuple):
    """One step of a run of ncu."""

    kernel: int
    """Which launch is being profiled, from 1."""
    of: int | None
    """How many there will be; None: nobody knows yet."""
    name: str
    percent: int | None
    """How much of this launch's passes is done."""
    passes: int | None
    """Passes that the last finished launch took."""
    left_s: float | None
    """Time until the last launch is done, by the mean of those that are; None: not known."""

    @property
    def text(self) -> str:
        """`kernel 3 of 12, combine, 40 % of its 38 passes, about 9 s left`."""
        parts = [f"kernel {self.kernel}" + (f" of {self.of}" if self.of else ""), self.name[:40]]
        passes = f"{self.passes} passes" if self.passes else "passes"
        if self.percent is not None:
            parts.append(f"{self.percent} % of its {passes}")
        if self.left_s is not None:
            parts.append(f"about {self.left_s:.0f} s left")
        return ", ".join(part for part in parts if part)


class Replay:
    """Follows ncu's output, finished lines and the unfinished last one, and tells each step."""

    def __init__(
        self,
        tell: Callable[[NcuProgress], None],
        of: int | None = None,
        clock: Callable[[], float] = time.monotonic,
        most: int | None = None,
    ) -> None:
        """`of`: launches that are expected; `most`: how many ncu was told to stop after.

        ncu prints the latter as if so many would come: that number tells nothing.
        """
        self._tell = tell
        self._of = of
        self._most = most
        self._clock = clock
        self._start: float | None = None
        self._done = 0
        self._passes: int | None = None
        self._last: NcuProgress | None = None

    def line(self, text: str) -> None:
        """A whole line: the launch that it names is done."""
        found = _LINE.match(text)
        if found is None:
            return
        self._show(found)
        self._done += 1
        if found["passes"]:
            self._passes = int(found["passes"])

    def unfinished(self, text: str) -> None:
        """The beginning of a line that ncu is still writing."""
        found = _LINE.match(text)
        if found is not None:
            self._show(found)

    def _show(self, found: re.Match[str]) -> None:
        if self._start is None:
            self._start = self._clock()
        percent = _percent(found["bar"])
        printed = int(found["of"]) if found["of"] else None
        of = self._of if self._of is not None or printed == self._most else printed
        kernel = self._done + 1
        if of is not None and kernel > of:
            of = None  # more than was expected: nobody knows
        step = NcuProgress(
            kernel, of, found["name"], percent, self._passes, self._left(of, percent or 0)
        )
        if step != self._last:
            self._last = step
            self._tell(step)

    def _left(self, of: int | None, percent: int) -> float | None:
        """By the mean time of a launch so far, the one in work counted by its share."""
        done = self._done + percent / 100.0
        if of is None or self._start is None or done <= 0.0:
            return None
        spent = self._clock() - self._start
        return spent / done * (of - done) if spent > 0.0 else None


def _percent(bar: str | None) -> int | None:
    """`0%....50%..` is 70: each dot stands for a tenth."""
    found = _PERCENT.search(bar or "")
    return min(100, int(found[1]) + DOT_PCT * len(found[2])) if found else None
