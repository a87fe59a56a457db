"""What the analysis concludes: types only, made by `analyse`, shown by `render`.

All percentages are 0..100; durations are in nanoseconds as in the record.
"""

from typing import Literal

import msgspec

from mla_var3.core.device import Dtype
from mla_var3.core.record import HotLine

BoundClass = Literal["Memory", "Compute", "Latency", "Balanced", "Unknown"]
Confidence = Literal["high", "medium", "low", "none"]


class Evidence(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One fact that speaks for, or against, a cause, with the metric keys it rests on."""

    text: str
    metrics: tuple[str, ...] = ()


class Opportunity(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One change worth trying. `gain_pct` is an upper bound on the time saved, percent."""

    name: str
    gain_pct: float
    trigger_metric: str
    trigger_value: str
    """With its unit: `48.8 %`."""
    how: str = ""
    bound: str = ""
    """What caps the estimate: `roofline gap at 1.78 GHz`."""
    origin: Literal["analysis", "ncu rule"] = "analysis"

    @property
    def trigger(self) -> str:
        return f"{self.trigger_metric}={self.trigger_value}"


class MetricRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One row of the spec's Metric Interpretation table, judged for a stage."""

    metric: str
    key: str
    shown: str
    """The value with its unit, or `n/a`."""
    line: str
    """The spec's healthy test: `>60%`."""
    healthy: bool | None = None
    """By the spec's line alone; None where there is no value."""
    reason: str = ""
    """Why the value is `n/a`."""
    issue: str = ""
    hint: str = ""
    guard: str = ""
    """Why the alarm (or the all-clear) does not hold here; empty where it does."""


class Roofline(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Device roofline of a stage from its counters: TFLOP/s, GB/s, FLOP/byte; None is unknown."""

    dtype: Dtype | None = None
    flops: float | None = None
    dram_bytes: float | None = None
    intensity: float | None = None
    achieved_tflops: float | None = None
    achieved_gbps: float | None = None
    peak_tflops: float | None = None
    peak_tflops_at_clock: float | None = None
    peak_gbps: float | None = None
    ridge: float | None = None
    ridge_at_clock: float | None = None
    attainable_tflops: float | None = None
    attainable_tflops_at_clock: float | None = None
    clock_mhz: float | None = None
    missing: dict[str, str] = {}
    """Name of a field that is None to the reason."""
    notes: tuple[str, ...] = ()


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Verdict on one stage."""

    stage: str
    seed_class: BoundClass
    """The class by the spec's two-line table; shown as evidence where it differs."""
    bound: BoundClass
    cause: str
    """Machine word: `dram`, `bank_conflict`, …; conf/diagnosis.json lists them."""
    limiter: str
    """The unit or cause in words, with its figure; the verdict line shows it."""
    root_cause: str
    """At most two sentences."""
    confidence: Confidence
    duration_ns: float | None = None
    evidence: tuple[Evidence, ...] = ()
    counter_evidence: tuple[Evidence, ...] = ()
    not_checked: tuple[str, ...] = ()
    """Each reads `not decidable: missing X` or names what this report cannot tell."""
    notes: tuple[str, ...] = ()
    """Doubts: short launch, clocks, values over 100 %."""
    opportunities: tuple[Opportunity, ...] = ()
    where: HotLine | None = None
    key_issue: str = ""
    """The contract's cell, short."""
    rows: tuple[MetricRow, ...] = ()
    """The spec's Metric Interpretation table for this stage."""
    roofline: Roofline | None = None


class ProfileDiagnosis(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Verdict on the whole: the class that most of the time goes to."""

    stages: tuple[Diagnosis, ...]
    bound: BoundClass
    root_cause: str
    confidence: Confidence
    opportunities: tuple[Opportunity, ...] = ()
    total_ns: float | None = None
    notes: tuple[str, ...] = ()
