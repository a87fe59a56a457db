"""Shared parts of the reader: texts by id, indices of names and shapes, rows that make no sense."""

from typing import Any

from mla_var3.core.timeline import Shape
from mla_var3.measure.nsys_reader.database import Database

BACKWARDS = "ends before it starts"
NO_TIME = "has no time"
PROCESS = 1 << 24
"""A global id holds the thread in its lower 24 bits, the process above them."""


def whole(value: Any) -> int | None:
    """A whole number; SQLite lets any column hold anything."""
    return value if isinstance(value, int) else None


class Gathered:
    """What all tables of one export add to."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.names: dict[str, int] = {}
        self.shapes: dict[Shape, int] = {}
        self.impossible: dict[str, int] = {}
        strings = database.rows("strings", ("id", "value"))
        self._strings = {key: value for key, value in strings if isinstance(value, str)}
        self._processes: dict[int, int] = {}

    def string(self, key: Any) -> str | None:
        """The text of an id of StringIds; None without one, `#12` where the table lacks it."""
        if not isinstance(key, int):
            return None
        return self._strings.get(key, f"#{key}")

    def name(self, text: str) -> int:
        """Position of a text in `Timeline.names`."""
        return self.names.setdefault(text, len(self.names))

    def shape(self, shape: Shape) -> int:
        """Position of a shape in `Timeline.shapes`."""
        return self.shapes.setdefault(shape, len(self.shapes))

    def process(self, global_id: Any) -> int:
        """The process id of a global id; processes of one id on several machines stay apart."""
        key = global_id // PROCESS if isinstance(global_id, int) else 0
        if key not in self._processes:
            pid = key % PROCESS
            self._processes[key] = key if pid in self._processes.values() else pid
        return self._processes[key]

    def timed(self, start: Any, end: Any, zero_is_none: bool = False) -> bool:
        """Whether a row has a time; one that has none, or an impossible one, is counted."""
        if type(start) is int and type(end) is int and end >= start > 0:
            return True
        if not isinstance(start, int) or not isinstance(end, int):
            return self._impossible(NO_TIME)
        if zero_is_none and start == 0 and end == 0:
            return self._impossible(NO_TIME)
        return end >= start or self._impossible(BACKWARDS)

    def _impossible(self, reason: str) -> bool:
        self.impossible[reason] = self.impossible.get(reason, 0) + 1
        return False
