"""Whether two times may stand side by side at all, before any statistic."""

from msgspec import structs

from mla_var3.conf import table
from mla_var3.core.comparison import Conditions, Value
from mla_var3.core.record import Profile, Stage
from mla_var3.core.timing import Timing

NOT_TOLD = "not told"
_CACHE = {"ncu": "flushed by ncu"}
_TIMER = {"ncu": "gpu__time_duration.sum, one launch", "nsys": "start to end of kernels"}


def differences(a: Conditions, b: Conditions) -> tuple[str, ...]:
    """Conditions that differ: `cache: cold → warm`, `t: 4096 → 8192`. Empty: comparable."""
    found: list[str] = []
    for entry in table("compare")["conditions"]:
        key, unit = entry["key"], entry.get("unit", "")
        if key == "params":
            found += _params(a.params, b.params)
        elif getattr(a, key) != getattr(b, key):
            before, after = (_text(getattr(side, key), unit) for side in (a, b))
            found.append(f"{entry['label']}: {before} → {after}")
    return tuple(found)


def conditions_of(profile: Profile, timing: Timing | None) -> Conditions:
    """The conditions that a stored profile tells, with its `timing.json` where it has one."""
    environment = profile.environment
    tool = _tool(profile)
    locked = {True: "locked", False: "not locked", None: None}[environment.clocks_locked]
    driver = environment.driver or (timing.machine.driver if timing else None)
    known = Conditions(
        tool=tool,
        gpu=environment.device,
        driver_major=driver.partition(".")[0] if driver else None,
        params=dict(profile.plan.params) if profile.plan else {},
        clocks=locked,
        cache=_CACHE.get(tool),
        timer=_TIMER.get(tool),
    )
    return _with_timing(known, timing) if timing and tool == "event" else known


def _with_timing(known: Conditions, timing: Timing) -> Conditions:
    return structs.replace(
        known,
        cache=timing.series.cache,
        timer=timing.timer,
        seed=timing.seed,
        regime=timing.regime,
        power_limit_w=timing.power_limit_w,
        distribution=timing.distribution,
    )


def _tool(profile: Profile) -> str:
    """What took the duration; where there is none, what the mode would have taken it with."""
    stages: list[Stage] = [*([profile.end_to_end] if profile.end_to_end else []), *profile.stages]
    sources = (s.metrics["duration"].source for s in stages if "duration" in s.metrics)
    return next(sources, "event" if profile.mode == "annotation" else profile.mode)


def _params(a: dict[str, Value], b: dict[str, Value]) -> list[str]:
    return [
        f"{name}: {_text(a.get(name))} → {_text(b.get(name))}"
        for name in dict.fromkeys((*a, *b))
        if a.get(name) != b.get(name)
    ]


def _text(value: Value | None, unit: str = "") -> str:
    if value is None:
        return NOT_TOLD
    number = f"{value:g}" if isinstance(value, float) else str(value)
    return f"{number} {unit}".strip()
