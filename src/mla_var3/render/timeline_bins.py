"""Marks on a time axis gathered by pixel, so that a picture stays small however many there are."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

LEVELS = 4
"""Shades of a pixel that is filled in part."""


class Mark(NamedTuple):
    """Something that lasted, in ns, with its colour."""

    begin: int
    end: int
    colour: str
    name: str


Runs = dict[tuple[str, int], list[tuple[float, float]]]
"""Colour and shade (1 to 4, 4 is full) to begins and ends in pixels."""


def bins(marks: Sequence[Mark], begin: int, end: int, pixels: int) -> Runs:
    """What to draw of marks between begin and end: wide ones as they are, narrow ones by pixel.

    A pixel takes the colour that fills most of it, in the shade of how much of it is filled.
    """
    scale = pixels / (end - begin)
    runs: Runs = {}
    narrow: dict[int, dict[str, float]] = defaultdict(dict)
    for first, last, colour, _ in marks:
        if last <= begin or first >= end:
            continue
        x0 = 0.0 if first < begin else (first - begin) * scale
        x1 = ((end if last > end else last) - begin) * scale
        if x1 - x0 >= 1.0:
            runs.setdefault((colour, LEVELS), []).append((round(x0, 1), round(x1, 1)))
            continue
        pixel = min(int(x0), pixels - 1)
        after = pixel + 1
        own = narrow[pixel]
        own[colour] = own.get(colour, 0.0) + (after if x1 > after else x1) - x0
        if after < x1 and after < pixels:
            own = narrow[after]
            own[colour] = own.get(colour, 0.0) + x1 - pixel - 1.0
    _join(narrow, runs)
    return runs


def _join(narrow: dict[int, dict[str, float]], runs: Runs) -> None:
    """Neighbouring pixels of one colour and shade become one run."""
    last, first, key = -2, 0, ("", 0)
    for pixel in sorted(narrow):
        shares = narrow[pixel]
        colour = max(shares, key=lambda one: (shares[one], one))
        level = max(1, min(LEVELS, round(LEVELS * sum(shares.values()))))
        if pixel != last + 1 or key != (colour, level):
            if last >= 0:
                runs.setdefault(key, []).append((float(first), float(last + 1)))
            first, key = pixel, (colour, level)
        last = pixel
    if last >= 0:
        runs.setdefault(key, []).append((float(first), float(last + 1)))
