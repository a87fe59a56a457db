"""Stall reasons of the warps in percent of the warp latency, from counters or from samples."""

from mla_var3.core.record import Shares
from mla_var3.measure.ncu_reader.readings import Counters
from mla_var3.measure.ncu_reader.table import table

SAMPLED = "smsp__pcsamp_warps_issue_stalled_"
_DIGITS = 4
# prefix, suffix, unit, of the counters in order of preference
_FAMILIES = (
    (
        "smsp__average_warps_issue_stalled_",
        "_per_issue_active.ratio",
        "% of warp latency",
    ),
    ("smsp__average_warp_latency_issue_stalled_", ".ratio", "% of warp latency"),
    (SAMPLED, "", "% of warp samples"),
)


def read_stalls(counters: Counters) -> Shares | None:
    """Shares with the issuing warps (`selected`), largest first; None where none is recorded."""
    names = [name for name in counters.names() if "issue_stalled_" in name]
    for prefix, suffix, unit in _FAMILIES:
        found = {
            reason: value
            for name in names
            if (reason := reason_of(name, prefix, suffix))
            and (value := counters.read(name).value) is not None
            and value > 0
        }
        total = sum(found.values())
        if total > 0:
            parts = {
                reason: round(100 * value / total, _DIGITS)
                for reason, value in sorted(found.items(), key=lambda item: -item[1])
            }
            return Shares(parts, unit, "ncu", f"{prefix}*{suffix}")
    return None


def reason_of(name: str, prefix: str, suffix: str = "") -> str:
    """Reason that a counter stands for, "" where it is none of this family.

    `…_pipe_…` are parts of another reason, and `…_not_issued` a second view: both count twice.
    """
    if not name.startswith(prefix) or not name.endswith(suffix):
        return ""
    reason = name[len(prefix) : len(name) - len(suffix)]
    if not reason or "_pipe_l1tex" in reason or "_pipe_mio" in reason or "not_issued" in reason:
        return ""
    if "." in reason or reason.endswith("_per_issue_active"):
        return ""
    return table().stall_names.get(reason, reason)
