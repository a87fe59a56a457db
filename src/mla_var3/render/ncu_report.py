"""`report.md` of an ncu profile, one screen: verdicts, what to try, what NVIDIA recommends."""

import msgspec

from mla_var3.core import artifacts, units
from mla_var3.core.diagnosis import Diagnosis
from mla_var3.core.recommendation import Recommendation
from mla_var3.core.record import Profile, Stage
from mla_var3.render.annotation_tables import Rows, stage_rows
from mla_var3.render.annotation_view import headline
from mla_var3.render.kernel_block import CLASS_WORDS, opportunity_text, try_texts, where_text
from mla_var3.render.layout import shorten
from mla_var3.render.markdown import md, md_list, md_table
from mla_var3.render.ncu_view import (
    NcuView,
    files_of,
    kept,
    limit,
    measure_text,
    recommendation_text,
    spread_text,
)
from mla_var3.render.screen import header_parts, longest, remarks

EVIDENCE = 3
DOUBTS = 2
LINE = 220
"""A line of the report is cut there: the whole text stands in report-verbose.md."""
NVIDIA = "NVIDIA"


def render_ncu_report(view: NcuView, no_contract: str = "") -> str:
    """The whole report as Markdown."""
    profile, diagnosis = view.profile, view.diagnosis
    lines = [f"# {md(view.title)}: ncu", "", md(" · ".join(_head(view))), ""]
    if profile.failure:
        lines += [f"**{profile.status}: {md(profile.failure)}**", ""]
    cause = md(diagnosis.root_cause).rstrip(".")
    word = CLASS_WORDS[diagnosis.bound]
    lines += [f"**{word}** (most of the time): {cause}. Confidence {diagnosis.confidence}.", ""]
    if len(profile.stages) > 1 and diagnosis.opportunities:
        tries = (opportunity_text(item, how=False) for item in diagnosis.opportunities)
        lines += [*md_list(f"try: {text}" for text in tries), ""]
    lines += md_table(_table(profile, view))
    verdicts = {verdict.stage: verdict for verdict in diagnosis.stages}
    for stage in longest(profile.stages, limit("detailed")):
        lines += ["", *_kernel(view, stage, verdicts[stage.name])]
    lines += _closing(view, no_contract)
    return "\n".join(lines) + "\n"


def _head(view: NcuView) -> list[str]:
    """What ran on what, or what was read from where."""
    if view.profile.plan is None:
        return header_parts(view.profile, view.title)
    first = [line.strip() for line in headline(view.as_stages)]
    return [*first, *([measure_text(view.facts)] if view.facts else [])]


def _table(profile: Profile, view: NcuView) -> Rows:
    """A row a stage, the longest ones; the kernels of a stage of several below it."""
    stages = tuple(stage for stage, _ in profile.of_plan)
    most = limit("listed")
    shown = {stage.name for stage in longest(stages, most)}
    own = tuple(
        kernel
        for stage, kernels in profile.of_plan
        if stage.name in shown
        for kernel in (kernels or (stage,))
    )
    some = msgspec.structs.replace(
        view.as_stages, profile=msgspec.structs.replace(profile, stages=own)
    )
    rows = stage_rows(some, most)
    rest = [stage for stage in stages if stage.name not in shown]
    if rest:
        times = [stage.value("duration") for stage in rest]
        known = [time for time in times if time is not None]
        time = units.total(sum(known)) if len(known) == len(times) else units.NA
        rows.append((f"others ({len(rest)})", time, *[""] * (len(rows[0]) - 2)))
    return rows


def _kernel(view: NcuView, stage: Stage, verdict: Diagnosis) -> list[str]:
    """One kernel: why it takes that long, where, and what both of us would try."""
    time = units.duration(stage.value("duration")) + (" alone" if stage.isolated else "")
    head = f"{stage.name}: {time}, {CLASS_WORDS[verdict.bound]}"
    told = verdict.root_cause in view.diagnosis.root_cause
    cause = verdict.limiter if told else f"{verdict.limiter}. {verdict.root_cause}"
    lines = [f"## {md(head)}", "", md(cause), ""]
    evidence = " · ".join(item.text for item in verdict.evidence[:EVIDENCE])
    texts = [("why", evidence), ("launches", spread_text(stage))]
    texts += [("where", where_text(verdict.where) if verdict.where else "")]
    shown = kept(view, stage.name)[: limit("recommendations")]
    own = _without_rules(verdict, shown)
    texts += [("try", text) for text in try_texts(own)]
    texts += [(NVIDIA, text) for text in _recommended(view, stage, own, shown)]
    texts += [("doubt", text) for text in (*verdict.notes, *stage.warnings)[:DOUBTS]]
    texts += [("files", ", ".join(files_of(view, stage.name)))]
    return [*lines, *md_list(f"{label}: {shorten(text, LINE)}" for label, text in texts if text)]


def _without_rules(verdict: Diagnosis, shown: list[Recommendation]) -> Diagnosis:
    """The verdict without the opportunities that stand among NVIDIA's recommendations anyway."""
    theirs = {item.action for item in shown}
    own = tuple(
        item
        for item in verdict.opportunities
        if item.origin != "ncu rule" or item.name not in theirs
    )
    return msgspec.structs.replace(verdict, opportunities=own)


def _recommended(
    view: NcuView, stage: Stage, own: Diagnosis, shown: list[Recommendation]
) -> list[str]:
    """NVIDIA's recommendations, the best ones, and how many are left out."""
    said = {item.name for item in own.opportunities}
    texts = [recommendation_text(item, how=item.action not in said) for item in shown]
    number = len(view.recommendations.get(stage.name, ())) - len(shown)
    if number:
        rest = f"{number} more are left out" if shown else f"none of its {number} holds here"
        texts.append(f"{rest}; {artifacts.REPORT_VERBOSE_MD} says why")
    return texts


def _closing(view: NcuView, no_contract: str) -> list[str]:
    texts = remarks(view.profile, view.diagnosis, view.device)
    texts = [text for text in texts if text != view.profile.failure]
    absent = view.facts.absent if view.facts is not None else {}
    for why in dict.fromkeys(absent.values()):
        stages = ", ".join(stage for stage, reason in absent.items() if reason == why)
        texts.append(f"no PTX from a compiler for {stages}: {why}")
    texts += [no_contract] if no_contract else []
    lines = ["", "## Notes", "", *md_list(texts)] if texts else []
    if artifacts.REPORT_VERBOSE_MD in view.files:
        every = f"every section, every recommendation: {artifacts.REPORT_VERBOSE_MD}"
        lines += ["", md(every)]
    return lines
