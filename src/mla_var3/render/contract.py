"""The Profiler Output Contract: its figures (the JSON twin) and the text that shows them."""

import math
from typing import Any, Literal

import msgspec

from mla_var3.core import units
from mla_var3.core.diagnosis import BoundClass, Confidence, Diagnosis, Opportunity, ProfileDiagnosis
from mla_var3.core.errors import NoUsableData
from mla_var3.core.record import Metric, Profile, Stage
from mla_var3.render.layout import plain

FORMAT = "mla_var3/contract"
SHOWN = ("duration", "tensor", "dram", "occupancy")
"""Keys of `conf/metrics.json` behind Duration, TC%, DRAM% and Occ%."""

Word = Literal["Memory", "Compute", "Latency"]


class Configuration(msgspec.Struct, frozen=True, omit_defaults=True):
    """The problem that ran; None: a report file does not tell."""

    b: int | None = None
    s: int | None = None
    t: int | None = None
    dtype: str | None = None


class ContractStage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One stage: its four figures with their origin, or the reason why one is missing."""

    stage: str
    metrics: dict[str, Metric]
    missing: dict[str, str] = {}
    bottleneck: Word | None
    """None: not decidable from what was recorded."""
    bound: BoundClass
    key_issue: str
    confidence: Confidence

    @property
    def duration_ns(self) -> float | None:
        metric = self.metrics.get("duration")
        return None if metric is None else metric.value


class BaselineFigure(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of the baseline and of this profile; `change` in words, with its unit."""

    metric: str
    previous: Metric
    current: Metric
    change: str


class Contract(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The whole contract with all stages; the text shows at most ten and `others (N)`."""

    format: Literal["mla_var3/contract"]
    schema_version: Literal[1]
    kernel: str
    version: str
    configuration: Configuration
    stages: tuple[ContractStage, ...]
    bottleneck: Word
    root_cause: str
    confidence: Confidence
    opportunities: tuple[Opportunity, ...] = ()
    baseline: tuple[BaselineFigure, ...] = ()


def build_contract(profile: Profile, diagnosis: ProfileDiagnosis, kernel: str = "") -> Contract:
    """The contract of a profile. `kernel` names a report without a plan (its file stem).

    Raises `NoUsableData` where no stage can be classified.
    """
    verdicts = {verdict.stage: verdict for verdict in diagnosis.stages}
    stages = tuple(_stage(stage, verdicts[stage.name]) for stage in profile.stages)
    word = _word_with_most_time(stages)
    if word is None:
        why = next((v.root_cause or v.limiter for v in diagnosis.stages), "nothing was recorded")
        raise NoUsableData(f"no contract: no kernel can be classified ({plain(why)})")
    chosen = _speaker(stages, verdicts, word, diagnosis)
    plan = profile.plan
    return Contract(
        format="mla_var3/contract",
        schema_version=1,
        kernel=_one_word(plan.kernel if plan else kernel) or "unnamed",
        version=(_one_word(plan.version) or "base") if plan else "-",
        configuration=_configuration(profile),
        stages=stages,
        bottleneck=word,
        root_cause=_root_cause(chosen, profile, verdicts),
        confidence=chosen.confidence,
        opportunities=tuple(sorted(diagnosis.opportunities, key=lambda item: -item.gain_pct)[:3]),
    )


def json_schema() -> dict[str, Any]:
    """The published JSON Schema of contract.json."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"{FORMAT} 1"}
    return head | msgspec.json.schema(Contract)


def _stage(stage: Stage, verdict: Diagnosis) -> ContractStage:
    metrics, missing = {}, {}
    for key in SHOWN:
        metric = stage.metrics.get(key)
        if metric is None:
            missing[key] = stage.missing.get(key, "not recorded in this report")
        elif metric.unit == "%" and not units.is_percentage(metric.value):
            missing[key] = f"{metric.value:.1f} % is no share of 100: the counter misread"
        else:
            metrics[key] = metric
    return ContractStage(
        stage=stage.name,
        metrics=metrics,
        missing=missing,
        bottleneck=_word(verdict.bound, stage),
        bound=verdict.bound,
        key_issue=plain(verdict.key_issue or verdict.limiter) or units.NA,
        confidence=verdict.confidence,
    )


def _word(bound: BoundClass, stage: Stage) -> Word | None:
    """The spec's word; Balanced takes the nearer roof's."""
    if bound == "Unknown":
        return None
    if bound == "Balanced":
        return "Compute" if (stage.value("tensor") or 0) > (stage.value("dram") or 0) else "Memory"
    return bound


def _word_with_most_time(stages: tuple[ContractStage, ...]) -> Word | None:
    """The class that most of the time goes to; without durations, that most stages have."""
    weights: dict[Word, tuple[float, int]] = {}
    for stage in stages:
        if (word := stage.bottleneck) is not None:
            time, number = weights.get(word, (0.0, 0))
            weights[word] = (time + (stage.duration_ns or 0.0), number + 1)
    return max(weights, key=weights.__getitem__, default=None)


def _speaker(
    stages: tuple[ContractStage, ...],
    verdicts: dict[str, Diagnosis],
    word: Word,
    whole: ProfileDiagnosis,
) -> Diagnosis | ProfileDiagnosis:
    """Who states the root cause: the whole, or the longest stage of the class in the heading."""
    if whole.bound == word and whole.root_cause:
        return whole
    own = [stage for stage in stages if stage.bottleneck == word]
    longest = max(own, key=lambda stage: stage.duration_ns or 0.0)
    return verdicts[longest.stage]


def _root_cause(
    chosen: Diagnosis | ProfileDiagnosis, profile: Profile, verdicts: dict[str, Diagnosis]
) -> str:
    text = plain(chosen.root_cause) or units.NA
    if not isinstance(chosen, Diagnosis) or chosen.bound != "Balanced":
        return text
    stage = next(stage for stage in profile.stages if verdicts[stage.name] is chosen)
    far = 100 - min(stage.value("tensor") or 0, stage.value("dram") or 0)
    opening = f"both roofs within {math.ceil(max(far, 0))} %"
    return text if text.startswith("both roofs within") else f"{opening}: {text}"


def _configuration(profile: Profile) -> Configuration:
    params = profile.plan.params if profile.plan else {}
    sizes = (params.get(key) for key in ("b", "s", "t"))
    b, s, t = (size if isinstance(size, int) and size > 0 else None for size in sizes)
    dtype = params.get("dtype")
    return Configuration(b, s, t, dtype if isinstance(dtype, str) else None)


def _one_word(text: str) -> str:
    return "_".join(plain(text).split())
