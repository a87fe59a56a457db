"""`conf/metrics.json` as typed values: which counters a fact is read from, in order."""

from functools import cache

import msgspec

from mla_var3 import conf

Chip = str


class Way(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One way to read a fact; exactly one of the first eight fields says which."""

    name: str = ""
    sum: tuple[str, ...] = ()
    sum_present: tuple[str, ...] = ()
    difference: tuple[str, str] | None = None
    ratio: tuple[str, str] | None = None
    share: tuple[str, str] | None = None
    facts_ratio: tuple[str, ...] = ()
    facts_sum: tuple[str, ...] = ()
    computed: str = ""
    how: str = ""
    scale: float = 1.0
    unit: str = ""
    skip_zero: bool = False
    chips: tuple[Chip, ...] = ()

    def raw_names(self) -> tuple[str, ...]:
        """Counters that this way reads."""
        pair = self.difference or self.ratio or self.share or ()
        return (self.name,) * bool(self.name) + self.sum + self.sum_present + pair


class OnlyIf(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Raw counters that must be above zero, or zero, for a fact to mean anything."""

    positive: tuple[str, ...] = ()
    zero: tuple[str, ...] = ()


class Fact(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One line of the table."""

    key: str
    label: str
    unit: str
    group: str
    names: tuple[str | Way, ...]
    absent_on: tuple[Chip, ...] = ()
    at_most: float | None = None
    zero_means: str = ""
    zero_means_without: str = ""
    only_if: OnlyIf | None = None
    otherwise: str = ""
    note: str = ""

    @property
    def ways(self) -> tuple[Way, ...]:
        """The ways to read it, in order of preference."""
        return tuple(Way(name=way) if isinstance(way, str) else way for way in self.names)


class Label(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A label of the details page and the counter behind it."""

    label: str
    name: str
    section: str = ""


class Table(msgspec.Struct, frozen=True):
    """The parts of the file that reading needs."""

    facts: tuple[Fact, ...]
    chips: dict[str, Chip]
    units: dict[str, dict[str, float]]
    labels: tuple[Label, ...]
    stall_names: dict[str, str]
    absence: dict[str, str]


@cache
def table() -> Table:
    """The metric table; a mistake in the file raises here."""
    return msgspec.convert(conf.table("metrics"), Table)


@cache
def facts_by_key() -> dict[str, Fact]:
    """Every fact by its key, in the order of the table."""
    return {fact.key: fact for fact in table().facts}


def chip_of(compute_capability: str | None) -> Chip | None:
    """Chip whose counter names apply, None where it is not known."""
    return table().chips.get(compute_capability or "")
