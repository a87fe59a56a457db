"""How global and shared memory are accessed: excess sectors, bank conflicts, and how sure."""

from collections.abc import Callable
from dataclasses import dataclass

from mla_var3.analyse.knowledge import limit
from mla_var3.analyse.words import whole

Get = Callable[[str], float | None]


@dataclass(frozen=True)
class Access:
    """Patterns of one stage; shares are percent of the sectors or wavefronts."""

    uncoalesced: str = ""
    """What shows it, in words; empty where the accesses are fine or nothing shows it."""
    brief: str = ""
    keys: tuple[str, ...] = ()
    waste: float = 0.0
    """Percent of the sectors that better accesses would save, an upper bound."""
    by_excess: bool = False
    """Whether the sectors were compared with the ideal, which settles it either way."""
    inferred: bool = False
    bank_share: float | None = None
    """Excess wavefronts of all shared-memory wavefronts; None: not recorded or no traffic."""
    bank_keys: tuple[str, ...] = ()
    shared_used: bool = False

    @property
    def bank_conflicts(self) -> bool:
        """Whether the excess is above the line."""
        return self.bank_share is not None and self.bank_share > limit("bank_excess")


def read(get: Get, l1_units: dict[str, float]) -> Access:
    """The access pattern of a stage from its facts."""
    share, bank_keys = _bank_share(get)
    shared = any(
        (get(key) or 0.0) > 0
        for key in ("shared_wavefronts", "shared_wavefronts_counter", "shared_memory")
    )
    found = _excess(get) or _sectors(get) or _bytes(get) or _inferred(get, l1_units, shared)
    text, brief, keys, waste = found or ("", "", (), 0.0)
    return Access(
        uncoalesced=text,
        brief=brief,
        keys=keys,
        waste=waste,
        by_excess=_excess(get) is not None,
        inferred=text.startswith("inferred"),
        bank_share=share,
        bank_keys=bank_keys,
        shared_used=shared,
    )


def sectors_a_request(get: Get, way: str) -> float | None:
    """Sectors a global `load` or `store` request, also from counts; None: not recorded."""
    ratio = get(f"sectors_per_{way}")
    requests = get(f"global_{way}_requests")
    if ratio is None and requests:
        sectors = get(f"global_{way}_sectors")
        if sectors is None and way == "store":
            written = get("l1_write_bytes")
            sectors = None if written is None else written / 32.0
        ratio = None if sectors is None else sectors / requests
    return ratio


_Found = tuple[str, str, tuple[str, ...], float]


def _excess(get: Get) -> _Found | None:
    excess, sectors = get("global_sectors_excess"), get("global_sectors")
    if excess is None or not sectors:
        return None
    share = 100.0 * excess / sectors
    keys = ("global_sectors_excess", "global_sectors")
    if share <= limit("excess_sectors"):
        return "", "", keys, 0.0
    return (
        f"{whole(share)} of the sectors are excess",
        f"{whole(share)} excess sectors",
        keys,
        min(share, 100.0),
    )


def _sectors(get: Get) -> _Found | None:
    found = [(value, way) for way in ("load", "store") if (value := sectors_a_request(get, way))]
    most, way = max(found, default=(0.0, ""))
    if most < limit("sectors_request"):
        return None
    waste = 100.0 * (1.0 - limit("sectors_ideal") / most)
    text = f"{most:.0f} sectors a request (a 128-bit access needs 16)"
    return text, f"{most:.0f} sectors a request", (f"sectors_per_{way}",), waste


def _bytes(get: Get) -> _Found | None:
    found = []
    for way in ("load", "store"):
        used, sectors = get(f"bytes_per_sector_{way}"), sectors_a_request(get, way)
        if used and (sectors or 0.0) >= limit("sector_bytes_requests"):
            found.append((used, way))
    least, way = min(found, default=(32.0, ""))
    if least > limit("sector_bytes"):
        return None
    text = f"{least:.0f} bytes used of each 32-byte sector"
    brief = f"{least:.0f} of 32 bytes used"
    return text, brief, (f"bytes_per_sector_{way}",), 100.0 * (1.0 - least / 32.0)


def _inferred(get: Get, l1_units: dict[str, float], shared: bool) -> _Found | None:
    requests, wavefronts = get("lsu_requests") or 0.0, l1_units.get("l1_data")
    unknown = wavefronts is None or get("shared_memory") is None
    if shared or unknown or wavefronts is None or requests <= limit("requests_readable"):
        return None
    ratio = wavefronts / requests
    if ratio < limit("wavefronts_instruction"):
        return None
    text = f"inferred: {ratio:.1f} wavefronts a load/store instruction, no shared memory"
    brief = f"{ratio:.1f} wavefronts an access"
    return text, brief, ("l1_data", "lsu_requests"), 100.0 * (1.0 - 1.0 / ratio)


def _bank_share(get: Get) -> tuple[float | None, tuple[str, ...]]:
    pairs = (
        ("shared_wavefronts_excess", "shared_wavefronts"),
        ("bank_conflicts", "shared_wavefronts_counter"),
    )
    for excess_key, all_key in pairs:
        excess, wavefronts = get(excess_key), get(all_key)
        if excess is not None and wavefronts:
            return min(100.0 * excess / wavefronts, 100.0), (excess_key, all_key)
    return None, ()
