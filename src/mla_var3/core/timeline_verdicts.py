"""What is judged of a timeline: overlap, time saved, launch-bound. Types only; times in ns."""

from typing import Literal

import msgspec

from mla_var3.core.timeline_streams import StreamKey

Word = Literal["overlapped", "partly", "serialised", "not decidable"]


class PairVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """Two stages, or two streams, that could overlap: all iterations of the window together."""

    a: str
    b: str
    word: Word
    overlap_ns: int = 0
    shorter_ns: int = 0
    kernels_ns: int = 0
    """Of the overlap: kernels with kernels."""
    overlapped_iterations: int = 0
    iterations: int = 0
    reason: str = ""
    """Why nothing can be decided, or why they could not overlap."""

    @property
    def percent(self) -> float | None:
        return 100.0 * self.overlap_ns / self.shorter_ns if self.shorter_ns else None


class GroupVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """What became of stages that the plan means to overlap; without a plan, of the streams."""

    members: tuple[str, ...]
    planned: bool
    """Whether a plan meant them to overlap."""
    word: Word
    pairs: tuple[PairVerdict, ...] = ()
    overlapped_iterations: int = 0
    iterations: int = 0
    planned_streams: int | None = None
    streams: tuple[StreamKey, ...] = ()
    """Streams that their operations ran on."""
    reason: str = ""


class LaunchBound(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the host launches too slowly for a device, in the window."""

    device: int
    yes: bool
    idle_pct: float | None
    gap_median_ns: float | None
    call_distance_ns: float | None
    """Median distance of successive launching calls of a thread."""
    operation_median_ns: float | None
    reason: str = ""
    """Why it is not, or cannot be told."""


class Saved(msgspec.Struct, frozen=True, kw_only=True):
    """Time saved by running a group's stages at once: solo durations against the span."""

    members: tuple[str, ...]
    solo_ns: dict[str, float] = {}
    """Median duration of each stage alone, from its first to its last operation."""
    span_ns: float | None = None
    """Median over the window's iterations, from the group's first to its last operation."""
    reason: str = ""
    """Why nothing is known of it."""

    @property
    def saved_ns(self) -> float | None:
        """Negative where running at once costs time."""
        if self.reason or self.span_ns is None:
            return None
        return sum(self.solo_ns.values()) - self.span_ns
