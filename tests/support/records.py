"""Small records for tests."""

from mla_var3.core.record import Metric, Profile, Stage


def simple(stages: int = 1) -> Profile:
    """A small OK record of some stages."""
    return Profile(
        mode="ncu",
        status="OK",
        created="2026-12-01T10:00:00Z",
        stages=tuple(
            Stage(
                name=f"k#{n}",
                kernel="k",
                launch=n,
                metrics={"duration": Metric(1000 + n, "ns", "ncu", "gpu__time_duration.sum")},
                missing={"dram": "not collected", "l2": "not collected"},
            )
            for n in range(stages)
        ),
    )
