"""What the clock of a timed run gives reason to doubt: the power cap, a lock that was not held."""

from mla_var3.analyse.words import gigahertz
from mla_var3.core.regime import rows_of
from mla_var3.core.timing import Clock, Timing


def is_power_limited(timing: Timing) -> bool:
    """Whether the power cap held the clock back for longer than it may."""
    cap = rows_of(timing)[0].cap_pct
    return cap is not None and cap > timing.settings.get("cap_pct", 100.0)


def power_limited(timing: Timing) -> str:
    """What the power cap did to the run, and what follows; empty where it did little."""
    cap, clock = rows_of(timing)[0].cap_pct, timing.clock
    if cap is None or not is_power_limited(timing):
        return ""
    below = ""
    if clock is not None and clock.sm_mhz and clock.max_sm_mhz:
        below = f": SM clock {100.0 * (1.0 - clock.sm_mhz / clock.max_sm_mhz):.0f} % below boost"
    return (
        f"power-limited{below}, the power cap active {cap:.0f} % of the time; compare versions "
        "only with mla compare, not across separate runs"
    )


def lock_lost(clock: Clock | None) -> str:
    """That a lock was not held, judged from the clocks in the run; empty where it was."""
    if clock is None or clock.lock_held is not False:
        return ""
    at = f" at {clock.lock_mhz:.0f} MHz" if clock.lock_mhz else ""
    why = f" ({', '.join(clock.reasons)})" if clock.reasons else ""
    ran = f", the clock ran at {clock.sm_mhz:.0f} MHz" if clock.sm_mhz else ""
    return f"lock{at} not held{why}{ran}: take a lower one (scripts/lock-gpu-clock.sh)"


def below_boost(clock: Clock) -> str:
    """How far the clock was from its highest, and why; empty where it was near."""
    if not clock.sm_mhz or not clock.max_sm_mhz or clock.sm_mhz > 0.95 * clock.max_sm_mhz:
        return ""
    why = f" ({', '.join(clock.reasons)})" if clock.reasons else ""
    ran, most = gigahertz(clock.sm_mhz * 1e6), gigahertz(clock.max_sm_mhz * 1e6)
    return f"SM clock {ran} of {most} GHz in the run{why}"
