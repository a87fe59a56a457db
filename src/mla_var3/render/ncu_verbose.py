"""`report-verbose.md`: every section of a full report with NVIDIA's labels, units and values."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from mla_var3.core import artifacts, units
from mla_var3.core.ncu_details import Breakdown, Counter, LaunchDetails, RuleResult, Section
from mla_var3.core.record import Profile, Stage
from mla_var3.render.layout import plain
from mla_var3.render.markdown import md, md_table
from mla_var3.render.ncu_texts import texts
from mla_var3.render.ncu_values import ABSENT, code, table_of, value_text
from mla_var3.render.ncu_verbose_tables import tables

_INTRO = (
    "Labels, units and values are NVIDIA's, as the report holds them; the last column is the "
    "counter's own name. The diagnosis stands in report.md."
)
_A_CURVE = "a curve, below"
_CAP = "NVIDIA's cap, not a forecast"
_ELSEWHERE = {
    "PmSampling": "Sampled over time",
    "WarpStateStats": "Warp states",
    "InstructionStats": "Instructions by opcode",
    "Occupancy": "Occupancy curves",
    "MemoryWorkloadAnalysis_Chart": "Memory tables",
    "MemoryWorkloadAnalysis_Tables": "Memory tables",
}
"""Sections whose tables and charts stand behind all sections, under this heading."""


class Beside(NamedTuple):
    """The other files of a launch, by what they are: `("machine code", "sass/k.md")`."""

    files: tuple[tuple[str, str], ...]
    absent: tuple[str, ...] = ()
    """What there is not, and why."""


def render_head(profile: Profile, title: str, kept: bool) -> str:
    """Title, where it was recorded, and the list of launches; `kept`: the report lies beside."""
    environment = profile.environment
    facts = [
        environment.device or "device unknown",
        f"recorded by {environment.capture_tool}" if environment.capture_tool else "",
        f"read by {environment.reader_tool}" if environment.reader_tool else "",
        "1 launch" if len(profile.stages) == 1 else f"{len(profile.stages)} launches",
    ]
    lines = [f"# {md(title)}: every section", "", md(" · ".join(filter(None, facts))), ""]
    lines += [_INTRO, ""]
    note = texts().texts["kept"].format(file=artifacts.FULL_REPORT)
    lines += [f"- {md(note)}"] * kept
    lines += [f"- **Warning:** {md(text)}" for text in _doubts(profile)]
    rows = [("#", "Launch", "Duration", "Grid", "Block")]
    for position, stage in enumerate(profile.stages, start=1):
        time = units.duration(stage.value("duration"))
        rows.append((str(position), stage.name, time, _size(stage.grid), _size(stage.block)))
    return "\n".join([*lines, "", *md_table(rows)]) + "\n"


def render_launch(number: int, stage: Stage, details: LaunchDetails, beside: Beside) -> str:
    """Everything of one launch; `number` counts from 1."""
    lines = ["", f"## {number}. {md(stage.name)}", "", f"`{plain(details.kernel)}`", ""]
    facts = [
        f"grid {_size(stage.grid)}" if stage.grid else "",
        f"block {_size(stage.block)}" if stage.block else "",
        f"NVTX {' > '.join(stage.nvtx)}" if stage.nvtx else "",
        f"{details.counters:,} counters" if details.counters else "",
    ]
    lines += [md(" · ".join(filter(None, facts))), ""]
    lines += [f"- {what}: [{path}]({path})" for what, path in beside.files]
    lines += [f"- {md(text)}" for text in (*beside.absent, *stage.warnings)]
    for section in details.sections:
        lines += _section(section, details)
    known = {section.identifier for section in details.sections}
    other = [rule for rule in details.rules if rule.section not in known]
    if other:
        lines += ["", "### Rules of no listed section", "", *_rules(other)]
    lines += tables(details)
    return "\n".join(lines) + "\n"


def _doubts(profile: Profile) -> Sequence[str]:
    return [profile.failure, *profile.warnings] if profile.failure else profile.warnings


def _size(sizes: tuple[int, ...]) -> str:
    return "×".join(map(str, sizes)) if sizes else units.NA


def _section(section: Section, details: LaunchDetails) -> list[str]:
    lines = ["", f"### {md(section.name)}", ""]
    lines += [f"*{md(section.description)}*", ""] if section.description else []
    lines += _counters((*section.header, *section.body), _curves(details))
    for breakdown in section.breakdowns:
        lines += _breakdown(breakdown, section)
    lines += _rules([rule for rule in details.rules if rule.section == section.identifier])
    if section.identifier in _ELSEWHERE:
        lines += ["", f"More below, under “{_ELSEWHERE[section.identifier]}”."]
    elif not (section.header or section.body or section.breakdowns):
        lines += ["A chart or table of the tool's own; the report lists no counters for it."]
    return lines


def _curves(details: LaunchDetails) -> frozenset[str]:
    """Counters that are a curve: their value is the sum of its points, which says nothing."""
    names = [curve.name for curve in details.curves]
    shares = (f"derived__pct_{name.removeprefix('launch__')}" for name in names)
    return frozenset((*names, *shares))


def _counters(counters: Sequence[Counter], curves: Collection[str]) -> list[str]:
    if not counters:
        return []
    rows = []
    for counter in counters:
        value, unit = value_text(counter.value, counter.reason), counter.unit or ABSENT
        if counter.name in curves:
            value, unit = ABSENT, _A_CURVE
        rows.append((md(counter.label) or ABSENT, md(value), unit, code(counter.name)))
    return table_of(("Label", "Value", "Unit", "Counter"), rows)


def _breakdown(breakdown: Breakdown, section: Section) -> list[str]:
    """The parts above zero, and how many are zero."""
    label = next((c.label for c in section.header if c.name == breakdown.of and c.label), "")
    shown = [part for part in breakdown.parts if part.value != 0]
    rows = [(md(value_text(part.value, part.reason)), part.unit, code(part.name)) for part in shown]
    zero = len(breakdown.parts) - len(shown)
    more = f" ({zero} more at 0)" if zero else ""
    heading = f"{label or breakdown.of} is the largest of its parts{more}:"
    table = table_of(("Value", "Unit", "Part"), rows)
    return ["", md(heading), "", *table] if shown else []


def _rules(rules: Sequence[RuleResult]) -> list[str]:
    lines: list[str] = []
    for rule in rules:
        estimate = ""
        if rule.speedup_pct is not None:
            scope = rule.scope.lower()
            estimate = f" (estimated speed-up {rule.speedup_pct:.2f} %, {scope}: {_CAP})"
        title = rule.title or rule.name or rule.rule
        lines += ["", f"- **{rule.type}** {md(title + estimate)}: {md(rule.message)}"]
        for focus in rule.focus:
            value = value_text(focus.value, "no number")
            told = f": {focus.info}" if focus.info else ""
            lines.append(f"  - `{plain(focus.name)}` = {md(value + told)}")
        for table in rule.tables:
            lines += ["", f"  {md(table.title)}. {md(table.description)}", ""]
            lines += [f"  {line}" for line in md_table([table.headers, *table.rows])]
    return lines
