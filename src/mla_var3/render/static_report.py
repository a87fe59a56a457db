"""`report.md` of `static`: every figure of every stage with its source, or why it is missing."""

from mla_var3 import conf
from mla_var3.core import units
from mla_var3.core.diagnosis import Diagnosis, ProfileDiagnosis
from mla_var3.core.record import Metric, PlanIdentity, Profile, Stage
from mla_var3.render.layout import plain
from mla_var3.render.static_screen import NO_FINDING, NOTHING_COMPILED, StaticRequest, headline
from mla_var3.render.static_table import rows


def render_static_report(
    profile: Profile, diagnosis: ProfileDiagnosis, request: StaticRequest
) -> str:
    """The whole report as Markdown."""
    verdicts = {verdict.stage: verdict for verdict in diagnosis.stages}
    plan = profile.plan or PlanIdentity(kernel="unnamed", version="")
    first = headline(plan, profile.environment.device or request.arch, request.arch)
    lines = [f"# {_md(f'{plan.kernel} {plan.version}')}: static", "", _md(" ".join(first)), ""]
    lines += [f"**{_md(note)}**" for note in diagnosis.notes]
    lines += ["", *_table(rows(profile, diagnosis, request.totals)), ""]
    lines += [
        "Roofline: max(FLOPs / dense peak, bytes / DRAM peak), at the published peaks. Ceiling: "
        "the same at the rates that were measured on such a device. Both are bounds.",
        "",
        _md(diagnosis.root_cause) + ".",
    ]
    for position, stage in enumerate(profile.stages, start=1):
        lines += ["", *_section(position, stage, verdicts[stage.name], request)]
        lines += _tiling(profile, stage)
    if profile.warnings:
        lines += ["", "## Notes", "", *(f"- {_md(text)}" for text in profile.warnings)]
    return "\n".join(lines) + "\n"


def _section(position: int, stage: Stage, verdict: Diagnosis, request: StaticRequest) -> list[str]:
    lines = [f"## {position}. {_md(stage.name)}", ""]
    for item in verdict.evidence:
        advice = request.advice.get(item.text)
        lines.append(f"- finding: {_md(item.text)}" + (f"; try {_md(advice)}" if advice else ""))
    if not verdict.evidence:
        compiled = stage.value("registers") is not None
        lines.append(f"- finding: {NO_FINDING if compiled else NOTHING_COMPILED}")
    lines.append(f"- {_md(verdict.limiter)}")
    lines += [f"- {_md(text)}" for text in stage.warnings]
    labels = _labels()
    lines += ["", "| Figure | Value | Source | From |", "|---|---|---|---|"]
    for key, metric in stage.metrics.items():
        cells = (labels.get(key, key), _value(metric), metric.source, metric.raw)
        lines.append(f"| {' | '.join(map(_md, cells))} |")
    for key, reason in stage.missing.items():
        lines.append(f"| {_md(labels.get(key, key))} | n/a | - | {_md(reason)} |")
    return [*lines, *_opcodes(stage)]


def _opcodes(stage: Stage) -> list[str]:
    if stage.opcodes is None:
        return []
    parts = " · ".join(f"{_md(name)} {share:.1f} %" for name, share in stage.opcodes.parts.items())
    return ["", f"Opcodes, {_md(stage.opcodes.unit)}: {parts}"]


def _tiling(profile: Profile, stage: Stage) -> list[str]:
    tiling = profile.tilings.get(stage.name)
    if not tiling:
        return []
    words = ", ".join(f"{name}={value}" for name, value in tiling.items())
    return ["", f"Tiling: {_md(words)}"]


def _table(table: list[tuple[str, ...]]) -> list[str]:
    head, *body = [f"| {' | '.join(map(_md, row))} |" for row in table]
    return [head, "|---" * len(table[0]) + "|", *body]


def _value(metric: Metric) -> str:
    if metric.unit == "ns":
        return units.duration(metric.value)
    value = metric.value
    whole = float(value).is_integer() and abs(value) < 1e6
    shown = f"{value:.0f}" if whole else f"{value:.4g}"
    return f"{shown} {metric.unit}"


def _labels() -> dict[str, str]:
    facts = [*conf.table("metrics")["facts"], *conf.table("static")["metrics"]]
    return {fact["key"]: fact["label"] for fact in facts}


def _md(text: str) -> str:
    """Text that Markdown shows as it is, also inside a table."""
    for mark in ("\\", "|", "*", "_", "`", "<", "["):
        text = text.replace(mark, "\\" + mark)
    return plain(text)
