"""One kernel on the screen: its verdict, then the labelled lines that explain it."""

from collections.abc import Collection, Mapping
from types import MappingProxyType

from mla_var3.core import units
from mla_var3.core.diagnosis import Diagnosis, Opportunity
from mla_var3.core.record import HotLine, Stage
from mla_var3.render.layout import COLUMN, WIDTH, items, paragraph, plain, shorten, shorten_name

LINES = 2
"""Most lines that one label of one kernel may take."""

ROOF = "at the roof"
AT_ROOF = f"nothing above 2 %: {ROOF}, only less work for that unit helps"

EMPTY: Mapping[str, Collection[str]] = MappingProxyType({})

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
    limiter = paragraph("", verdict.limiter, LINES + 1, column=len(head))
    limiter[:1] = [head + line.strip() for line in limiter[:1]]
    return limiter or [head.rstrip()]


def detail_lines(
    stage: Stage, verdict: Diagnosis, most: int, common: Mapping[str, Collection[str]] = EMPTY
) -> list[str]:
    """The labelled lines below a verdict; a label without content is left out.

    With `most` 1 the report is crowded: one line a label, and the best thing to try only.
    `common` holds what is said once for all kernels, by label.
    """
    lines = _evidence(verdict, most)
    lines += items("not it", [item.text for item in verdict.counter_evidence], most)
    if verdict.where:
        lines += paragraph("where", where_text(verdict.where), most)
    for text in try_texts(verdict, how=most > 1)[: 3 if most > 1 else 1]:
        lines += paragraph("try", text, most)
    for label, texts in open_points(stage, verdict).items():
        own = [text for text in texts if text not in common.get(label, ())]
        lines += items(label, own, most)
    return lines


def open_points(stage: Stage, verdict: Diagnosis) -> dict[str, list[str]]:
    """What this report cannot tell of a kernel, and what to doubt, by label."""
    return {
        "unknown": list(verdict.not_checked),
        "n/a": missing_texts(stage),
        "doubt": [*verdict.notes, *stage.warnings],
    }


def where_text(line: HotLine) -> str:
    """`prog.py:15  s = tl.dot(q, k)   16.7 % of samples, WARPGROUP.DEPBAR`.

    The stall, then the instruction, give way to the source text; after that the text is cut.
    """
    place = f"{plain(line.file)}:{line.line}" + (" (library)" if line.library else "")
    known = [f"{line.samples_pct:.1f} % of samples", line.instruction, line.stall]
    about = [part for part in known if part]
    while True:
        told = ", ".join(about)
        room = WIDTH - COLUMN - 5 - len(place) - len(told)
        if len(plain(line.text)) <= room or len(about) == 1:
            break
        about.pop()
    text = shorten(line.text, max(room, 12)) if line.text else ""
    return f"{place}  {text}   {told}" if text else f"{place}   {told}"


def try_texts(verdict: Diagnosis, how: bool = True) -> list[str]:
    """The opportunities in words; of a kernel at a roof that its verdict does not say, that."""
    texts = [opportunity_text(item, how) for item in verdict.opportunities]
    roof = verdict.key_issue.startswith(ROOF) and ROOF not in verdict.limiter
    return [AT_ROOF] if roof and not texts else texts


def opportunity_text(item: Opportunity, how: bool = True) -> str:
    """`name, up to 53 % (roofline gap): how`."""
    cap = f" ({item.bound})" if item.bound else ""
    more = f": {item.how}" if item.how and how else ""
    return f"{item.name}, up to {units.gain(item.gain_pct)} %{cap}{more}"


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
    """The evidence, with the confidence at the right edge of its first line."""
    confidence = f"confidence {verdict.confidence}"
    texts = [item.text for item in verdict.evidence] or [units.NA]
    first, *others = items("evidence", texts, most, width=WIDTH - len(confidence) - 2)
    return [first + confidence.rjust(WIDTH - len(first)), *others]
