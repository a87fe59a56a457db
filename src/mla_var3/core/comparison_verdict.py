"""What a comparison concludes: types only. Changes are B over A minus 1, in percent."""

from typing import Literal

import msgspec

Word = Literal[
    "faster", "slower", "no change", "inconclusive", "unreliable", "not comparable", "failed"
]
WORDS: tuple[Word, ...] = (
    *("faster", "slower", "no change", "inconclusive"),
    *("unreliable", "not comparable", "failed"),
)


class Effect(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A change with its interval."""

    change_pct: float
    low_pct: float
    high_pct: float
    level_pct: float
    """That `n` values really reach."""
    n: int
    p: float | None = None
    """Two-sided, of "no change at all"; None: not computed."""


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """The question asked after so many quads."""

    quads: int
    level_pct: float
    """Asked for."""
    effect: Effect
    word: Word


class RunVerdict(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one process says of one shape."""

    word: Word
    detail: str = ""
    """In parentheses after the word: `clock differs: A 1392, B 1405 MHz`."""
    looks: tuple[Look, ...] = ()
    cycles: Effect | None = None
    """Of the quads and at the level of the last look."""
    no_cycles: str = ""
    """Why there is none."""
    self_check: Effect | None = None
    notes: tuple[str, ...] = ()


class ShapeVerdict(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The verdict on one problem."""

    word: Word
    detail: str = ""
    time: Effect | None = None
    """Of several processes: the middle of their changes, and the ends that hold all of them."""
    cycles: Effect | None = None
    no_cycles: str = ""
    floor_pct: float = 0.0
    a_ns: float | None = None
    """Median of all samples of A."""
    b_ns: float | None = None
    a_mhz: float | None = None
    """Mean SM clock of the legs of A."""
    b_mhz: float | None = None
    p: float | None = None
    """Of the looks together, before the correction for several shapes."""
    holm_p: float | None = None
    runs: tuple[RunVerdict, ...] = ()
    differs: tuple[str, ...] = ()
    """Conditions that forbid a comparison: `cache: cold → warm`."""
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    """Which of the notes make the measurement unreliable under `--strict`."""


class ComparisonVerdict(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The verdicts in the order of the shapes, and what they come to."""

    shapes: tuple[ShapeVerdict, ...]
    counts: dict[str, int]
    """Word to the number of shapes; the four of a finished comparison always."""
    mean: Effect | None = None
    """Geometric mean over the shapes that have a change; None for fewer than two."""
    across_runs: bool = False
    notes: tuple[str, ...] = ()
