"""Comparisons of invented legs: each quad's change is chosen, and so is each side's clock."""

import math
from collections.abc import Sequence
from typing import Any

from mla_var3.core.comparison import (
    Comparison,
    Conditions,
    Floors,
    Leg,
    Letter,
    Quad,
    QuadRun,
    Shape,
    Side,
)
from mla_var3.measure import quads

SETTINGS = quads.settings()
WHERE = Conditions(
    tool="event",
    gpu="NVIDIA H200",
    power_limit_w=700.0,
    driver_major="580",
    params={"b": 32, "s": 16, "t": 4096, "dtype": "bfloat16"},
    cache="cold",
    regime="sustained",
    timer="CUDA events",
    clocks="not locked",
    seed=0,
    distribution="normal",
)
SPREAD = (-0.3, 0.2, -0.1, 0.3, 0.0, -0.2, 0.1, 0.25, -0.25, 0.15, -0.15, 0.05)
"""Percent around a change, quad by quad: the median of all their means is 0.0."""
A_NS = 1_000_000.0


def quad(position: int, b_over_a: float, mhz: tuple[float | None, float | None]) -> Quad:
    """Legs of three calls: A takes 1 ms, B `b_over_a` times that."""
    order: tuple[Letter, ...] = ("A", "B", "B", "A") if position % 2 == 0 else ("B", "A", "A", "B")
    legs = []
    for side in order:
        ns = A_NS if side == "A" else A_NS * b_over_a
        clock = mhz[0] if side == "A" else mhz[1]
        legs.append(
            Leg(side=side, samples_ns=(ns - 10, ns, ns + 10), thrown_ns=(2 * ns,), mhz=clock)
        )
    return Quad(legs=tuple(legs))


def changes(pct: float, count: int = 12, wide: float = 1.0) -> list[float]:
    """B / A of each quad: `pct` percent, and the spread around it."""
    spread = (SPREAD * math.ceil(count / len(SPREAD)))[:count]
    return [1.0 + (pct + wide * by) / 100.0 for by in spread]


def quads_of(
    ratios: Sequence[float], mhz: tuple[float | None, float | None] = (None, None)
) -> tuple[Quad, ...]:
    """One quad a ratio."""
    return tuple(quad(at, ratio, mhz) for at, ratio in enumerate(ratios))


def run_of(pct: float, count: int = 12, wide: float = 1.0, **more: Any) -> QuadRun:
    """A process that saw a change; A against A shows +0.1 %."""
    mhz = more.pop("mhz", (None, None))
    check = more.pop("check", 0.1)
    fields: dict[str, Any] = {
        "quads": quads_of(changes(pct, count, wide), mhz),
        "self_check": () if check is None else quads_of(changes(check, 6)),
        "no_clock": "nvidia-smi is not on PATH" if mhz == (None, None) else "",
        "clock_source": "" if mhz == (None, None) else "nvml",
    }
    return QuadRun(**fields | more)


def shape_of(*runs: QuadRun, **more: Any) -> Shape:
    """One problem; `params` adds to the fields of both sides."""
    params = WHERE.params | more.pop("params", {})
    where = Conditions(
        **{f: getattr(WHERE, f) for f in WHERE.__struct_fields__} | {"params": params}
    )
    fields: dict[str, Any] = {
        "a": where,
        "b": where,
        "runs": runs,
        "outputs": {"A": 1e-3, "B": 2.1e-3},
    }
    return Shape(**fields | more)


def comparison_of(*shapes: Shape, **more: Any) -> Comparison:
    """`flash_mla`, v2 → v3."""
    fields: dict[str, Any] = {
        "created": "2026-12-01T10:15:02Z",
        "a": Side(
            label="v2", kernel="flash_mla", version="v2", language="cutile", source_sha256="a" * 64
        ),
        "b": Side(
            label="v3", kernel="flash_mla", version="v3", language="cutile", source_sha256="b" * 64
        ),
        "shapes": shapes,
        "floors": Floors(least_pct=1.0),
        "settings": SETTINGS,
    }
    return Comparison(**fields | more)
