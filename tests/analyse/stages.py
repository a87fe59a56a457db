"""Stages made by hand for the tests of the analysis, and an H200 with round peaks."""

from mla_var3.core.device import Ceiling, Device, Peak
from mla_var3.core.record import Environment, Metric, Profile, Shares, Stage

H200 = Device(
    name="NVIDIA H200",
    chip="GH100",
    compute_capability="9.0",
    sm_count=132,
    peaks={
        "bf16": Peak(tflops=990.0, clock_mhz=1830.0),
        "fp32": Peak(tflops=66.9, clock_mhz=1980.0),
    },
    dram_gbps=4800.0,
    memory_gb=141.0,
    l2_bytes=60 * 2**20,
    shared_memory_per_sm_bytes=228 * 1024,
    shared_memory_per_block_bytes=227 * 1024,
    registers_per_sm=65536,
    clock_boost_mhz=1980.0,
    clock_max_mhz=1980.0,
    ceilings={"copy_gbps": Ceiling(value=4270.0, unit="GB/s", conditions="copy", date="2026")},
)
HOPPER = Environment(device="NVIDIA H200", compute_capability="9.0")

CALM = {
    "duration": 300e3,
    "active_share": 97.0,
    "grid_size": 6000,
    "block_size": 256,
    "waves": 12.0,
    "sm_count": 100,
    "occupancy": 75.0,
    "occupancy_theoretical": 100.0,
    "sm_throughput": 22.0,
    "memory_throughput": 21.0,
    "dram": 12.0,
    "l2": 11.0,
    "l1": 10.0,
    "l1_data": 9.0,
    "lsu_requests": 7.0,
    "tensor": 0.0,
    "fma": 6.0,
    "alu": 4.0,
    "xu": 0.0,
    "fp64": 0.0,
    "issue": 14.0,
    "shared_memory": 0,
    "atomic_unit": 0.0,
}
"""What a basic report of a kernel without a busy unit holds."""

NO_ROOFS = (
    "tensor",
    "dram",
    "l2",
    "l1",
    "l1_data",
    "lsu_requests",
    "fma",
    "alu",
    "xu",
    "fp64",
    "issue",
    "sm_throughput",
    "memory_throughput",
)


def stage_of(
    facts: dict[str, float | None] | None = None,
    stalls: dict[str, float] | None = None,
    opcodes: dict[str, float] | None = None,
    raw: dict[str, str] | None = None,
    **fields: object,
) -> Stage:
    """`CALM` with changes; a fact of None is missing. Shares are percent."""
    values = {**CALM, **(facts or {})}
    metrics = {
        key: Metric(value, "", "ncu", (raw or {}).get(key, f"counter_of_{key}"))
        for key, value in values.items()
        if value is not None
    }
    missing = {key: "not collected" for key, value in values.items() if value is None}
    return Stage(
        name=str(fields.pop("name", "k")),
        kernel=str(fields.pop("kernel", "k(float*)")),
        launch=int(str(fields.pop("launch", 0))),
        metrics=metrics,
        missing=missing,
        stalls=shares(stalls),
        opcodes=shares(opcodes),
        **fields,  # type: ignore[arg-type]
    )


def shares(parts: dict[str, float] | None) -> Shares | None:
    """Shares, largest first, or None for None."""
    if parts is None:
        return None
    ordered = dict(sorted(parts.items(), key=lambda item: -item[1]))
    return Shares(ordered, "%", "ncu", "counters of shares")


def profile_of(*stages: Stage, environment: Environment = HOPPER, **fields: object) -> Profile:
    """A good record of these stages."""
    fields = {"mode": "ncu", "status": "OK", **fields}
    return Profile(stages=stages, environment=environment, **fields)  # type: ignore[arg-type]
