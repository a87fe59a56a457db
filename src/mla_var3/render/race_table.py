"""The figures of a race in rows, for the screen and the report."""

from mla_var3.core import stats, units
from mla_var3.core.params import params_text
from mla_var3.core.race import Race, Standing
from mla_var3.render.layout import plain, shorten

HEADINGS = ("contender", "time µs", "ratio", "interval", "SM MHz", "error")
LABEL_WIDTH = 36


def rows(race: Race, standings: tuple[Standing, ...]) -> list[tuple[str, ...]]:
    """One a contender, in their order; the last cell is what it is spared."""
    return [
        (
            name_of(race, found.contender),
            units.microseconds(found.median_ns),
            f"{found.ratio:.3f}",
            "first" if not found.contender else f"[{found.low:.3f}, {found.high:.3f}]",
            clock_text(found),
            error_text(race, found.contender),
        )
        for found in standings
    ]


def name_of(race: Race, contender: int) -> str:
    """`flash_mla v1`, as long as it tells it from the others."""
    side = race.contenders[contender].side
    return shorten(f"{side.kernel} {side.label}", LABEL_WIDTH)


def clock_text(standing: Standing) -> str:
    """`1392 [1380–1405]`: the middle of the legs' clocks, and their ends; `n/a`."""
    if not standing.mhz:
        return units.NA
    low, high = min(standing.mhz), max(standing.mhz)
    return f"{stats.median(standing.mhz):.0f} [{low:.0f}–{high:.0f}]"


def error_text(race: Race, contender: int) -> str:
    """`2.1e-03`: relative error against the reference."""
    error = race.contenders[contender].relative_error
    return units.NA if error is None else f"{error:.1e}"


def headline(race: Race, standings: tuple[Standing, ...]) -> list[str]:
    """Who races on what, and how."""
    where = race.conditions
    level = standings[0].level_pct
    kernels = list(dict.fromkeys(c.side.kernel for c in race.contenders))
    parts = (
        f"race of {len(race.contenders)}: {', '.join(kernels)}",
        params_text(where.params),
        where.gpu or "",
        f"clocks {where.clocks}" if where.clocks else "",
        f"cache {where.cache}" if where.cache else "",
        f"{units.count(len(race.rounds), 'round')} there and back, one process",
        f"ratios to the first, {level:.1f} % interval",
    )
    return [plain(part) for part in parts if part]


def notes(race: Race, standings: tuple[Standing, ...]) -> list[str]:
    """Doubts, what a contender is spared, and ratios that are none to speak of."""
    found = list(race.warnings)
    if race.warm_up is not None and not race.warm_up.settled:
        found.append("the warm-up did not settle")
    for at, contender in enumerate(race.contenders):
        if contender.spared:
            found.append(f"{name_of(race, at)} is spared: {contender.spared}")
    same = [name_of(race, s.contender) for s in standings if s.contender and not s.differs]
    if same:
        found.append(f"not told apart from the first: {', '.join(same)}")
    if not any(standing.mhz for standing in standings):
        found.append(f"SM MHz {units.NA}: {race.missing.get('clock of each leg', 'not read')}")
    found.append("a verdict with its floor and self-check of two of them: mla compare")
    return found
