"""Where it was recorded: device, clocks and tool versions; never a host, user or directory."""

import datetime

import msgspec

from mla_var3.core.record import Environment
from mla_var3.measure.ncu_reader.launches import Launch
from mla_var3.measure.ncu_reader.readings import Counters

# a time outside is damage, not a recording
_EARLIEST, _LATEST = 1_500_000_000, 4_102_444_800


def read_environment(launch: Launch, tools: Environment) -> Environment:
    """Environment by one launch; `tools` holds who recorded and who reads."""
    counters = launch.counters
    clock_khz = _number(counters, "device__attribute_clock_rate")
    sms = _number(counters, "device__attribute_multiprocessor_count") or _number(
        counters, "launch__sm_count"
    )
    return msgspec.structs.replace(
        tools,
        device=launch.text("device__attribute_display_name") or None,
        compute_capability=compute_capability(counters),
        sm_count=int(sms) if sms else None,
        clock_max_hz=clock_khz * 1e3 if clock_khz else None,
    )


def compute_capability(counters: Counters) -> str | None:
    """`9.0`, None where the report does not tell."""
    major = _number(counters, "device__attribute_compute_capability_major")
    minor = _number(counters, "device__attribute_compute_capability_minor")
    return None if major is None or minor is None else f"{int(major)}.{int(minor)}"


def iso_time(seconds: int) -> str:
    """ISO 8601 in UTC; "" for a time that cannot be that of a recording."""
    if not _EARLIEST <= seconds <= _LATEST:
        return ""
    moment = datetime.datetime.fromtimestamp(seconds, tz=datetime.UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _number(counters: Counters, name: str) -> float | None:
    return counters.read(name).value
