"""What `event` shows: the plan end to end, how it was timed, and every doubt."""

import msgspec

from mla_var3.core import units
from mla_var3.core.diagnosis import ProfileDiagnosis
from mla_var3.core.params import params_text
from mla_var3.core.record import PlanIdentity, Profile
from mla_var3.core.timing import Timing
from mla_var3.render.event_regimes import clock_text, lock_text, regime_rows
from mla_var3.render.event_table import LEFT, drift_text, floor_share, is_slow, more_texts, rows
from mla_var3.render.layout import WIDTH, flow, paragraph, plain
from mla_var3.render.static_screen import commands

COLUMN = 10
"""Where the text beside a label begins."""


class EventRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What the screen shows beside the record, its diagnosis and the timing."""

    folder: str
    """Where the profile lies, as the user would type it."""
    no_contract: str = ""
    next_steps: tuple[tuple[str, str], ...] = ()
    """Commands to type next, and what each gives."""


def headline(profile: Profile, device: str) -> list[str]:
    """`flash_mla v1 · cutile · b=32 … · NVIDIA H200 · clocks not locked`: what ran on what."""
    plan = profile.plan or PlanIdentity(kernel="unnamed", version="")
    parts = [f"{plan.kernel} {plan.version or 'base'}", plan.language, params_text(plan.params)]
    return flow([*parts, plain(device)], indent="  ")


def device_text(timing: Timing) -> str:
    """`NVIDIA H200 · clocks not locked`, `AMD EPYC · 2 threads`."""
    machine = timing.machine
    if machine.threads is not None:
        return f"{machine.device} · {units.count(machine.threads, 'thread')}"
    return f"{machine.device} · {lock_text(timing.clock)}"


def render_event(
    profile: Profile, diagnosis: ProfileDiagnosis, timing: Timing, request: EventRequest
) -> str:
    """What follows the headline, as plain text at most 100 columns wide."""
    lines = [
        *_paragraph("measure", _measured(timing)),
        *_paragraph("clock", clock_text(timing)),
        "",
    ]
    lines += _aligned(regime_rows(profile.end_to_end, timing, is_slow(profile.end_to_end)))
    lines += ["", *_aligned(rows(profile, diagnosis))]
    lines += ["", *_paragraph("Why", diagnosis.root_cause)]
    for number, item in enumerate(diagnosis.opportunities, start=1):
        gain = f"up to {units.gain(item.gain_pct)} % ({item.bound})" if item.bound else ""
        lines += _paragraph("Try", f"{number}. {item.name}   {gain}   trigger: {item.trigger}")
    for text in more_texts(timing):
        lines += _paragraph("cache", text)
    for text in profile.warnings:
        lines += _paragraph("note", text)
    lines += ["", *_report(request)]
    if request.no_contract:
        lines += _paragraph("contract", request.no_contract)
    steps = commands(request.next_steps, COLUMN)
    if steps:
        lines += [f"{'next'.ljust(COLUMN)}{steps[0].strip()}", *steps[1:]]
    return "\n".join(lines) + "\n"


def _measured(timing: Timing) -> str:
    series, warm = timing.series, timing.warm_up
    settled = "settled" if warm.settled else "not settled"
    floor = f"floor {units.duration(timing.floor.ns)} ({floor_share(timing)})"
    return (
        f"{len(series.samples_ns)} samples in {units.total(series.wall_ns)} "
        f"({series.stop}) · warm-up {units.total(warm.busy_ns)}, {settled} · "
        f"{series.cache} cache · {timing.timer}, {floor}{drift_text(timing)}"
    )


def _aligned(table: list[tuple[str, ...]]) -> list[str]:
    """Words to the left, figures to the right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    roomy = sum(widths) + 2 * (len(widths) - 1) <= WIDTH
    left = [heading in (*LEFT, "Regime") for heading in table[0]]
    lines = []
    for row in table:
        cells = (
            cell.ljust(width) if is_left else cell.rjust(width)
            for cell, width, is_left in zip(row, widths, left, strict=True)
        )
        lines.append(("  " if roomy else " ").join(cells).rstrip())
    return lines


def _report(request: EventRequest) -> list[str]:
    others = "profile.json, timing.json" if request.no_contract else "contract.md, timing.json, …"
    line = f"{'report'.ljust(COLUMN)}{request.folder}/report.md"
    both = f"{line}  ({others})"
    return [both] if len(both) <= WIDTH else [line, f"{' ' * COLUMN}({others})"]


def _paragraph(label: str, text: str) -> list[str]:
    wrapped = paragraph("", text, column=COLUMN, width=WIDTH)
    return [f"{label.ljust(COLUMN)}{wrapped[0].strip()}", *wrapped[1:]] if wrapped else []
