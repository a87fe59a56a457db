"""Step 6b: atomics that queue at few addresses, and blocks smaller than a warp."""

from mla_var3.analyse.facts import Facts
from mla_var3.analyse.knowledge import knowledge, limit
from mla_var3.analyse.verdict import Verdict, at_most
from mla_var3.analyse.words import percent, whole

QUEUES = frozenset({"lg_throttle", "drain", "membar"})


def decide(facts: Facts) -> Verdict | None:
    """Latency, where atomics serialise or blocks do not fill a warp."""
    return _one_slice(facts) or _queue(facts) or _small_blocks(facts)


def request_share(facts: Facts) -> float | None:
    """Atomics in percent of the global requests; None without any."""
    atomics = facts.get("atomics")
    requests = facts.total("global_load_requests", "global_store_requests")
    return 100.0 * atomics / (atomics + requests) if atomics and requests is not None else None


def _one_slice(facts: Facts) -> Verdict | None:
    slice_busy, mean = facts.get("atomic_unit_max"), facts.get("atomic_unit")
    if slice_busy is None or mean is None:
        return None
    if slice_busy < limit("atomic_slice") or slice_busy < limit("atomic_ratio") * mean:
        return None
    return Verdict(
        cause="atomics",
        phrase="atomics_slice",
        confidence=at_most("medium", not facts.all_roofs_read),
        figures={"slice": percent(slice_busy), "mean": percent(mean)},
        keys=("atomic_unit_max", "atomic_unit"),
        trigger=percent(slice_busy),
    )


def _queue(facts: Facts) -> Verdict | None:
    share = request_share(facts)
    if share is None or share < limit("atomic_share") or not facts.stalls:
        return None
    stall, part = facts.stalls[0]
    if part < limit("stall_named") or stall not in QUEUES:
        return None
    return Verdict(
        cause="atomics",
        phrase="atomics_queue",
        confidence=at_most("medium", not facts.all_roofs_read),
        figures={
            "stall": stall,
            "stall_share": whole(part),
            "share": whole(share),
            "doing": knowledge().stalls[stall].doing,
        },
        keys=("atomics", "stalls"),
        trigger=f"{whole(share)} of the requests",
        gain=part,
    )


def _small_blocks(facts: Facts) -> Verdict | None:
    lanes = limit("warp_lanes")
    if facts.block is None or facts.block >= lanes or not facts.all_roofs_read:
        return None
    return Verdict(
        cause="lanes",
        phrase="lanes",
        figures={"threads": f"{facts.block:.0f}"},
        keys=("block_size",),
        trigger=f"{facts.block:.0f}",
        gain=100.0 * (1.0 - facts.block / lanes),
    )
