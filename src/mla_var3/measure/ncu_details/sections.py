"""The report's sections with their counters, and what each throughput is made of."""

from collections.abc import Sequence
from typing import Any

from mla_var3.core.ncu_details import Breakdown, Counter, Section
from mla_var3.measure.ncu_details.counters import counter_of, find
from mla_var3.measure.ncu_details.spec import spec
from mla_var3.measure.ncu_reader.rules import clean_text

_BREAKDOWN, _GROUP = "breakdown:", "group:"
_LONGEST_DESCRIPTION = 1000


def read_sections(action: Any, names: Sequence[str]) -> tuple[Section, ...]:
    """All sections by their order; () for a report without any.

    The modules of Nsight Compute before 2026 tell no sections: then all counters, `names`, are one.
    """
    if not hasattr(action, "sections"):
        return (_all_counters(action, names),)
    sections = [_section(action, section) for section in action.sections()]
    return tuple(sorted(sections, key=lambda section: (section.order, section.name)))


def _section(action: Any, section: Any) -> Section:
    header = [counter_of(metric) for metric in section.header_metrics()]
    names = {counter.name for counter in header}
    body = [counter_of(metric) for metric in section.body_metrics()]
    parts = [counter for counter in body if counter.name.startswith(_BREAKDOWN)]
    # throughputs of the header list their parts beside themselves too
    listed = {part.name for part in parts}
    more = (find(action, _BREAKDOWN + name) for name in names)
    parts += [found for found in more if found is not None and found.name not in listed]
    return Section(
        identifier=str(section.identifier()),
        name=clean_text(str(section.name()), _LONGEST_DESCRIPTION),
        description=clean_text(str(section.description() or ""), _LONGEST_DESCRIPTION),
        order=int(section.order()),
        parent=str(section.parent_identifier() or ""),
        header=tuple(header),
        body=tuple(c for c in body if c.name not in names and not _lists(c)),
        breakdowns=tuple(_breakdown(action, part) for part in parts),
    )


def _all_counters(action: Any, names: Sequence[str]) -> Section:
    counters = (find(action, name) for name in sorted(names))
    return Section(
        identifier="",
        name=spec().all_counters["name"],
        description=spec().all_counters["why"],
        order=0,
        parent="",
        header=(),
        body=tuple(c for c in counters if c is not None and not _lists(c)),
        breakdowns=(),
    )


def _lists(counter: Counter) -> bool:
    """Whether its value is a list of other counters."""
    return counter.name.startswith((_BREAKDOWN, _GROUP))


def _breakdown(action: Any, counter: Counter) -> Breakdown:
    metric = action.metric_by_name(counter.name)
    names = str(metric.value() or "").split(",")
    parts = [found for name in names if (found := find(action, name.strip())) is not None]
    parts.sort(key=_largest_first)
    return Breakdown(counter.name.removeprefix(_BREAKDOWN), tuple(parts))


def _largest_first(counter: Counter) -> tuple[float, str]:
    value = counter.value
    return (-value if isinstance(value, int | float) else 0.0, counter.name)
