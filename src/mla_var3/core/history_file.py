"""The line of a stored profile, read without the rest of its record.

The packed form is that of `record_file.py`; whatever is not named here is passed over, which makes
ten thousand records a matter of a second.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Literal

import msgspec

from mla_var3.core.errors import NoUsableData
from mla_var3.core.history import Run, StageLine, Tilings
from mla_var3.core.record import SCHEMA_VERSION, Environment, Mode, PlanIdentity, Source, Status
from mla_var3.core.record_file import FORMAT

MEASURED: tuple[Source, ...] = ("event", "ncu", "nsys")
"""Sources of times that were measured; others are predictions."""
NOT_STORED = "not in the record"
Packed = tuple[float, Annotated[int, msgspec.Meta(ge=0)]]
"""Value and column; column -1 must not mean the last."""


class _Figures(msgspec.Struct):
    duration: Packed | None = None
    sm_clock: Packed | None = None
    temperature: Packed | None = None
    power: Packed | None = None
    achieved_tflops: Packed | None = None
    achieved_gbps: Packed | None = None
    tensor: Packed | None = None
    dram: Packed | None = None
    occupancy: Packed | None = None
    l2_hit: Packed | None = None
    registers: Packed | None = None
    spill_bytes: Packed | None = None
    waves: Packed | None = None


class _Stage(msgspec.Struct):
    name: str
    kernel: str
    metrics: _Figures
    missing: dict[str, list[str]] = {}


class _File(msgspec.Struct):
    file: str


class _Part(msgspec.Struct):
    """`stages/NNN.json`."""

    columns: list[msgspec.Raw]
    stages: list[_Stage]


class _Head(msgspec.Struct):
    """The fields of `profile.json` that are read."""

    format: Literal["mla_var3/profile"]
    schema_version: int
    mode: Mode
    status: Status
    columns: list[msgspec.Raw]
    """`[unit, source, raw name]`; of a hundred only a few are needed."""
    stages: list[_Stage]
    created: str = ""
    failure: str = ""
    plan: PlanIdentity | None = None
    source: _File | None = None
    environment: Environment = Environment()
    tilings: Tilings = {}
    end_to_end: _Stage | None = None
    more_stages: int = 0


_decode_head = msgspec.json.Decoder(_Head).decode
_decode_part = msgspec.json.Decoder(_Part).decode
_decode_column = msgspec.json.Decoder(tuple[str, Source, str]).decode
_NOTHING = _Stage(name="", kernel="", metrics=_Figures())


def read_run(content: bytes, profile: str, part: Callable[[int], bytes]) -> Run:
    """The line of a stored `profile.json`; `part(n)` gives the file of the stage at position n.

    Raises `NoUsableData` for what is no record, `OSError` what `part` raises.
    """
    try:
        head = _decode_head(content)
        if head.schema_version != SCHEMA_VERSION:
            raise NoUsableData(f"schema version {head.schema_version}, not {SCHEMA_VERSION}")
        stages = _lines(head.stages, head.columns)
        for position in range(len(stages), len(stages) + head.more_stages):
            more = _decode_part(part(position))
            stages += _lines(more.stages, more.columns)
        return _run(head, tuple(stages), profile)
    except msgspec.MsgspecError as error:
        raise NoUsableData(f"no record ({FORMAT}): {error}") from None
    except IndexError:
        raise NoUsableData(f"no record ({FORMAT}): damaged columns") from None


def _run(head: _Head, stages: tuple[StageLine, ...], profile: str) -> Run:
    whole = head.end_to_end or _NOTHING
    sum_ns, sum_by = _sum(stages) if head.status == "OK" else (None, None)
    by: Source | None
    duration: float | None
    if whole.metrics.duration is not None:
        _, by, how = _decode_column(head.columns[whole.metrics.duration[1]])
        duration = whole.metrics.duration[0]
    else:
        duration, by, how = sum_ns, sum_by, "sum of its launches" if sum_by else ""
    other = sum_by if sum_by != by else None
    clock, clock_from = _clock(stages), stages[0].sm_clock_from if stages else ""
    own = whole.metrics.sm_clock
    run = Run(
        profile=profile,
        mode=head.mode,
        status=head.status,
        created=head.created,
        failure=head.failure,
        plan=head.plan,
        file=head.source.file if head.source else "",
        environment=head.environment,
        tilings=head.tilings,
        duration_ns=duration,
        duration_by=by,
        duration_from=how,
        kernels_ns=sum_ns if other else None,
        kernels_by=other,
        sm_clock_hz=_value(own) or (clock if by == sum_by else None),
        sm_clock_from=_origin(own, head.columns) or (clock_from if by == sum_by else ""),
        kernels_clock_hz=clock if other else None,
        kernels_clock_from=clock_from if other else "",
        temperature_c=_value(whole.metrics.temperature),
        power_w=_value(whole.metrics.power),
        achieved_tflops=_value(whole.metrics.achieved_tflops),
        achieved_gbps=_value(whole.metrics.achieved_gbps),
        stages=stages,
    )
    return msgspec.structs.replace(run, missing=_missing(run, whole))


def _lines(stages: Sequence[_Stage], columns: Sequence[msgspec.Raw]) -> list[StageLine]:
    found = []
    for stage in stages:
        m = stage.metrics
        found.append(
            StageLine(
                stage=stage.name,
                kernel=stage.kernel,
                duration_ns=_value(m.duration),
                duration_by=_decode_column(columns[m.duration[1]])[1] if m.duration else None,
                tensor_pct=_value(m.tensor),
                dram_pct=_value(m.dram),
                occupancy_pct=_value(m.occupancy),
                l2_hit_pct=_value(m.l2_hit),
                sm_clock_hz=_value(m.sm_clock),
                sm_clock_from=_origin(m.sm_clock, columns),
                registers=_value(m.registers),
                spill_bytes=_value(m.spill_bytes),
                waves=_value(m.waves),
            )
        )
    return found


def _sum(stages: tuple[StageLine, ...]) -> tuple[float | None, Source | None]:
    """Of the launches' times, where every one has a time and all were taken by one method."""
    sources = {stage.duration_by for stage in stages}
    if len(sources) != 1:
        return None, None
    (by,) = sources
    if by not in MEASURED:
        return None, None
    return sum(stage.duration_ns or 0.0 for stage in stages), by


def _clock(stages: tuple[StageLine, ...]) -> float | None:
    known = [(s.sm_clock_hz, s.duration_ns) for s in stages if s.sm_clock_hz and s.duration_ns]
    if not known or len(known) < len(stages):
        return None
    return sum(clock * time for clock, time in known) / sum(time for _, time in known)


_READ = {
    "duration": "duration_ns",
    "sm_clock": "sm_clock_hz",
    "temperature": "temperature_c",
    "power": "power_w",
    "achieved_tflops": "achieved_tflops",
    "achieved_gbps": "achieved_gbps",
}


def _missing(run: Run, whole: _Stage) -> dict[str, str]:
    told = {key: why for why, keys in whole.missing.items() for key in keys}
    return {
        field: told.get(key) or run.failure or NOT_STORED
        for key, field in _READ.items()
        if getattr(run, field) is None
    }


def _origin(packed: Packed | None, columns: Sequence[msgspec.Raw]) -> str:
    return "" if packed is None else _decode_column(columns[packed[1]])[2]


def _value(packed: Packed | None) -> float | None:
    return None if packed is None else packed[0]
