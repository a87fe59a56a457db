"""`report.md` of `event`: the plan end to end against the roofline, and how it was timed."""

from collections.abc import Mapping

from mla_var3 import conf
from mla_var3.core import units
from mla_var3.core.diagnosis import ProfileDiagnosis
from mla_var3.core.record import PlanIdentity, Profile, Stage
from mla_var3.core.timing import LATER, Timing
from mla_var3.render.event_regimes import REGIME_LEGEND, regime_rows
from mla_var3.render.event_screen import device_text, headline
from mla_var3.render.event_table import (
    conditions,
    is_slow,
    more_texts,
    percent,
    roofline_rows,
    rows,
)
from mla_var3.render.markdown import md, md_list, md_table, value_text

LEGEND = (
    "Roofline: max(FLOPs / dense peak, bytes / DRAM peak) of the algorithm's own work, a bound. "
    "% rated is the roofline over the median at the published peaks, % clock at the SM clock of "
    "the run. Stages have no time of their own here: annotation gives it."
)


def render_event_report(
    profile: Profile, diagnosis: ProfileDiagnosis, timing: Timing, no_contract: str = ""
) -> str:
    """The whole report as Markdown."""
    plan = profile.plan or PlanIdentity(kernel="unnamed", version="")
    whole = profile.end_to_end or profile.stages[0]
    title = f"{plan.kernel} {plan.version or 'base'}"
    first = " · ".join(line.strip() for line in headline(profile, device_text(timing)))
    lines = [f"# {md(title)}: event", "", md(first), ""]
    lines += [f"**{md(text)}**" for text in diagnosis.notes]
    lines += ["", *md_table(regime_rows(profile.end_to_end, timing, is_slow(whole)))]
    lines += ["", REGIME_LEGEND, "", *md_table(rows(profile, diagnosis)), "", LEGEND, ""]
    lines += [md(diagnosis.root_cause) + ".", "", "## Roofline, end to end", ""]
    lines += [*md_table(roofline_rows(whole)), "", *_shares(whole)]
    lines += ["", "## How it was timed", "", *md_table([("", ""), *conditions(timing)])]
    lines += [f"- cache for comparison: {md(text)}" for text in more_texts(timing)]
    lines += _figures("Figures of the whole", whole)
    for position, stage in enumerate(profile.stages, start=1):
        lines += _figures(f"{position}. {stage.name}", stage)
        lines += _tiling(profile, stage)
    lines += _doubts(profile, no_contract)
    return "\n".join(lines) + "\n"


def _shares(whole: Stage) -> list[str]:
    """Both shares of the roofline, or why one is missing."""
    texts = []
    for key, where in (("roofline_share", "rated peaks"), ("clock_share", "measured clock")):
        value = whole.value(key)
        shown = percent(value) if value is not None else f"n/a ({whole.missing.get(key, '-')})"
        texts.append(f"of the roofline at the {where}: {shown}")
    return md_list(texts)


def _figures(title: str, stage: Stage) -> list[str]:
    """Every figure with its source, and the reason for every missing one."""
    labels = _labels()
    table = [("Figure", "Value", "Source", "From")]
    for key, metric in stage.metrics.items():
        table.append((labels.get(key, key), value_text(metric), metric.source, metric.raw))
    for key, reason in stage.missing.items():
        table.append((labels.get(key, key), units.NA, "-", reason))
    return ["", f"## {md(title)}", "", *md_table(table)]


def _tiling(profile: Profile, stage: Stage) -> list[str]:
    tiling = profile.tilings.get(stage.name)
    if not tiling:
        return []
    return ["", md("Tiling: " + ", ".join(f"{name}={value}" for name, value in tiling.items()))]


def _doubts(profile: Profile, no_contract: str) -> list[str]:
    """Notes, and what was not measured."""
    notes = [*profile.warnings, *([no_contract] if no_contract else [])]
    lines = ["", "## Notes", "", *md_list(notes)] if notes else []
    if profile.missing:
        lines += ["", "## Not measured", "", *md_list(gap_texts(profile.missing))]
    return lines


def gap_texts(missing: Mapping[str, str]) -> list[str]:
    """Parts of the protocol that were not done, and why; of older profiles what they do not tell.

    An interval is made of the samples that any profile holds.
    """
    older = "not by the version that took this profile"
    return [
        f"{name}: {older if reason == LATER else reason}"
        for name, reason in missing.items()
        if (name, reason) != ("confidence interval by blocks", LATER)
    ]


def _labels() -> dict[str, str]:
    tables = ("metrics", "static", "event")
    facts = [fact for name in tables for fact in conf.table(name).get("facts", [])]
    facts += [fact for name in tables for fact in conf.table(name).get("metrics", [])]
    return {fact["key"]: fact["label"] for fact in facts}
