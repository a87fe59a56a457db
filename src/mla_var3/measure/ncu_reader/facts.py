"""Evaluate the metric table on one launch: metrics with their origin, or why they are missing."""

import math
from collections.abc import Callable
from typing import NamedTuple

from mla_var3.core.record import Metric
from mla_var3.measure.ncu_reader.readings import Counters, Reading
from mla_var3.measure.ncu_reader.table import Chip, Fact, OnlyIf, Way, facts_by_key, table

_PERCENT_OF_SECTOR = 32 / 100


class Found(NamedTuple):
    """A value and the expression it was read from, or None and the reason."""

    value: float | int | None
    raw: str
    """Counter or expression; the reason where there is no value."""


def read_facts(
    counters: Counters, chip: Chip | None = None
) -> tuple[dict[str, Metric], dict[str, str]]:
    """All facts of the table that this launch gives, and the reason for each other."""
    evaluation = _Evaluation(counters, chip)
    metrics: dict[str, Metric] = {}
    missing: dict[str, str] = {}
    for key, fact in facts_by_key().items():
        found = evaluation.fact(key)
        if found.value is None:
            missing[key] = found.raw
        else:
            metrics[key] = Metric(found.value, fact.unit, "ncu", found.raw)
    return metrics, missing


class _Evaluation:
    """Facts of one launch, each read once; facts may use others."""

    def __init__(self, counters: Counters, chip: Chip | None) -> None:
        self._counters = counters
        self._chip = chip
        self._done: dict[str, Found] = {}

    def fact(self, key: str) -> Found:
        """Value of a fact in its unit, or the reason."""
        if key not in self._done:
            # stands while the fact is read: a table that refers to itself must not hang
            self._done[key] = Found(None, table().absence["not_collected"])
            self._done[key] = self._meaningful(facts_by_key()[key])
        return self._done[key]

    def _meaningful(self, fact: Fact) -> Found:
        found = self._first(fact)
        if fact.only_if is not None and self._inapplicable(fact.only_if, found):
            return Found(None, fact.otherwise)
        if found.value is None:
            return found
        if self._zero_is_nothing(fact, found):
            return Found(None, fact.zero_means)
        value = found.value if fact.at_most is None else min(found.value, fact.at_most)
        whole = isinstance(value, float) and value.is_integer() and abs(value) < 2**53
        return Found(int(value) if whole else value, found.raw)

    def _first(self, fact: Fact) -> Found:
        reason = ""
        for way in fact.ways:
            found = self._by(way, fact)
            if found.value is not None and not (way.skip_zero and found.value == 0):
                return found
            # of several reasons the most telling: one that is not "not collected"
            if found.value is None and reason in ("", table().absence["not_collected"]):
                reason = found.raw
        if self._chip in fact.absent_on and reason == table().absence["not_collected"]:
            reason = table().absence["no_counter"]
        return Found(None, reason or table().absence["not_collected"])

    def _by(self, way: Way, fact: Fact) -> Found:
        for field, evaluate in _WAYS.items():
            if getattr(way, field):
                found = evaluate(self, way, fact)
                break
        if found.value is None:
            return found
        value = found.value if way.scale == 1.0 else found.value * way.scale
        if not math.isfinite(value):
            return Found(None, table().absence["not_a_number"])
        return Found(value, found.raw)

    def _zero_is_nothing(self, fact: Fact, found: Found) -> bool:
        if not fact.zero_means or found.value != 0:
            return False
        return not fact.zero_means_without or self.fact(fact.zero_means_without).value is None

    def _inapplicable(self, only_if: OnlyIf, found: Found) -> bool:
        positive = [self._counters.read(name).value for name in only_if.positive]
        if found.value == 0 and None in positive:
            return True
        bypasses = any(self._counters.read(name).value for name in only_if.zero)
        return bypasses or any(value == 0 for value in positive)

    def _read(self, name: str, way: Way, fact: Fact) -> Found:
        reading = self._counters.read(name).within(way.unit or fact.unit, way.unit)
        return _found(reading, name)

    def _plain(self, way: Way, fact: Fact) -> Found:
        found = self._read(way.name, way, fact)
        if found.value is None or not way.how:
            return found
        if way.how == "pct_of_32":
            return Found(found.value * _PERCENT_OF_SECTOR, f"{found.raw} * 32 / 100")
        active = self.fact("active_share")
        if active.value is None:
            return active
        return Found(found.value * active.value / 100, f"{found.raw} * active_share")

    def _sum(self, way: Way, fact: Fact) -> Found:
        found = [self._read(name, way, fact) for name in way.sum]
        return next((part for part in found if part.value is None), None) or _added(found)

    def _sum_present(self, way: Way, fact: Fact) -> Found:
        found = [self._read(name, way, fact) for name in way.sum_present]
        present = [part for part in found if part.value is not None]
        absent = next((part for part in found if part.value is None), None)
        # a zero of a part proves nothing about the others
        some = any(part.value for part in present)
        return _added(present) if some or absent is None else absent

    def _difference(self, way: Way, fact: Fact) -> Found:
        first, second = (self._read(name, way, fact) for name in way.difference or ())
        if first.value is None or second.value is None:
            return first if first.value is None else second
        return Found(max(0, first.value - second.value), f"{first.raw} - {second.raw}")

    def _ratio(self, way: Way, fact: Fact) -> Found:
        return _divided([_found(self._counters.read(name), name) for name in way.ratio or ()])

    def _share(self, way: Way, fact: Fact) -> Found:
        part, rest = (_found(self._counters.read(name), name) for name in way.share or ())
        if part.value is None or rest.value is None:
            return part if part.value is None else rest
        divided = _divided([part, Found(part.value + rest.value, f"({part.raw} + {rest.raw})")])
        return divided._replace(value=None if divided.value is None else 100 * divided.value)

    def _facts_ratio(self, way: Way, fact: Fact) -> Found:
        return _divided([self.fact(key) for key in way.facts_ratio])

    def _facts_sum(self, way: Way, fact: Fact) -> Found:
        found = [self.fact(key) for key in way.facts_sum]
        # a type that was counted and is zero would only lengthen the expression
        used = [part for part in found if part.value]
        absent = next((part for part in found if part.value is None), None)
        return _added(used or found) if used or absent is None else absent

    def _computed(self, way: Way, fact: Fact) -> Found:
        """Waves an SM: blocks over what all SMs hold at once."""
        limits = [
            found
            for key in ("limit_registers", "limit_shared_memory", "limit_warps", "limit_blocks")
            if (found := self.fact(key)).value
        ]
        grid, sms = self.fact("grid_size"), self.fact("sm_count")
        if grid.value is None or not sms.value or not limits:
            return Found(None, table().absence["not_collected"])
        least = min(limits, key=lambda found: found.value or 0)
        held = sms.value * (least.value or 0)
        return Found(grid.value / held, f"{grid.raw} / ({sms.raw} * {least.raw})")


_WAYS: dict[str, Callable[[_Evaluation, Way, Fact], Found]] = {
    "name": _Evaluation._plain,
    "sum": _Evaluation._sum,
    "sum_present": _Evaluation._sum_present,
    "difference": _Evaluation._difference,
    "ratio": _Evaluation._ratio,
    "share": _Evaluation._share,
    "facts_ratio": _Evaluation._facts_ratio,
    "facts_sum": _Evaluation._facts_sum,
    "computed": _Evaluation._computed,
}


def _found(reading: Reading, name: str) -> Found:
    if reading.value is None:
        return Found(None, reading.reason)
    return Found(reading.value, reading.name or name)


def _added(parts: list[Found]) -> Found:
    return Found(sum(part.value or 0 for part in parts), " + ".join(part.raw for part in parts))


def _divided(parts: list[Found]) -> Found:
    """First over all others; none where one is missing or a divisor is zero."""
    absent = next((part for part in parts if part.value is None), None)
    if absent is not None:
        return absent
    value = float(parts[0].value or 0)
    for part in parts[1:]:
        if not part.value:
            return Found(None, table().absence["not_a_number"])
        value /= part.value
    return Found(value, " / ".join(part.raw for part in parts))
