"""Step 7, first: blocks so short that the rate at which they start leaves the SMs half empty."""

from mla_var3.analyse.facts import Facts
from mla_var3.analyse.knowledge import limit
from mla_var3.analyse.verdict import Verdict
from mla_var3.analyse.words import percent

WARP = 32


def decide(facts: Facts) -> Verdict | None:
    """Latency, where an SM starts blocks as fast as it can and still holds few of them."""
    interval, achieved = start_interval(facts), facts.get("occupancy")
    theoretical, waves = facts.get("occupancy_theoretical"), facts.get("waves")
    if interval is None or achieved is None or theoretical is None or waves is None:
        return None
    few = achieved < limit("block_rate_occupancy") / 100.0 * theoretical
    if waves < limit("block_rate_waves") or interval > limit("block_interval") or not few:
        return None
    life = block_life(facts, interval)
    return Verdict(
        cause="block_rate",
        phrase="block_rate",
        figures={
            "interval": f"{interval:.0f}",
            "life": f"{life:,.0f}" if life is not None else "an unknown number of",
            "occupancy": percent(achieved),
            "theoretical": percent(theoretical),
        },
        keys=("grid_size", "cycles_active", "occupancy"),
        trigger=f"{facts.grid or 0:.0f} blocks, one every {interval:.0f} cycles an SM",
        gain=100.0 * (1.0 - achieved / theoretical),
    )


def start_interval(facts: Facts) -> float | None:
    """SM cycles between two starts of a block on one SM, on average."""
    cycles = facts.get("cycles_active")
    if cycles is None or facts.grid is None or facts.sms is None:
        return None
    return cycles * facts.sms / facts.grid


def block_life(facts: Facts, interval: float) -> float | None:
    """Cycles a block stays on its SM: resident blocks × start interval (Little's law)."""
    warps, threads = facts.get("warps_active"), facts.block
    if warps is None or threads is None:
        return None
    return warps / -(-threads // WARP) * interval
