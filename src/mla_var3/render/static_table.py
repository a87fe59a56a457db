"""The figures of compiled stages in one row each, for the screen and the report."""

from typing import NamedTuple

from mla_var3.core import units
from mla_var3.core.diagnosis import Diagnosis, ProfileDiagnosis
from mla_var3.core.record import Profile, Stage
from mla_var3.render.layout import distinct_names

HEADINGS = (
    "Stage",
    "Regs",
    "Spill",
    "Smem",
    "Thr",
    "Occ%",
    "Limit",
    "Tensor",
    "Waves",
    "Roofline",
    "Ceiling",
    "Bound",
)
LEFT = ("Stage", "Limit", "Tensor", "Bound")
"""Columns of words; the others are figures and end at the right."""

NAME_WIDTH = 15
LIMITS = {
    "limit_registers": "regs",
    "limit_shared_memory": "smem",
    "limit_warps": "warps",
    "limit_blocks": "blocks",
    "limit_barriers": "barriers",
}
TENSOR = {"code_hgmma": "HGMMA", "code_hmma": "HMMA", "code_utc_mma": "UTCMMA"}


class Totals(NamedTuple):
    """Predicted time of all stages in ns; None where a stage has none."""

    roofline_ns: float | None
    ceiling_ns: float | None


def rows(profile: Profile, diagnosis: ProfileDiagnosis, totals: Totals) -> list[tuple[str, ...]]:
    """The headings, a row a stage, and the total where there are several."""
    verdicts = {verdict.stage: verdict for verdict in diagnosis.stages}
    names = distinct_names([stage.name for stage in profile.stages], NAME_WIDTH)
    own = (_row(stage, names[stage.name], verdicts[stage.name]) for stage in profile.stages)
    lines = [HEADINGS, *own]
    if len(profile.stages) > 1:
        times = (units.duration(totals.roofline_ns), units.duration(totals.ceiling_ns))
        lines.append(("total", *[""] * 8, *times, ""))
    return lines


def limiters(stage: Stage) -> list[str]:
    """Every resource that allows no more blocks than fit, ties included, by its short name.

    Shared memory and barriers that allow all blocks an SM takes limit nothing.
    """
    most = stage.value("limit_blocks")
    known = {
        short: v
        for key, short in LIMITS.items()
        if (v := stage.value(key)) is not None
        and not (v == most and key in ("limit_shared_memory", "limit_barriers"))
    }
    least = min(known.values(), default=None)
    return [short for short, value in known.items() if value == least]


def _row(stage: Stage, name: str, verdict: Diagnosis) -> tuple[str, ...]:
    return (
        name,
        _figure(stage, "registers"),
        _bytes(stage.value("spill_bytes")),
        _bytes(stage.value("shared_memory")),
        _figure(stage, "block_size"),
        units.percent_cell(stage.value("occupancy_theoretical")),
        ", ".join(limiters(stage)) or units.NA,
        _tensor(stage),
        _waves(stage),
        units.duration(stage.value("roofline_time")),
        units.duration(stage.value("ceiling_time")),
        units.NA if verdict.bound == "Unknown" else verdict.bound,
    )


def _figure(stage: Stage, key: str) -> str:
    value = stage.value(key)
    return units.NA if value is None else f"{value:.0f}"


def _bytes(amount: float | None) -> str:
    if amount is None:
        return units.NA
    kilobytes = amount / 1024
    if kilobytes < 1:
        return f"{amount:.0f} B"
    return f"{kilobytes:.1f} KB" if kilobytes < 100 else f"{kilobytes:.0f} KB"


def _waves(stage: Stage) -> str:
    value = stage.value("waves")
    return units.NA if value is None else f"{value:.2f}"


def _tensor(stage: Stage) -> str:
    if stage.value("code_instructions") is None:
        return units.NA
    counts = {word: stage.value(key) or 0 for key, word in TENSOR.items()}
    return " ".join(f"{word} {count:.0f}" for word, count in counts.items() if count) or "none"
