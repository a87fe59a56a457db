"""How far a long command is, with the time left: on a terminal, after two seconds, on stderr."""

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self, TextIO

PATIENCE_S = 2.0


class Progress:
    """One line that is written over again, and gone at the end of the block."""

    def __init__(
        self,
        title: str,
        noun: str,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._title = title
        self._noun = noun
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._start = clock()
        self._shown = 0

    def update(self, done: int, total: int) -> None:
        """Say `FILE: 40 of 100 kernels, 9 s left`."""
        spent = self._clock() - self._start
        if spent < PATIENCE_S or not 0 < done < total or not self._stream.isatty():
            return
        left = spent / done * (total - done)
        text = f"{self._title[-60:]}: {done} of {total} {self._noun}, {left:.0f} s left"
        self._stream.write(f"\r{text.ljust(self._shown)}")
        self._stream.flush()
        self._shown = len(text)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._shown:
            self._stream.write(f"\r{' ' * self._shown}\r")
            self._stream.flush()
