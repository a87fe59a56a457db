"""Step 3: does the grid fill the SMs? Tail wave, underfilled GPU, launch too small."""

import math

from mla_var3.analyse.facts import Facts
from mla_var3.analyse.knowledge import knowledge, limit
from mla_var3.analyse.verdict import Remarks, Verdict, at_most, fact
from mla_var3.analyse.words import count, duration, times, whole
from mla_var3.core.diagnosis import Confidence


def room(facts: Facts) -> float | None:
    """Waves where there is more than one, else blocks an SM: what must be whole to be full."""
    waves = facts.get("waves") or 0.0
    if waves > 1.0:
        return waves
    if facts.grid is None or facts.sms is None:
        return None
    return facts.grid / facts.sms


def wave_loss(facts: Facts) -> float | None:
    """Percent of the SM time that the last wave leaves without a block."""
    filled = room(facts)
    return None if not filled else 100.0 * (1.0 - filled / math.ceil(filled))


def decide(facts: Facts) -> Verdict | None:
    """Latency, where SMs have no block for a good part of the time."""
    filled, loss = room(facts), wave_loss(facts)
    if filled is None or loss is None or facts.grid is None or facts.sms is None:
        return None
    if loss >= limit("wave_loss") and _felt(facts, filled):
        return _loss_verdict(facts, filled, loss)
    active = facts.active
    calm = facts.highest[1] < limit("roof_reached")
    if active is not None and active <= limit("launch_active") and calm:
        return _small_launch(facts, active)
    return None


def _felt(facts: Facts, filled: float) -> bool:
    """Whether the loss is seen in the cycles; without them, whether nothing else is busy."""
    if facts.active is not None:
        return facts.active <= limit("fill_active")
    return filled < 1.0 and facts.highest[1] < limit("roof_reached")


def _loss_verdict(facts: Facts, filled: float, loss: float) -> Verdict:
    tail = (facts.get("waves") or 0.0) > 1.0
    gain = loss if facts.active is None else min(loss, 100.0 - facts.active)
    blocks = facts.grid or 0.0
    figures = {
        "blocks": count(blocks, "block"),
        "sms": f"{facts.sms:.0f}",
        "loss": whole(loss),
        "gain": whole(gain),
        "idle": whole(100.0 - (facts.active or 0.0)),
        "waves": f"{filled:.2f}",
    }
    phrase = "tail" if tail else "one_block" if blocks == 1 else "underfilled"
    if phrase == "underfilled" and facts.waits and facts.waits[0][1] >= limit("stall_named"):
        stall, part = facts.waits[0]
        if meaning := knowledge().stalls.get(stall):
            phrase = "underfilled_stall"
            figures |= {"stall": stall, "stall_share": whole(part)}
            figures |= {"meaning": meaning.meaning, "doing": meaning.doing}
    return Verdict(
        cause="tail" if tail else "underfilled",
        phrase=phrase,
        confidence=_certain(facts, filled),
        figures=figures,
        keys=("waves" if tail else "grid_size", "sm_count", "active_share"),
        trigger=times(filled) if tail else f"{blocks:.0f}",
        gain=gain,
    )


def _certain(facts: Facts, filled: float) -> Confidence:
    """A few SMs can fill DRAM or L2: without these roofs only a very small grid is certain."""
    few = 100.0 * filled < limit("small_fill")
    return at_most("medium", not facts.all_roofs_read and not few)


def _small_launch(facts: Facts, active: float) -> Verdict:
    time = facts.get("duration")
    clear = time is not None and time < limit("launch_clear")
    return Verdict(
        cause="small_launch",
        phrase="small_launch",
        confidence=at_most("medium", not clear or not facts.all_roofs_read),
        figures={
            "time": duration(time) if time is not None else "an unknown time",
            "active": whole(active),
        },
        keys=("active_share", "duration"),
        trigger=whole(active),
        gain=100.0 - active,
    )


def remarks(facts: Facts, verdict: Verdict) -> Remarks:
    """Fill figures, imbalance, and blocks smaller than a warp."""
    evidence = []
    active = facts.active
    if verdict.cause in ("tail", "underfilled", "small_launch"):
        if active is not None:
            evidence.append(fact(f"SMs busy {whole(active)} of the time", "active_share"))
    elif is_imbalanced(facts) and active is not None:
        text = f"imbalance: the SMs idle {whole(100.0 - active)} although the grid fills them"
        evidence.append(fact(text, "active_share"))
    lanes = limit("warp_lanes")
    if facts.block is not None and facts.block < lanes and verdict.cause != "lanes":
        text = f"{facts.block:.0f} of 32 lanes: the block has {count(facts.block, 'thread')}"
        evidence.append(fact(text, "block_size"))
    return Remarks(evidence=tuple(evidence))


def is_imbalanced(facts: Facts) -> bool:
    """Whether SMs idle although every one has blocks, in a launch long enough to tell."""
    loss, time = wave_loss(facts), facts.get("duration") or 0.0
    return (
        facts.active is not None
        and facts.active <= limit("imbalance_active")
        and loss is not None
        and loss < limit("wave_loss")
        and time >= limit("launch_clear")
    )
