"""Device peaks by exact product name, each with its source: `conf/devices.json`."""

from typing import Literal

import msgspec

Dtype = Literal["bf16", "fp16", "tf32", "fp8", "fp32", "fp64"]


class Reference(msgspec.Struct, frozen=True):
    """Where a figure was read, and when (ISO date)."""

    url: str
    date: str
    what: str = ""


class Peak(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Dense peak of one dtype in TFLOP/s, at the SM clock it assumes."""

    tflops: float
    clock_mhz: float
    flops_per_sm_cycle: float | None = None
    note: str = ""


class Ceiling(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A rate that was measured on such a device, with its conditions."""

    value: float
    unit: str
    conditions: str
    date: str


class Device(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One product. Rates are dense; sizes in bytes; clocks in MHz. None: not published."""

    name: str
    aliases: tuple[str, ...] = ()
    """Other exact names that drivers give this very board."""
    chip: str
    compute_capability: str
    sm_count: int
    peaks: dict[Dtype, Peak]
    dram_gbps: float
    memory_gb: float
    l2_bytes: int | None
    shared_memory_per_sm_bytes: int
    shared_memory_per_block_bytes: int
    registers_per_sm: int
    clock_boost_mhz: float | None
    clock_max_mhz: float | None
    lock_clock_mhz: float | None = None
    ceilings: dict[str, Ceiling] = {}
    """`copy_gbps`, `matmul_bf16_sustained_tflops`, `matmul_bf16_burst_tflops`, …"""
    references: tuple[Reference, ...] = ()
    notes: tuple[str, ...] = ()

    def ridge_point(self, dtype: Dtype) -> float | None:
        """Peak FLOP/s over peak byte/s: FLOP/byte at which both roofs meet."""
        peak = self.peaks.get(dtype)
        return None if peak is None else 1000.0 * peak.tflops / self.dram_gbps
