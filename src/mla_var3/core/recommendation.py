"""What Nsight Compute recommends for a launch, beside what we make of it; percentages 0..100."""

import msgspec

from mla_var3.core.record import SpeedupScope


class Recommendation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One rule result that asks for a change."""

    rule: str
    """NVIDIA's identifier: `TheoreticalOccupancy`."""
    title: str
    message: str = ""
    """NVIDIA's text, cut to what the record keeps."""
    scope: SpeedupScope = "-"
    """GLOBAL: of the kernel; LOCAL: of a part of it."""
    ncu_pct: float | None = None
    """NVIDIA's estimate as it stands: a cap. None: it gives none."""
    ours_pct: float | None = None
    """The same, capped by what the launch can still win; None: no roof was read."""
    bound: str = ""
    """What caps ours."""
    action: str = ""
    """What it asks for in our words; empty: see the message."""
    how: str = ""
    dropped: str = ""
    """Why it is not shown in the short report; empty where it is."""
