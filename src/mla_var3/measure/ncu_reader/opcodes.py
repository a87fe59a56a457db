"""Executed instructions by opcode, in percent."""

from typing import Any

from mla_var3.core.record import Shares

MOST_OPCODES = 15
_NAMES = ("sass__inst_executed_per_opcode", "sass__thread_inst_executed_true_per_opcode")
_UNITS = ("% of executed instructions", "% of thread instructions")
_DIGITS = 4


def read_opcodes(action: Any) -> Shares | None:
    """The most frequent opcodes of a launch of a .ncu-rep; None where they are not recorded."""
    for name, unit in zip(_NAMES, _UNITS, strict=True):
        counts = _counts(action, name)
        total = sum(counts.values())
        if total > 0:
            largest = sorted(counts.items(), key=lambda item: -item[1])[:MOST_OPCODES]
            parts = {opcode: round(100 * count / total, _DIGITS) for opcode, count in largest}
            return Shares({k: v for k, v in parts.items() if v > 0}, unit, "ncu", name)
    return None


def _counts(action: Any, name: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    try:
        metric = action.metric_by_name(name)
        if metric is None or not metric.has_correlation_ids():
            return {}
        opcodes = metric.correlation_ids()
        for index in range(metric.num_instances()):
            opcode = str(opcodes.as_string(index) or "")
            if opcode:
                counts[opcode] = counts.get(opcode, 0) + int(metric.as_uint64(index))
    except (RuntimeError, TypeError, ValueError, OverflowError):
        # correlation ids of another kind: no opcodes to be had
        return {}
    return counts
