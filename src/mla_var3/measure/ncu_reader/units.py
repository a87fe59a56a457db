"""Bring a value to the unit of its fact: reports write ns, usecond, Kbyte, GHz or cycle/nsecond."""

import re
from functools import cache

from mla_var3.measure.ncu_reader.table import table

_PER_TIME = re.compile(r"/(n|u|µ|m)?s(ec(ond)?)?$")


@cache
def factor(found: str, wanted: str) -> float | None:
    """Factor from the report's unit to the wanted one; None where they cannot be converted.

    No unit in the report is taken as the wanted one. Counts (block, sector …) have no scale, so
    any is taken for any other, even `byte`: that is what the library writes for derived sector
    counts, if not what another report of the process had for them. A rate or percentage is not.
    """
    unit = found.strip().lower()
    if not unit:
        return 1.0
    scales = table().units
    if wanted in scales:
        scale = scales[wanted]
        if unit in scale:
            return scale[unit]
        if not _PER_TIME.search(unit):
            # byte/block, byte/sector: what it is counted per is known from the name
            return scale.get(unit.partition("/")[0])
        return None
    return None if unit in scales["%"] or _PER_TIME.search(unit) else 1.0
