"""Statistics of a series of samples: plain functions of numbers, without random numbers.

Empty series raise `ValueError`: a figure of nothing does not exist.
"""

from collections.abc import Sequence

FAR_IQRS = 3.0
"""A sample is far out beyond the third quartile plus three interquartile ranges (Tukey)."""


def median(samples: Sequence[float]) -> float:
    """The middle value; the mean of the two middle ones for an even number."""
    return quantile(samples, 0.5)


def quantile(samples: Sequence[float], share: float) -> float:
    """The value below which `share` (0..1) of the samples lie, interpolated between neighbours.

    Position (n - 1) * share among the sorted samples, as NumPy's default.
    """
    if not samples:
        raise ValueError("no samples")
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"share {share} is not within 0 and 1")
    ordered = sorted(samples)
    position = (len(ordered) - 1) * share
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def relative_iqr_pct(samples: Sequence[float]) -> float:
    """Distance of the quartiles in percent of the median."""
    middle = median(samples)
    if middle == 0:
        raise ValueError("the median is 0")
    return 100.0 * (quantile(samples, 0.75) - quantile(samples, 0.25)) / middle


def far_out(samples: Sequence[float]) -> int:
    """How many samples lie beyond q3 + 3 (q3 - q1); they are counted, never removed."""
    first, third = quantile(samples, 0.25), quantile(samples, 0.75)
    limit = third + FAR_IQRS * (third - first)
    return sum(sample > limit for sample in samples)


def drift_pct(samples: Sequence[float]) -> float:
    """Median of the last third over that of the first third, minus 1, in percent.

    Raises `ValueError` below 6 samples: two medians of one sample each are no trend.
    """
    third = len(samples) // 3
    if third < 2:
        raise ValueError(f"{len(samples)} samples tell no drift")
    start, end = median(samples[:third]), median(samples[-third:])
    if start == 0:
        raise ValueError("the first third is 0")
    return 100.0 * (end / start - 1.0)


def spread_pct(values: Sequence[float]) -> float:
    """Largest over smallest value, minus 1, in percent."""
    if not values:
        raise ValueError("no values")
    least = min(values)
    if least <= 0:
        raise ValueError("a value is not positive")
    return 100.0 * (max(values) / least - 1.0)
