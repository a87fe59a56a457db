"""The SM clock during the run: how much of the peak it costs."""

from mla_var3.analyse.facts import Facts
from mla_var3.analyse.knowledge import limit
from mla_var3.analyse.verdict import Remarks, Verdict
from mla_var3.analyse.words import gigahertz


def is_low(facts: Facts) -> bool:
    """Whether the clock was so far below its maximum that it must be told."""
    return facts.clock_share is not None and facts.clock_share < limit("clock_kept")


def figures(facts: Facts) -> dict[str, str]:
    """Clock, maximum and loss in words; empty where the clock is not known."""
    clock, most, share = facts.get("sm_clock"), facts.clock_max_hz, facts.clock_share
    if clock is None or most is None or share is None:
        return {}
    return {
        "clock": gigahertz(clock),
        "clock_max": gigahertz(most),
        "clock_loss": f"{100.0 - share:.0f} %",
    }


def remarks(facts: Facts, verdict: Verdict) -> Remarks:
    """The loss as a note; it is never a class."""
    if not is_low(facts) or verdict.phrase == "interrupted":
        return Remarks()
    words = figures(facts)
    text = (
        f"SM clock {words['clock']} of {words['clock_max']} GHz:"
        f" {words['clock_loss']} of the peak is lost to power or clock settings"
    )
    return Remarks(notes=(text,))
