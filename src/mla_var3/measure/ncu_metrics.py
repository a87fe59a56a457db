"""The counters that ncu is asked for on one chip, by mode: every name is known to exist there.

ncu ends the whole run at a name that it does not know, so names are resolved before it starts.
"""

import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import NamedTuple

import msgspec

from mla_var3 import conf
from mla_var3.core.record import Stage
from mla_var3.measure.ncu_reader.table import Chip, Fact, Way, facts_by_key, table

Exists = Callable[[str], bool]
"""Whether a chip has the counter of this name, without its suffixes."""


class Stalls(msgspec.Struct, frozen=True):
    """Names of the stall counters; `only` are the chips of those that are not everywhere."""

    prefix: str
    suffix: str
    reasons: tuple[str, ...]
    only: dict[str, tuple[Chip, ...]]


class _Annotation(msgspec.Struct, frozen=True):
    """The parts of conf/annotation.json that choose counters."""

    facts: tuple[str, ...]
    also: tuple[str, ...]
    work: dict[str, tuple[str, ...]]
    stalls: Stalls
    absent: dict[Chip, tuple[str, ...]]
    tool_names: tuple[str, ...]
    given: tuple[str, ...]
    not_collected: str
    unknown_name: str
    left_out: dict[str, str]


class MetricSet(NamedTuple):
    """Names to ask for, in order, and why each other fact will not be there."""

    names: tuple[str, ...]
    missing: dict[str, str]

    def without(self, unknown: Iterable[str]) -> "MetricSet":
        """The set without names that ncu refused; facts read from them are missing for that."""
        dropped = [name for name in self.names if name in set(unknown)]
        reasons = {
            key: annotation().unknown_name.format(name=name)
            for key, fact in facts_by_key().items()
            for name in dropped
            if any(name in way.raw_names() for way in fact.ways)
        }
        names = tuple(name for name in self.names if name not in dropped)
        return MetricSet(names, self.missing | reasons)


@cache
def annotation() -> _Annotation:
    """The table; a mistake in the file raises here."""
    return msgspec.convert(conf.table("annotation"), _Annotation)


def metric_set(
    chip: Chip | None, dtypes: Iterable[str] = (), exists: Exists | None = None
) -> MetricSet:
    """The set for a chip and for stages that compute in `dtypes`.

    `chip` None: a chip that the tables do not know; `exists` then tells what it has, and without
    it the names are taken that all chips have.
    """
    absent = annotation().absent.get(chip or "", ())
    told = exists or (lambda name: name not in absent)
    keys = [*annotation().facts, *(key for d in dtypes for key in annotation().work.get(d, ()))]
    names: dict[str, None] = {}
    missing: dict[str, str] = {}
    for key in dict.fromkeys(keys):
        found = _names(facts_by_key()[key], chip, told)
        if not found:
            missing[key] = table().absence["no_counter"]
        names |= dict.fromkeys(found)
    asked = {name for name in names if not name.startswith(annotation().given)}
    reasons = {
        key: annotation().not_collected.format(why=why)
        for key, why in annotation().left_out.items()
        if key not in keys
    }
    ordered = (*annotation().also, *(name for name in names if name in asked))
    return MetricSet((*ordered, *_stalls(chip, told)), missing | reasons)


def full_set(chip: Chip | None, dtypes: Iterable[str] = ()) -> MetricSet:
    """The counters to ask for beside `--set full`: those that it leaves out and a diagnosis reads.

    None for a chip that the tables do not know: a name that it lacks would end the run.
    """
    if chip is None:
        return MetricSet((), {})
    keys = conf.table("capture")["beyond_full"]
    wanted = {name for key in keys for way in facts_by_key()[key].ways for name in way.raw_names()}
    there = metric_set(chip, dtypes).names
    return MetricSet(tuple(name for name in there if name in wanted), {})


def explained(stage: Stage, metrics: MetricSet) -> Stage:
    """The stage with the reason of the set for each fact that was not asked for."""
    reasons = {key: why for key, why in metrics.missing.items() if key in stage.missing}
    return msgspec.structs.replace(stage, missing=stage.missing | reasons)


def unknown_names(text: str) -> tuple[str, ...]:
    """Names that ncu says it does not know, from what it printed."""
    found = re.findall(r"Failed to find metric (?:regex:)?\^?([\w.]+)", text)
    return tuple(dict.fromkeys(found))


def base_name(name: str) -> str:
    """A counter's name without its suffixes: `sm__cycles_active.avg` is `sm__cycles_active`."""
    return name.partition(".")[0]


def parse_query(text: str) -> frozenset[str]:
    """Base names of a listing of `ncu --query-metrics`: the first word of each line."""
    words = (line.split()[0] for line in text.splitlines() if line[:1].isalpha() and line.split())
    return frozenset(word for word in words if "__" in word)


def _names(fact: Fact, chip: Chip | None, exists: Exists) -> tuple[str, ...]:
    """Counters of the first way to read a fact that the chip has; () where it has none."""
    if chip in fact.absent_on:
        return ()
    for way in fact.ways:
        parts = (*way.facts_ratio, *way.facts_sum)
        if parts:
            found = [_names(facts_by_key()[key], chip, exists) for key in parts]
            if all(found):
                return tuple(name for names in found for name in names)
            continue
        names = _of_way(way, chip, exists)
        if names:
            return names
    return ()


def _of_way(way: Way, chip: Chip | None, exists: Exists) -> tuple[str, ...]:
    if way.chips and (chip not in way.chips if chip else False):
        return ()
    names = way.raw_names()
    there = tuple(name for name in names if _has(name, exists))
    if way.sum_present:
        return there
    return there if len(there) == len(names) else ()


def _has(name: str, exists: Exists) -> bool:
    return name.startswith(annotation().tool_names) or exists(base_name(name))


def _stalls(chip: Chip | None, exists: Exists) -> list[str]:
    stalls = annotation().stalls
    names = []
    for reason in stalls.reasons:
        chips = stalls.only.get(reason)
        name = f"{stalls.prefix}{reason}{stalls.suffix}"
        if (chips is None or chip is None or chip in chips) and exists(base_name(name)):
            names.append(name)
    return names
