"""What a development log says of one version on one problem; texts are ready to be written."""

from typing import NamedTuple

import msgspec

NO_CHANGE = "--"
"""What the spec's template has where no change is told."""


class Figure(NamedTuple):
    """One row of the Performance table."""

    label: str
    value: str
    change: str = NO_CHANGE


class DevlogEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A Performance block, and what begins the parts that are written by hand."""

    kernel: str
    section: str
    """`v1`; of another language than cuTile `base (torch)`."""
    place: str
    """What the heading has in parentheses: device, locked clocks, dtype, problem."""
    figures: tuple[Figure, ...]
    notes: tuple[str, ...]
    """How it was taken, and what it is compared with."""
    bottleneck: str
    """`Memory-bound`, or `n/a (why)`."""
    issues: tuple[str, ...]
    """Used where the block is new; those that stand there already are kept."""
