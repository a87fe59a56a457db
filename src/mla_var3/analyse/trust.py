"""Step 0: what of a launch may be trusted, and how far."""

from dataclasses import replace

from mla_var3.analyse.facts import Facts
from mla_var3.analyse.knowledge import limit
from mla_var3.analyse.verdict import Remarks, Verdict, at_most, weaker
from mla_var3.analyse.words import duration, label, listed, unit


def decide(facts: Facts) -> Verdict | None:
    """Unknown for a launch that the profiler was stopped in."""
    if not facts.interrupted:
        return None
    return Verdict(cause="unknown", phrase="interrupted", confidence="none")


def doubt(facts: Facts, verdict: Verdict) -> Verdict:
    """The verdict with the confidence that the launch allows."""
    doubtful = is_short(facts) or bool(facts.impossible) or bool(model_gap(facts))
    if verdict.confidence == "none":
        return verdict
    return replace(verdict, confidence=weaker(verdict.confidence, at_most("low", doubtful)))


def is_short(facts: Facts) -> bool:
    """Whether the launch is so short that start-up dominates."""
    time = facts.get("duration")
    return time is not None and 0 < time < limit("short_launch")


def model_gap(facts: Facts) -> str:
    """What to say where the counted FLOPs contradict the plan's model; empty where not."""
    model, counted = facts.get("model_flops"), facts.get("tensor_flops")
    if not model or not counted:
        return ""
    gap = 100.0 * abs(counted / model - 1.0)
    if gap <= limit("flops_mismatch"):
        return ""
    return f"counted FLOPs differ by {gap:.0f} % from the plan's model: padding, or another problem"


def remarks(facts: Facts, verdict: Verdict) -> Remarks:
    """Doubts about this launch."""
    notes = []
    if is_short(facts):
        time = duration(facts.get("duration") or 0.0)
        notes.append(f"the launch lasts only {time} (< 5 µs): repeat it in a loop to judge it")
    if facts.impossible:
        names = listed([f"{unit(k)} {_raw(facts, k)}" for k in facts.impossible], 3)
        notes.append(f"a counter misreads ({names}): above 105 % is impossible")
    if gap := model_gap(facts):
        notes.append(gap)
    if facts.stage.isolated:
        notes.append("profiled alone (isolated): its time is not its share of a concurrent run")
    if facts.stage.interrupted and verdict.phrase != "interrupted":
        notes.append("the profiler was stopped inside this launch")
    clock_max = facts.clock_share
    if clock_max is not None and clock_max > limit("roofline_impossible"):
        notes.append(f"the SM clock reads {clock_max:.0f} % of its maximum: a misreading")
    return Remarks(notes=tuple(notes))


def gaps(facts: Facts, verdict: Verdict) -> Remarks:
    """Each rule that could not be applied, with what it lacks."""
    if verdict.phrase == "interrupted":
        return Remarks()
    lines = []
    for rule, keys in _NEEDS:
        missing = [key for key in keys if not _has(facts, key) and not _inapplicable(facts, key)]
        if missing:
            names = listed([label(key) for key in missing], 3)
            lines.append(f"not decidable: missing {names} ({rule})")
    return Remarks(not_checked=tuple(lines))


_NEEDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("class by TC % and DRAM %", ("tensor", "dram")),
    ("short launch", ("duration",)),
    ("clock loss", ("sm_clock",)),
    ("local memory", ("local_load_sectors", "local_store_sectors")),
    ("fill of the SMs", ("grid_size", "sm_count", "active_share")),
    ("divergence", ("lanes",)),
    ("L2 roof", ("l2",)),
    ("L1 roof", ("l1_data", "lsu_requests")),
    ("pipe roofs", ("fma", "alu", "xu", "fp64", "issue")),
    ("coalescing", ("coalescing",)),
    ("bank conflicts", ("bank",)),
    ("atomics", ("atomics",)),
    ("named wait", ("stalls",)),
    ("occupancy", ("occupancy", "occupancy_theoretical")),
    ("locality", ("l2_hit",)),
)


def _has(facts: Facts, key: str) -> bool:
    special = {
        "grid_size": facts.grid is not None,
        "sm_count": facts.sms is not None,
        "active_share": facts.active is not None,
        "stalls": facts.stage.stalls is not None,
        "lanes": facts.get("lanes") is not None or facts.get("lanes_predicated_on") is not None,
        "coalescing": facts.get("global_sectors_excess") is not None or bool(facts.access.keys),
        "bank": facts.get("shared_wavefronts") is not None
        or facts.get("shared_wavefronts_counter") is not None,
        "dram": facts.dram is not None and not facts.dram_reads_only,
    }
    return special[key] if key in special else facts.get(key) is not None


def _inapplicable(facts: Facts, key: str) -> bool:
    """Whether the fact is missing because it means nothing here (TMA, no traffic)."""
    means = {"coalescing": "global_sectors", "bank": "shared_wavefronts"}
    return facts.stage.missing.get(means.get(key, key), "").startswith("not applicable")


def _raw(facts: Facts, key: str) -> str:
    return f"{facts.get(key) or 0.0:.0f} %"
