"""Typed access to `conf/diagnosis.json`: thresholds, causes, phrases, stalls, actions, rules."""

from functools import cache
from typing import Literal

import msgspec

from mla_var3 import conf
from mla_var3.core.diagnosis import BoundClass


class Threshold(msgspec.Struct, frozen=True):
    """One line that a decision is drawn at, with why it lies there."""

    value: float
    unit: str
    reason: str
    source: str


class Cause(msgspec.Struct, frozen=True, rename={"bound": "class"}):
    """What a machine word stands for, and the actions that help."""

    bound: BoundClass
    name: str
    actions: tuple[str, ...]


class Phrase(msgspec.Struct, frozen=True):
    """The templates of one verdict: verdict line, root cause, contract cell."""

    limiter: str
    why: str
    short: str


class Stall(msgspec.Struct, frozen=True):
    """What a stall reason means: a noun, what the warps do, and the action against it."""

    meaning: str
    action: str
    doing: str


class Action(msgspec.Struct, frozen=True):
    """One change worth trying, in words."""

    name: str
    how: str


class RuleAction(msgspec.Struct, frozen=True):
    """The action that a rule of Nsight Compute calls for; `title` is a part of its title."""

    rule: str
    title: str
    action: str
    unless: tuple[str, ...]


class DataKernels(msgspec.Struct, frozen=True):
    """Parts of names of kernels that only make test data."""

    reason: str
    names: tuple[str, ...]


class Knowledge(msgspec.Struct, frozen=True):
    """The whole table."""

    thresholds: dict[str, Threshold]
    causes: dict[str, Cause]
    phrases: dict[str, Phrase]
    stalls: dict[str, Stall]
    actions: dict[str, Action]
    rules: tuple[RuleAction, ...]
    ignored_rules: dict[str, str]
    units: dict[str, str]
    data_kernels: DataKernels


class _Label(msgspec.Struct, frozen=True):
    key: str
    label: str
    unit: str = ""


class Guard(msgspec.Struct, frozen=True):
    """When a line of the spec's table must not be read as it stands, and what to say then."""

    when: str
    text: str


class SpecRow(msgspec.Struct, frozen=True):
    """One row of the spec's Metric Interpretation table."""

    metric: str
    key: str
    op: Literal[">", "=="]
    value: float
    unit: str
    healthy: str
    issue: str
    hint: str
    guards: tuple[Guard, ...] = ()


@cache
def knowledge() -> Knowledge:
    """The table, read once."""
    return msgspec.convert(conf.table("diagnosis"), Knowledge)


@cache
def limit(name: str) -> float:
    """Value of a threshold in the unit that the table gives."""
    return knowledge().thresholds[name].value


@cache
def labels() -> dict[str, str]:
    """Words for every fact key of `conf/metrics.json`."""
    facts = msgspec.convert(conf.table("metrics")["facts"], list[_Label])
    return {fact.key: fact.label for fact in facts}


@cache
def percent_keys() -> frozenset[str]:
    """Fact keys whose unit is percent."""
    facts = msgspec.convert(conf.table("metrics")["facts"], list[_Label])
    return frozenset(fact.key for fact in facts if fact.unit == "%")


@cache
def spec_rows() -> tuple[SpecRow, ...]:
    """The spec's Metric Interpretation table, verbatim, with our guards."""
    return msgspec.convert(conf.table("metrics")["interpretation"], tuple[SpecRow, ...])
