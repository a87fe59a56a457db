"""A plan on a CPU: its stages against this CPU's own rates, and where their time goes.

There are no counters, so the class is the model's; the operators tell what the rest is.
"""

import msgspec

from mla_var3.analyse.predict import bound_of, work_bytes
from mla_var3.analyse.words import duration, whole
from mla_var3.conf import table
from mla_var3.core import stats
from mla_var3.core.annotation import RooflineRow, Roofs
from mla_var3.core.diagnosis import (
    BoundClass,
    Diagnosis,
    Evidence,
    Opportunity,
    ProfileDiagnosis,
)
from mla_var3.core.operators import OperatorTable, StageOperators
from mla_var3.core.record import Metric, Profile, Shares, Stage

NO_COUNTERS = "a CPU's counters are not read: the class is the model's, by rates measured here"
OPERATORS = "torch.profiler self_cpu_time_total"
GAIN_LEAST = 2.0
MOST = 3
_NEEDS = {"Compute": ("compute_time", "FLOPs"), "Memory": ("memory_time", "bytes")}


def is_cpu(profile: Profile) -> bool:
    """Whether an annotation profile was taken without a GPU."""
    stages = (*profile.stages, *([profile.end_to_end] if profile.end_to_end else []))
    return any(stage.value("working_set") is not None for stage in stages)


def with_operators(stage: Stage, found: OperatorTable) -> Stage:
    """The stage with its warm time, the cache's rate and its operators' shares of the time."""
    own = next(operators for operators in found.stages if operators.stage == stage.name)
    kind = f"{len(own.samples_ns)} samples, perf_counter_ns, warm cache"
    warm = stats.median(own.samples_ns)
    peaks = found.peaks
    rate = f"copy and read of {peaks.cache_set_bytes >> 20} MB on this CPU, {peaks.date}"
    added = {
        "duration_warm": Metric(warm, "ns", "event", f"median of {kind}"),
        "peak_cache_gbps": Metric(peaks.cache_gbps, "GB/s", "event", rate),
        "cache_bytes": Metric(peaks.cache_bytes, "byte", "event", "the system's cache sizes"),
        "working_set": Metric(found.working_set_bytes, "byte", "event", "the plan's tensors"),
        "operator_time": Metric(own.operators_ns, "ns", "event", OPERATORS),
        "matmul_share": Metric(_matmul_share(own), "%", "event", OPERATORS),
    }
    missing = dict(stage.missing)
    if stage.value("duration") is None:  # of several stages: the whole alone was timed cold
        added["duration"] = Metric(warm, "ns", "event", f"median of {kind}, the stage alone")
        missing.pop("duration", None)
    return msgspec.structs.replace(
        stage, metrics=stage.metrics | added, missing=missing, opcodes=_shares(own)
    )


def diagnose_cpu(profile: Profile) -> ProfileDiagnosis:
    """Class of each stage and of the whole by the model, and where the operators' time goes."""
    several = len(profile.stages) > 1
    whole_stage = profile.stages[0] if not several else profile.end_to_end or profile.stages[0]
    verdicts = tuple(_verdict(stage) for stage in profile.stages)
    longest = max(profile.stages, key=lambda stage: stage.value("duration") or 0.0)
    bound = bound_of(whole_stage)
    cause = _cause(whole_stage, bound)
    operators = _operators_text(longest)
    name = f"{longest.name}: " if several and operators else ""
    return ProfileDiagnosis(
        stages=verdicts,
        bound=bound,
        root_cause=f"{cause}. {name}{operators}" if operators else cause,
        confidence="none" if bound == "Unknown" else "low",
        opportunities=_opportunities(longest, _share(longest) if not several else None),
        total_ns=profile.end_to_end.value("duration") if profile.end_to_end else None,
        notes=(NO_COUNTERS,),
    )


def roofline_rows(profile: Profile) -> tuple[RooflineRow, ...]:
    """Every stage with a cold and with a warm cache, each against the memory it reads from."""
    return tuple(row for stage in profile.stages for row in _rows(stage))


def warm_memory(stage: Stage) -> tuple[str, float | None]:
    """Where a warm run finds its tensors, and that memory's measured GB/s: cache or DRAM."""
    size, cache = stage.value("working_set"), stage.value("cache_bytes")
    if size is not None and cache is not None and size <= cache:
        return "cache", stage.value("peak_cache_gbps")
    return "DRAM", stage.value("peak_gbps")


def _rows(stage: Stage) -> list[RooflineRow]:
    rows = []
    time = stage.value("duration")
    if time is not None and "warm cache" not in _raw(stage, "duration"):
        rows.append(_row(stage, time, "cold cache: DRAM", stage.value("peak_gbps")))
    warm = stage.value("duration_warm")
    if warm is not None:
        memory, rate = warm_memory(stage)
        rows.append(_row(stage, warm, f"warm cache: {memory}", rate))
    return rows


def _row(stage: Stage, time: float, state: str, gbps: float | None) -> RooflineRow:
    flops, moved, peak = stage.value("model_flops"), work_bytes(stage), stage.value("peak_tflops")
    roof = None
    if flops is not None and moved is not None and peak and gbps:
        roof = max(flops / peak / 1e3, moved / gbps)
    return RooflineRow(
        stage=stage.name,
        side="model",
        state=state,
        duration_ns=time,
        flops=flops,
        bytes=moved,
        intensity=flops / moved if flops is not None and moved else None,
        tflops=flops / time / 1e3 if flops is not None and time else None,
        gbps=moved / time if moved is not None and time else None,
        roofline_ns=roof,
        share_pct=100.0 * roof / time if roof is not None and time else None,
        missing="" if roof is not None else "no rates of this CPU",
    )


