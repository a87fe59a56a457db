"""How long the interpreter will take, without running anything."""

from dataclasses import dataclass

SECONDS_AN_OPERATION = 9e-6
"""One torch call on small tiles, with what leads to it."""
FLOPS_PER_SECOND = 4e10
"""float32 products of tiles, padding included."""
ELEMENTS_PER_SECOND = 4e8
"""Elements that pass through one operation: conversions, exponentials, copies."""
SOURCE = "measured on one core of an EPYC (AVX2) with torch 2.13"


@dataclass(frozen=True)
class TileWork:
    """What one block does: `steps` times the same loop body. Sizes include what tiles pad."""

    blocks: int
    steps: float
    operations: int
    """torch calls that the `ct.` calls of one step come to."""
    flops: float
    """Of one step."""
    elements: float
    """Elements that the step's operations give, summed."""


def estimate_seconds(work: TileWork) -> float:
    """Seconds of one launch in the interpreter on a CPU core, within a factor of about two."""
    step = (
        work.operations * SECONDS_AN_OPERATION
        + work.flops / FLOPS_PER_SECOND
        + work.elements / ELEMENTS_PER_SECOND
    )
    return work.blocks * (work.steps + 1) * step
