"""The duration of one kernel by several methods: values that are never divided by each other."""

import msgspec

from mla_var3.core.record import Source


class MethodTime(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One duration with what it includes."""

    method: Source
    duration_ns: float
    taken: str
    """How, in the record's words: `median of 820 samples, CUDA events, cold cache`."""
    includes: str
    load: str
    caches: str
    sm_clock_hz: float | None = None
    """None: not recorded."""
    clock_from: str = ""
    """What told it: `nvidia-smi clocks.sm`, a counter's name."""
    profile: str = ""
    """Folder of the profile it is from; empty: this one."""


class MethodNote(msgspec.Struct, frozen=True, kw_only=True):
    """The durations of one plan on one problem and device, and why they differ."""

    times: tuple[MethodTime, ...]
    why: tuple[str, ...]
    rule: str
