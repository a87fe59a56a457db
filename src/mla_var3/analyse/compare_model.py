"""The plan's own work against what the counters saw, and both against the roofline, by stage."""

from mla_var3.analyse.predict import work_bytes
from mla_var3.analyse.roofline import roofline_of_stage, share_of_roof
from mla_var3.conf import table
from mla_var3.core.annotation import RooflineRow, Roofs, WorkRow
from mla_var3.core.device import Device
from mla_var3.core.diagnosis import Roofline
from mla_var3.core.record import Environment, Profile, Stage

_BYTES = {
    "bytes read": ("model_read_bytes", "dram_read_bytes"),
    "bytes written": ("model_write_bytes", "dram_write_bytes"),
}
_WHY = {
    ("FLOPs", True): "padding and masked tiles are counted too",
    ("FLOPs", False): "less than the plan's own work: another problem, or uncounted units",
    ("bytes read", True): "read more than once, or written before",
    ("bytes read", False): "less than must be read once: a part was in a cache, or is unused",
    ("bytes written", True): "written more than once, or intermediate results",
    ("bytes written", False): "the rest was still in L2 at the end",
}
"""What a gap beyond the limit means, by what was compared and whether more was counted."""


def work_rows(profile: Profile, device: Device | None) -> tuple[WorkRow, ...]:
    """FLOPs, bytes read and bytes written of every stage; beyond the limit they are flagged."""
    rows: list[WorkRow] = []
    for stage, _ in profile.of_plan:
        rows.append(_flops_row(stage, profile.environment, device))
        for what, (model, counted) in _BYTES.items():
            reason = stage.missing.get(counted, "not counted")
            rows.append(_row(stage.name, what, (stage.value(model), stage.value(counted)), reason))
    return tuple(row for row in rows if row.model is not None or row.counted is not None)


def roofline_rows(profile: Profile, device: Device | None) -> tuple[RooflineRow, ...]:
    """Every stage twice: by the plan's work, and by the counted one, with the same duration.

    Last the whole plan by its own work, with its time by events.
    """
    rows: list[RooflineRow] = []
    for stage, _ in profile.of_plan:
        line = roofline_of_stage(stage, profile.environment, device)
        rows += [_by_model(stage, line), _by_counters(stage, line)]
    return tuple(rows) + ((_whole(profile.end_to_end),) if profile.end_to_end else ())


def roofs(profile: Profile, device: Device | None) -> tuple[Roofs, ...]:
    """The roofs of the stages, one an element type, at the clock of its longest stage."""
    found: dict[str, Roofs] = {}
    longest_first = sorted(profile.of_plan, key=lambda pair: -(pair[0].value("duration") or 0.0))
    for stage, _ in longest_first:
        line = roofline_of_stage(stage, profile.environment, device)
        if line.dtype is None or not line.flops:
            continue
        if line.peak_tflops is None or line.peak_gbps is None:
            continue
        roof = Roofs(
            label=f"{line.dtype} dense",
            tflops=line.peak_tflops,
            gbps=line.peak_gbps,
            tflops_at_clock=line.peak_tflops_at_clock,
        )
        found.setdefault(line.dtype, roof)
    return tuple(found.values())


def gap_limit() -> float:
    """Percent beyond which counted work is flagged."""
    return float(table("annotation")["limits"]["model_gap_pct"]["value"])


def _flops_row(stage: Stage, environment: Environment, device: Device | None) -> WorkRow:
    line = roofline_of_stage(stage, environment, device)
    reason = line.missing.get("flops", "not counted")
    return _row(stage.name, "FLOPs", (stage.value("model_flops"), line.flops), reason)


def _row(stage: str, what: str, values: tuple[float | None, float | None], reason: str) -> WorkRow:
    model, counted = values
    unit = "FLOP" if what == "FLOPs" else "byte"
    if counted is None:
        return WorkRow(stage=stage, what=what, unit=unit, model=model, note=reason)
    if not model:
        return WorkRow(
            stage=stage, what=what, unit=unit, model=model, counted=counted,
            note="the plan counts none",
        )  # fmt: skip
    gap = 100.0 * (counted / model - 1.0)
    flagged = abs(gap) > gap_limit()
    return WorkRow(
        stage=stage,
        what=what,
        unit=unit,
        model=model,
        counted=counted,
        gap_pct=gap,
        flagged=flagged,
        note=_WHY[what, gap > 0] if flagged else "",
    )


def _by_counters(stage: Stage, line: Roofline) -> RooflineRow:
    """By what was counted; without FLOPs or bytes the reason."""
    share = share_of_roof(line)
    duration = stage.value("duration")
    known = share is not None and duration is not None
    gaps = [f"{name}: {why}" for name, why in line.missing.items() if name in _NEEDED]
    return RooflineRow(
        stage=stage.name,
        side="counters",
        dtype=line.dtype or "",
        duration_ns=duration,
        flops=line.flops,
        bytes=line.dram_bytes,
        intensity=line.intensity,
        tflops=line.achieved_tflops,
        gbps=line.achieved_gbps,
        roofline_ns=share * duration / 100.0 if share is not None and duration else None,
        share_pct=share if known else None,
        at_clock=line.peak_tflops_at_clock is not None,
        missing="; ".join(gaps),
    )


def _whole(stage: Stage) -> RooflineRow:
    """The plan end to end, as it was timed."""
    share, time = stage.value("clock_share"), stage.value("duration")
    at_clock = share is not None
    if share is None:
        share = stage.value("roofline_share")
    flops, moved = stage.value("model_flops"), work_bytes(stage)
    return RooflineRow(
        stage=stage.name,
        side="model",
        state="by model, timed by events",
        duration_ns=time,
        flops=flops,
        bytes=moved,
        intensity=flops / moved if flops is not None and moved else None,
        tflops=stage.value("achieved_tflops"),
        gbps=stage.value("achieved_gbps"),
        roofline_ns=share * time / 100.0 if share is not None and time else None,
        share_pct=share,
        at_clock=at_clock,
        missing="" if share is not None else stage.missing.get("roofline_share", ""),
    )


_NEEDED = ("flops", "dram_bytes", "duration", "peak_tflops")


def _by_model(stage: Stage, line: Roofline) -> RooflineRow:
    """By the plan's work at the same duration; the peak follows the measured clock."""
    flops, moved, duration = stage.value("model_flops"), work_bytes(stage), stage.value("duration")
    peak, gbps = stage.value("peak_tflops"), stage.value("peak_gbps")
    slower = 1.0
    if line.peak_tflops and line.peak_tflops_at_clock:
        slower = line.peak_tflops_at_clock / line.peak_tflops
    roof = None
    if flops is not None and moved is not None and peak and gbps:
        roof = max(flops / (peak * slower) / 1e3, moved / gbps)
    return RooflineRow(
        stage=stage.name,
        side="model",
        dtype=line.dtype or "",
        duration_ns=duration,
        flops=flops,
        bytes=moved,
        intensity=flops / moved if flops is not None and moved else None,
        tflops=flops / duration / 1e3 if flops is not None and duration else None,
        gbps=moved / duration if moved is not None and duration else None,
        roofline_ns=roof,
        share_pct=100.0 * roof / duration if roof is not None and duration else None,
        at_clock=slower != 1.0,
        missing="" if roof is not None else stage.missing.get("peak_tflops", "no peak"),
    )
