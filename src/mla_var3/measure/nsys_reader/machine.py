"""What an export tells of the machine: its GPUs, the driver, the tool, and when it was recorded."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from mla_var3 import conf
from mla_var3.core.record import Environment
from mla_var3.core.timeline import Operation, TimelineDevice
from mla_var3.measure.nsys_reader.database import Database
from mla_var3.measure.nsys_reader.gather import whole

_GPU = ("id", "name", "computeMajor", "computeMinor", "smCount", "memoryBandwidth", "clockRate")
_VERSION = re.compile(r"\d+(?:\.\d+){0,3}")


def read_devices(database: Database, operations: Iterable[Operation]) -> tuple[TimelineDevice, ...]:
    """The GPUs by ordinal. They may stand in any order, and differ.

    `smMajor.smMinor` is not the compute capability (8.2 for an A100): it is not read.
    """
    rows = list(database.rows("gpus", _GPU))
    ordinals = _ordinals(database)
    used = {operation.device for operation in operations if operation.device >= 0}
    found = []
    for number, name, major, minor, sms, bandwidth, _ in rows:
        ordinal = ordinals.get(number)
        if ordinal is None and not ordinals and len(rows) == 1 and len(used) == 1:
            (ordinal,) = used
        found.append(
            TimelineDevice(
                name=name if isinstance(name, str) and name else "unnamed GPU",
                ordinal=ordinal,
                compute_capability=f"{major}.{minor}"
                if isinstance(major, int) and isinstance(minor, int)
                else None,
                sm_count=sms if isinstance(sms, int) and sms else None,
                gbps=bandwidth / 1e9 if isinstance(bandwidth, int) and bandwidth else None,
            )
        )
    return tuple(sorted(found, key=lambda d: (d.ordinal is None, d.ordinal or 0)))


def _ordinals(database: Database) -> dict[int, int]:
    """The CUDA ordinal of each GPU, where all processes agree on it."""
    found: dict[int, set[int]] = {}
    for gpu, ordinal in database.rows("ordinals", ("gpuId", "cudaId")):
        if isinstance(gpu, int) and isinstance(ordinal, int):
            found.setdefault(gpu, set()).add(ordinal)
    return {gpu: min(seen) for gpu, seen in found.items() if len(seen) == 1}


def read_environment(database: Database, devices: tuple[TimelineDevice, ...]) -> Environment:
    """Device, driver and tool. Of several GPUs it is the first with work, where all are alike."""
    names = {device.name for device in devices}
    first = devices[0] if len(names) == 1 else None
    clocks = {whole(clock) for (clock,) in database.rows("gpus", ("clockRate",))}
    clock = clocks.pop() if len(clocks) == 1 else None
    return Environment(
        device=first.name if first else None,
        compute_capability=first.compute_capability if first else None,
        sm_count=first.sm_count if first else None,
        clock_max_hz=float(clock) if first and clock else None,
        driver=_driver(database),
        capture_tool=read_tool(database),
    )


def read_tool(database: Database) -> str:
    """`nsys 2025.3.2`; `nsys` where the export names no version, as up to 2023.2."""
    found = _VERSION.match(metadata(database, "export").get("EXPORT_PRODUCT_VERSION", ""))
    return f"nsys {'.'.join(found.group(0).split('.')[:3])}" if found else "nsys"


def schema_remark(database: Database) -> str:
    """What is to be said of the schema's version; empty where it is a known one."""
    told = metadata(database, "export").get("EXPORT_SCHEMA_VERSION", "")
    checked = conf.table("nsys_export")["schema_checked"]
    if not _VERSION.fullmatch(told):
        return "the export names no schema version: read by the names of its columns"
    if _numbers(told)[:2] > _numbers(checked):
        return (
            f"schema {told} of the export is newer than {checked}, the newest that was checked: "
            "read by the names of its columns"
        )
    return ""


def recorded_at(database: Database) -> str:
    """ISO 8601, UTC; empty where the export does not tell."""
    for (nanoseconds,) in database.rows("session", ("utcEpochNs",)):
        if isinstance(nanoseconds, int) and nanoseconds > 0:
            return datetime.fromtimestamp(nanoseconds // 10**9, UTC).isoformat()
    return ""


def metadata(database: Database, key: str) -> dict[str, str]:
    """Names and values of META_DATA_EXPORT or META_DATA_CAPTURE; of a name the last value."""
    rows = database.rows(key, ("name", "value"))
    return {str(name): str(value) for name, value in rows if value is not None}


def traced(database: Database, what: str) -> bool | None:
    """Whether `CUDA` or `NVTX` was traced, by what the collector was asked; None: not told."""
    told = {
        value
        for name, value in metadata(database, "capture").items()
        if re.fullmatch(rf"PROCESS_\d+:COLLECT_{what}_TRACE", name)
    }
    return None if not told else "true" in told


def _driver(database: Database) -> str | None:
    for name, value in database.rows("system", ("name", "value")):
        if name == "NvDriverVersion" and _VERSION.fullmatch(str(value)):
            return str(value)
    return None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
