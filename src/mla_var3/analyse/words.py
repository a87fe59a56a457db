"""Numbers and names as people read them: short, with unit, never nan."""

from mla_var3.analyse.knowledge import knowledge, labels, limit


def percent(value: float) -> str:
    """`46.7 %`; a misreading above the possible reads `over 100 %`."""
    if value > limit("percent_impossible"):
        return "over 100 %"
    return f"{min(value, 100.0):.1f} %"


def whole(value: float) -> str:
    """Percent without decimals: `23 %`."""
    if value > limit("percent_impossible"):
        return "over 100 %"
    return f"{min(value, 100.0):.0f} %"


def times(value: float) -> str:
    """`1.0 x`-style figure without the sign: `1.0`, `11`."""
    return f"{value:.1f}" if value < 10 else f"{value:.0f}"


def number(value: float) -> str:
    """A bare figure: `133`, `0.97`, `4.48e+05` above a million."""
    if value == int(value) and abs(value) < 1e6:
        return f"{value:.0f}"
    return f"{value:.3g}"


def count(amount: float, noun: str) -> str:
    """`1 block`, `133 blocks`."""
    return f"{amount:.0f} {noun}" if round(amount) == 1 else f"{amount:.0f} {noun}s"


def duration(ns: float) -> str:
    """`2.0 µs`, `612.8 µs`, `12.3 ms`."""
    return f"{ns / 1e3:.1f} µs" if ns < 1e7 else f"{ns / 1e6:.1f} ms"


def gigahertz(hertz: float) -> str:
    """`1.56`, without the unit."""
    return f"{hertz / 1e9:.2f}"


def size(count_of_bytes: float) -> str:
    """`128 KB`, `1.2 MB`: binary kilobytes below one megabyte, as shared memory is given."""
    if count_of_bytes < 1024:
        return f"{count_of_bytes:.0f} B"
    if count_of_bytes < 1e6:
        return f"{count_of_bytes / 1024:.0f} KB"
    if count_of_bytes < 1e9:
        return f"{count_of_bytes / 1e6:.1f} MB"
    return f"{count_of_bytes / 1e9:.2f} GB"


def unit(key: str) -> str:
    """Name of a unit of the chip: `tensor pipe`, `L1`."""
    return knowledge().units.get(key, label(key))


def label(key: str) -> str:
    """Name of a fact: `DRAM throughput`; the key itself where the table has none."""
    return _EXTRA_LABELS.get(key) or labels().get(key, key)


def listed(names: list[str] | tuple[str, ...], most: int = 4) -> str:
    """`a, b and 3 more`."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more"


def capital(text: str) -> str:
    """The text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


_EXTRA_LABELS = {
    "active_share": "active share of the SMs",
    "stalls": "stall reasons",
    "l1": "L1 throughput",
    "l1_units": "L1 wavefronts and LSU requests",
    "pipes": "pipes and issue slots",
    "tensor": "tensor pipe (TC %)",
    "dram": "DRAM throughput",
    "l2": "L2 throughput",
    "local_bytes": "local-memory bytes",
    "compulsory_read_bytes": "compulsory bytes of the plan",
    "coalescing": "sectors above the ideal",
    "bank": "shared-memory wavefronts",
}
