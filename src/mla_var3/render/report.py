"""`report.md`: the diagnosis as Markdown, with the figures it rests on and where they come from."""

from mla_var3.core import units
from mla_var3.core.device import Device
from mla_var3.core.diagnosis import Diagnosis, ProfileDiagnosis
from mla_var3.core.record import Metric, Profile, Stage
from mla_var3.render.kernel_block import (
    CLASS_WORDS,
    KEY_FIGURES,
    missing_texts,
    try_texts,
    where_text,
)
from mla_var3.render.layout import plain
from mla_var3.render.screen import header_parts, remarks

ROOFLINE = {
    "achieved_tflops": ("achieved", "TFLOP/s"),
    "peak_tflops": ("dense peak", "TFLOP/s"),
    "peak_tflops_at_clock": ("dense peak at the measured clock", "TFLOP/s"),
    "achieved_gbps": ("DRAM traffic", "GB/s"),
    "peak_gbps": ("DRAM peak", "GB/s"),
    "intensity": ("arithmetic intensity", "FLOP/byte"),
    "ridge": ("ridge point", "FLOP/byte"),
    "attainable_tflops_at_clock": ("attainable at the measured clock", "TFLOP/s"),
}
"""Fields of `Roofline` that are shown, with label and unit."""


def render_report(
    profile: Profile, diagnosis: ProfileDiagnosis, title: str, device: Device | None = None
) -> str:
    """The whole report: what was read, a table of all kernels, then one section a kernel."""
    verdicts = {verdict.stage: verdict for verdict in diagnosis.stages}
    pairs = [(stage, verdicts[stage.name]) for stage in profile.stages]
    lines = [f"# {_md(title)}", "", _md(" · ".join(header_parts(profile, title))), ""]
    lines += [
        f"**{CLASS_WORDS[diagnosis.bound]}** (most of the time): "
        f"{_md(diagnosis.root_cause)} Confidence {diagnosis.confidence}.",
        "",
    ]
    lines += ["| # | Kernel | Duration | Class | Limiter |", "|---|---|---|---|---|"]
    for position, (stage, verdict) in enumerate(pairs, start=1):
        time = units.duration(stage.value("duration"))
        cells = (str(position), stage.name, time, CLASS_WORDS[verdict.bound], verdict.limiter)
        lines.append(f"| {' | '.join(map(_md, cells))} |")
    for position, (stage, verdict) in enumerate(pairs, start=1):
        lines += ["", *kernel_section(position, stage, verdict)]
    notes = remarks(profile, diagnosis, device)
    if notes:
        lines += ["", "## Notes", "", *(f"- {_md(note)}" for note in notes)]
    return "\n".join(lines) + "\n"


def kernel_section(position: int, stage: Stage, verdict: Diagnosis) -> list[str]:
    """One kernel: its verdict, what speaks for and against it, and the figures it rests on."""
    lines = [f"## {position}. {_md(stage.name)}", "", f"`{plain(stage.kernel)}`", ""]
    lines += [
        f"**{CLASS_WORDS[verdict.bound]}**: {_md(verdict.limiter)}. {_md(verdict.root_cause)}",
        "",
    ]
    groups = (
        ("evidence", [item.text for item in verdict.evidence]),
        ("not it", [item.text for item in verdict.counter_evidence]),
        ("where", [where_text(verdict.where)] if verdict.where else []),
        ("try", try_texts(verdict)),
        ("unknown", list(verdict.not_checked)),
        ("n/a", missing_texts(stage)),
        ("doubt", [*verdict.notes, *stage.warnings]),
    )
    lines += [f"- {label}: {_md(text)}" for label, texts in groups for text in texts]
    lines += [f"- confidence: {verdict.confidence}; by TC % and DRAM % alone: {verdict.seed_class}"]
    return [*lines, "", *_figures(stage), *_interpretation(verdict), *_roofline(verdict)]


def _figures(stage: Stage) -> list[str]:
    """The four key figures with source and raw name."""
    lines = ["| Figure | Value | Source | Read from |", "|---|---|---|---|"]
    for key, label in KEY_FIGURES.items():
        metric = stage.metrics.get(key)
        if metric is None:
            lines.append(f"| {label} | n/a | - | {_md(stage.missing.get(key, 'not recorded'))} |")
        else:
            lines.append(f"| {label} | {_value(metric)} | {metric.source} | `{metric.raw}` |")
    return lines


def _interpretation(verdict: Diagnosis) -> list[str]:
    """The spec's Metric Interpretation table as it reads for this kernel."""
    if not verdict.rows:
        return []
    lines = [
        "",
        "| Metric | Value | Healthy | Reads | What it means here |",
        "|---|---|---|---|---|",
    ]
    reads = {True: "healthy", False: "unhealthy", None: units.NA}
    for row in verdict.rows:
        advice = f"{row.issue}: {row.hint}" if row.issue and row.healthy is False else ""
        meaning = row.reason or row.guard or advice or "-"
        cells = (row.metric, row.shown, row.line, reads[row.healthy], meaning)
        lines.append(f"| {' | '.join(map(_md, cells))} |")
    return lines


def _roofline(verdict: Diagnosis) -> list[str]:
    """Work and rates against the device's peaks, each with its unit; n/a with the reason."""
    roofline = verdict.roofline
    if roofline is None:
        return []
    lines = ["", f"| Roofline ({roofline.dtype or 'dtype n/a'}) | Value |", "|---|---|"]
    for field, (label, unit) in ROOFLINE.items():
        value = getattr(roofline, field)
        shown = f"{value:.4g} {unit}" if value is not None else units.NA
        reason = f" ({roofline.missing[field]})" if field in roofline.missing else ""
        lines.append(f"| {label} | {_md(shown + reason)} |")
    return lines + ["", *(f"- {_md(note)}" for note in roofline.notes)] * bool(roofline.notes)


def _value(metric: Metric) -> str:
    if metric.unit == "ns":
        return units.duration(metric.value)
    return f"{metric.value:.1f} {metric.unit}"


def _md(text: str) -> str:
    """Text that Markdown shows as it is, also inside a table."""
    for mark in ("\\", "|", "*", "_", "`", "<", "["):
        text = text.replace(mark, "\\" + mark)
    return plain(text)
