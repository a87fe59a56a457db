"""A timeline made ready: its operations by stream, its calls by thread."""

import re
from functools import cache
from typing import Any, NamedTuple

from mla_var3.analyse.timeline_spans import Span
from mla_var3.conf import table
from mla_var3.core.timeline import Call, Kind, Operation, Timeline
from mla_var3.core.timeline_findings import StreamKey

_VERSION = re.compile(r"(_v\d+|_ptsz|_ptds)+$")


class Work(NamedTuple):
    """Operations by position in `Timeline.operations`."""

    timeline: Timeline
    order: list[int]
    """By start; without those that end before they start."""
    keys: list[StreamKey]
    """Streams with work, ordered."""
    lane: list[int]
    """Position of each operation's stream in `keys`."""

    def operation(self, position: int) -> Operation:
        return self.timeline.operations[position]

    def kind(self, position: int) -> Kind:
        return self.timeline.shape_of(self.timeline.operations[position]).kind

    def call_of(self, position: int) -> Call | None:
        """The API call that launched an operation."""
        call = self.timeline.operations[position].call
        return self.timeline.calls[call] if call >= 0 else None

    def lanes(self, positions: list[int]) -> list[list[int]]:
        """Positions of the operations of each stream, in their order."""
        lanes: list[list[int]] = [[] for _ in self.keys]
        for position in positions:
            lanes[self.lane[position]].append(position)
        return lanes

    def spans(self, positions: list[int]) -> list[Span]:
        """Begin and end of operations."""
        operations = self.timeline.operations
        return [(operations[at].start, operations[at].end) for at in positions]


def prepare(timeline: Timeline) -> Work:
    """Order the operations and number the streams."""
    operations = timeline.operations
    order = [at for at, operation in enumerate(operations) if operation.end >= operation.start]
    order.sort(key=lambda at: operations[at].start)
    found: dict[tuple[int, int, int, int], int] = {}
    raw = [
        found.setdefault((one.device, one.process, one.context, one.stream), len(found))
        for one in operations
    ]
    sorted_keys = sorted(found)
    renumbered = {found[key]: number for number, key in enumerate(sorted_keys)}
    keys = [StreamKey(*key) for key in sorted_keys]
    return Work(timeline, order, keys, [renumbered[number] for number in raw])


def limit(name: str) -> Any:
    """A threshold of conf/timeline.json."""
    return table("timeline")["limits"][name]["value"]


def call_name(timeline: Timeline, call: int) -> str:
    """`cudaLaunchKernel` of `cudaLaunchKernel_v7000`."""
    return plain_name(timeline.names[timeline.calls[call].name])


@cache
def plain_name(name: str) -> str:
    """An API call's name without the version that CUPTI appends."""
    return _VERSION.sub("", name)


@cache
def is_load(name: str) -> bool:
    """Whether a call loads code."""
    return plain_name(name).startswith(tuple(table("timeline")["load_calls"]))


@cache
def is_sync(name: str) -> bool:
    """Whether the host waits for the device in a call."""
    return plain_name(name) in table("timeline")["sync_calls"]
