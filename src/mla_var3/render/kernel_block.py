"""One kernel on the screen: its verdict, then the labelled lines that explain it."""

from mla_var3.core import units
from mla_var3.core.diagnosis import Diagnosis, Opportunity
from mla_var3.core.record import HotLine, Stage
from mla_var3.render.layout import WIDTH, paragraph, plain, shorten, shorten_name

LINES = 2
"""Most lines that one label of one kernel may take."""

CLASS_WORDS = {
    "Memory": "Memory-bound",
    "Compute": "Compute-bound",
    "Latency": "Latency-bound",
    "Balanced": "Balanced",
    "Unknown": "Unknown",
}
KEY_FIGURES = {"duration": "duration", "tensor": "TC %", "dram": "DRAM %", "occupancy": "occupancy"}


def verdict_lines(position: int, stage: Stage, verdict: Diagnosis, width: int) -> list[str]:
    """`1  name   612.8 µs   Latency-bound   limiter`, the limiter wrapped in its column."""
    name = shorten_name(stage.name, width).ljust(width)
    time = units.duration(stage.value("duration")).rjust(10)
    head = f"{position:<2} {name}  {time}   {CLASS_WORDS[verdict.bound]:<13}   "
    limiter = paragraph("", verdict.limiter, LINES, column=len(head))
    limiter[:1] = [head + line.strip() for line in limiter[:1]]
    return limiter or [head.rstrip()]


def detail_lines(stage: Stage, verdict: Diagnosis, most: int) -> list[str]:
    """The labelled lines below a verdict; a label without content is left out."""
    lines = _evidence(verdict, most)
    lines += _labelled("not it", [item.text for item in verdict.counter_evidence], most)
    if verdict.where:
        lines += paragraph("where", where_text(verdict.where), most)
    for item in verdict.opportunities[: 3 if most > 1 else 1]:
        lines += paragraph("try", opportunity_text(item), most)
    lines += _labelled("unknown", list(verdict.not_checked), most)
    lines += _labelled("n/a", missing_texts(stage), most)
    return lines + _labelled("doubt", [*verdict.notes, *stage.warnings], most)


def where_text(line: HotLine) -> str:
    """`prog.py:15  s = tl.dot(q, k)   16.7 % of samples, WARPGROUP.DEPBAR`."""
    place = f"{plain(line.file)}:{line.line}" + (" (library)" if line.library else "")
    samples = f"{line.samples_pct:.1f} % of samples"
    about = ", ".join(part for part in (samples, line.instruction, line.stall) if part)
    room = WIDTH - 20 - len(place) - len(about)
    text = shorten(line.text, max(room, 12)) if line.text else ""
    return f"{place}  {text}   {about}" if text else f"{place}   {about}"


def opportunity_text(item: Opportunity) -> str:
    """`name, up to 53 % (roofline gap): how`."""
    cap = f" ({item.bound})" if item.bound else ""
    how = f": {item.how}" if item.how else ""
    return f"{item.name}, up to {units.gain(item.gain_pct)} %{cap}{how}"


def missing_texts(stage: Stage) -> list[str]:
    """`TC %: reason` for those of the four key figures that cannot be shown."""
    texts = []
    for key, label in KEY_FIGURES.items():
        metric = stage.metrics.get(key)
        if metric is None:
            texts.append(f"{label}: {stage.missing.get(key, 'not recorded')}")
        elif metric.unit == "%" and not units.is_percentage(metric.value):
            texts.append(f"{label}: {metric.value:.1f} % is no share of 100, the counter misread")
    return texts


def _evidence(verdict: Diagnosis, most: int) -> list[str]:
    """The evidence, with the confidence at the right edge of its first line or below."""
    confidence = f"confidence {verdict.confidence}"
    text = " · ".join(item.text for item in verdict.evidence) or "n/a"
    lines = paragraph("evidence", text, most)
    room = WIDTH - len(lines[0])
    if room >= len(confidence) + 3:
        lines[0] += confidence.rjust(room)
    elif len(lines) < most or len(lines[-1]) + len(confidence) + 3 > WIDTH:
        lines.append(confidence.rjust(WIDTH))
    else:
        lines[-1] += confidence.rjust(WIDTH - len(lines[-1]))
    return lines


def _labelled(label: str, texts: list[str], most: int) -> list[str]:
    return paragraph(label, " · ".join(texts), most) if texts else []