def _matmul_share(own: StageOperators) -> float:
    products = set(table("annotation")["operators"]["matmul"])
    total = own.operators_ns
    part = sum(item.self_ns for item in own.operators if item.name in products)
    return 100.0 * part / total if total else 0.0


def _shares(own: StageOperators) -> Shares | None:
    total = own.operators_ns
    if not total:
        return None
    most = own.operators[: int(table("annotation")["operators"]["most"])]
    parts = {item.name: round(100.0 * item.self_ns / total, 4) for item in most}
    return Shares(parts, "% of the operators' own time", "event", OPERATORS)


def _verdict(stage: Stage) -> Diagnosis:
    bound = bound_of(stage)
    found = _outside(stage)
    key_issue = f"{_word(found[0][0])} {whole(found[0][1])} of the time" if found else ""
    share = _share(stage)
    return Diagnosis(
        stage=stage.name,
        seed_class="Unknown",
        bound=bound,
        cause="model",
        limiter=_needs_text(stage, bound),
        root_cause=_cause(stage, bound),
        confidence="none" if bound == "Unknown" else "low",
        duration_ns=stage.value("duration"),
        evidence=(Evidence(text=text, metrics=("operators",)),)
        if (text := _operators_text(stage))
        else (),
        not_checked=(NO_COUNTERS,),
        opportunities=_opportunities(stage, share),
        key_issue=key_issue or (f"{share:.0f} % of the roofline" if share is not None else ""),
    )


def _needs_text(stage: Stage, bound: BoundClass) -> str:
    if bound == "Unknown":
        return f"not decidable: {stage.missing.get('roofline_time', 'no work and no rates')}"
    compute, memory = (duration(stage.value(key) or 0.0) for key, _ in _NEEDS.values())
    return f"model: FLOPs take {compute} at the matmul rate, bytes {memory} at the DRAM rate"


def _cause(stage: Stage, bound: BoundClass) -> str:
    time = stage.value("duration")
    if bound == "Unknown" or time is None:
        return f"from the model: {_needs_text(stage, bound)}"
    key, noun = _NEEDS[bound]
    share = _share(stage)
    reached = f", {share:.0f} % of the roofline" if share is not None else ""
    rate = "matmul rate" if bound == "Compute" else "DRAM rate"
    return (
        f"from the model: the {noun} need {duration(stage.value(key) or 0.0)} at this CPU's "
        f"{rate}, the run took {duration(time)}{reached}"
    )


def _operators_text(stage: Stage) -> str:
    """`Matrix products take 38 % of the operators' time, copies … (aten::copy_) 50 %`."""
    share = stage.value("matmul_share")
    if share is None:
        return ""
    text = f"Matrix products take {whole(share)} of the operators' time"
    found = _outside(stage)
    return f"{text}, {_word(found[0][0], True)} {whole(found[0][1])}" if found else text


def _outside(stage: Stage) -> list[tuple[str, float]]:
    """Operators that are no matrix product, by their share of the time."""
    if stage.opcodes is None:
        return []
    products = set(table("annotation")["operators"]["matmul"])
    parts = stage.opcodes.parts.items()
    named = [(name, share) for name, share in parts if name not in products]
    return [item for item in named if not item[0].startswith("others (")]


def _word(name: str, both: bool = False) -> str:
    word = table("annotation")["operators"]["words"].get(name)
    if word is None:
        return name
    return f"{word} ({name})" if both else str(word)


def _share(stage: Stage) -> float | None:
    """Percent of the roofline that the stage's own time reaches, in that state of the cache."""
    rows = _rows(stage)
    return rows[0].share_pct if rows else None


def _raw(stage: Stage, key: str) -> str:
    metric = stage.metrics.get(key)
    return metric.raw if metric is not None else ""


def _opportunities(stage: Stage, share: float | None) -> tuple[Opportunity, ...]:
    """Operators that multiply nothing, largest first; each can save at most its own time."""
    room = 100.0 if share is None else max(0.0, 100.0 - share)
    found = [
        Opportunity(
            name=f"less time in {_word(name, True)}",
            gain_pct=min(part, room),
            trigger_metric=name,
            trigger_value=f"{part:.1f} %",
            bound="its share of the time",
        )
        for name, part in _outside(stage)[:MOST]
    ]
    worth = [item for item in found if item.gain_pct >= GAIN_LEAST]
    return tuple(sorted(worth, key=lambda item: -item.gain_pct))


def roofs(profile: Profile) -> tuple[Roofs, ...]:
    """This CPU's matmul rate over the rates of its memory and of its cache."""
    stage = profile.stages[0]
    peak, dram = stage.value("peak_tflops"), stage.value("peak_gbps")
    cache = stage.value("peak_cache_gbps")
    if not peak or not dram:
        return ()
    found = [Roofs(label="matmul, DRAM", tflops=peak, gbps=dram)]
    if cache and cache > dram:
        found.append(Roofs(label="matmul, cache", tflops=peak, gbps=cache))
    return tuple(found)
