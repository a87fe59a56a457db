"""What looking at the device costs the kernel that runs: calls without, with, with, without."""

import math

from mla_var3.core import rank, stats
from mla_var3.core.monitor import Overhead
from mla_var3.core.timing import CacheState
from mla_var3.measure.monitor import GpuMonitor
from mla_var3.measure.timing import SECOND, Settings, Timer

LEVEL = 0.99
LEG_S = 0.1
"""Several looks fall into a leg."""
LEAST = 5
MOST = 500
ORDERS = ((False, True, True, False), (True, False, False, True))
"""Watched or not; every second quad the other way round, against drift."""


def monitor_cost(
    timer: Timer, monitor: GpuMonitor, chosen: Settings, cache: CacheState, call_ns: float
) -> Overhead | None:
    """Change of a call's time in percent with its interval; None where it is not asked for.

    The monitor reads again afterwards. `monitor_quads` says how many quads; about 0.4 s each.
    """
    quads = int(chosen["monitor_quads"])
    if quads < 1 or not monitor.is_reading:
        return None
    count = max(LEAST, min(MOST, round(LEG_S * SECOND / call_ns))) if call_ns > 0 else LEAST
    effects = []
    for quad in range(quads):
        logs: dict[bool, list[float]] = {False: [], True: []}
        for watched in ORDERS[quad % 2]:
            monitor.pause(not watched)
            samples = timer.read(timer.start(count, cache))
            logs[watched].append(math.log(stats.median(samples)))
        effects.append(sum(logs[True]) / 2 - sum(logs[False]) / 2)
    monitor.pause(False)
    found = rank.signed_rank_interval(effects, LEVEL)
    pct = [100.0 * math.expm1(x) for x in (found.estimate, found.low, found.high)]
    return Overhead(
        pct=pct[0], low_pct=pct[1], high_pct=pct[2], level_pct=100.0 * found.level, quads=quads
    )
