"""Theoretical occupancy with all its limiters, from what one block needs: pure arithmetic.

The rules and the figures are those of NVIDIA's `cuda_occupancy.h` (`conf/occupancy.json`), and
agree with what Nsight Compute recorded for every launch in `examples/`.
"""

from functools import cache

import msgspec

from mla_var3 import conf
from mla_var3.core.errors import BadArgument

CAPPED = ("shared_memory", "barriers")
"""Limits that Nsight Compute cuts at the most blocks an SM takes: there they limit nothing."""


class SmLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What one SM of a compute capability holds. Sizes in bytes."""

    warps: int
    blocks: int
    shared_sm_bytes: int
    shared_block_bytes: int
    barriers: int
    registers: int
    subpartitions: int
    register_unit: int
    registers_thread: int
    shared_unit_bytes: int
    shared_reserved_bytes: int
    threads_block: int
    threads_warp: int
    barriers_limit: bool = True
    """Whether barriers limit blocks: from compute capability 9.0 on."""


class BlockNeeds(msgspec.Struct, frozen=True, kw_only=True):
    """What one block takes of an SM."""

    registers: int
    """A thread."""
    threads: int
    shared_bytes: int
    """Static and dynamic, without what the driver reserves."""
    barriers: int = 0
    """Named barriers; 0 where none is used or known."""


class Occupancy(msgspec.Struct, frozen=True, kw_only=True):
    """Blocks an SM by each limiter, the least of them, and the share of the warps in percent."""

    limits: dict[str, int]
    """`registers`, `shared_memory`, `warps`, `blocks`, `barriers` to blocks an SM."""
    blocks: int
    percent: float
    limiters: tuple[str, ...]
    """Every resource that allows no more than `blocks`."""
    shared_allocated_bytes: int
    registers_allocated: int
    """A thread, after rounding up to the unit of a warp."""


def known_capabilities() -> tuple[str, ...]:
    """Compute capabilities that the table has, oldest first."""
    return tuple(conf.table("occupancy")["capabilities"])


@cache
def sm_limits(capability: str) -> SmLimits:
    """Limits of a compute capability such as `9.0`; `BadArgument` for one not in the table."""
    table = conf.table("occupancy")
    own = table["capabilities"].get(capability)
    if own is None:
        known = ", ".join(known_capabilities())
        raise BadArgument(f"no occupancy table for compute capability {capability} ({known})")
    major = int(capability.partition(".")[0])
    return msgspec.convert(table["common"] | own | {"barriers_limit": major >= 9}, SmLimits)


def occupancy(needs: BlockNeeds, sm: SmLimits, carveout_bytes: int | None = None) -> Occupancy:
    """Blocks and warps that an SM holds at once.

    `carveout_bytes`: shared memory of the L1 cache's split; by default the largest. The driver
    chooses a smaller one for blocks that need little, and none that would cost a block.
    """
    warps = _ceil(needs.threads, sm.threads_warp)
    shared = _round_up(needs.shared_bytes + sm.shared_reserved_bytes, sm.shared_unit_bytes)
    warp_registers = _round_up(needs.registers * sm.threads_warp, sm.register_unit)
    limits = {
        "registers": _by_registers(needs, warps, warp_registers, sm),
        "shared_memory": _by_shared_memory(needs, shared, sm, carveout_bytes),
        "warps": sm.warps // warps if needs.threads <= sm.threads_block else 0,
        "blocks": sm.blocks,
        "barriers": sm.blocks,
    }
    if sm.barriers_limit and needs.barriers:
        limits["barriers"] = min(sm.blocks, sm.barriers // needs.barriers)
    blocks = min(limits.values())
    return Occupancy(
        limits=limits,
        blocks=blocks,
        percent=100.0 * blocks * warps / sm.warps,
        limiters=tuple(
            name
            for name, value in limits.items()
            if value == blocks and not (name in CAPPED and value == sm.blocks)
        ),
        shared_allocated_bytes=shared,
        registers_allocated=warp_registers // sm.threads_warp,
    )


def _by_registers(needs: BlockNeeds, warps: int, warp_registers: int, sm: SmLimits) -> int:
    """Registers are allotted in a quarter of the SM each, so warps come in fours."""
    whole_block = warp_registers * _round_up(warps, sm.subpartitions)
    if needs.registers > sm.registers_thread or whole_block > sm.registers:
        return 0
    if not warp_registers:
        return sm.blocks
    held = sm.registers // sm.subpartitions // warp_registers * sm.subpartitions
    return held // warps


def _by_shared_memory(needs: BlockNeeds, shared: int, sm: SmLimits, carveout: int | None) -> int:
    if needs.shared_bytes > sm.shared_block_bytes:
        return 0
    return min(sm.blocks, (carveout or sm.shared_sm_bytes) // shared)


def _ceil(amount: int, unit: int) -> int:
    return -(-amount // unit)


def _round_up(amount: int, unit: int) -> int:
    return _ceil(amount, unit) * unit
