"""What the collector says of itself: its warnings and errors, and what it lost."""

import re
from collections.abc import Collection
from typing import NamedTuple

from mla_var3 import conf
from mla_var3.measure.nsys_reader.database import Database
from mla_var3.measure.nsys_reader.gather import PROCESS
from mla_var3.measure.nsys_reader.machine import metadata
from mla_var3.measure.nsys_reader.texts import plain

_NAMES = ("EXPORT_HOST", "EXPORT_USER", "DEVICE_DISPLAY_NAME")
_GENERIC = {"", "root", "user", "localhost", "local", "nvidia", "cuda", "vm"}


class Quality(NamedTuple):
    """`diagnostics` and `lost` of a `Timeline`."""

    diagnostics: tuple[str, ...]
    lost: str


def read_quality(database: Database, processes: Collection[int]) -> Quality:
    """Warnings and errors, without paths, each once, in their order.

    `processes` are the upper parts of the global ids that ran something. What is only said of
    others, such as a helper that used no CUDA, is left out.
    """
    settings = conf.table("nsys_export")
    of_helpers, lost = _any(settings["of_helpers"]), _any(settings["lost"])
    secrets = names_in(database)
    told: dict[str, None] = {}
    losses: dict[str, None] = {}
    for severity, text, owner in database.rows(
        "diagnostics", ("severity", "text", "globalPid"), "timestamp"
    ):
        if severity not in settings["severities"] or not isinstance(text, str):
            continue
        if of_helpers.search(text) and _other(owner, processes):
            continue
        said = plain(text, secrets, settings["quoted"]["characters"])
        told.setdefault(said)
        if lost.search(text):
            losses.setdefault(said)
    kept = tuple(told)[: settings["quoted"]["messages"]]
    more = len(told) - len(kept)
    return Quality(
        diagnostics=(*kept, f"and {more} more messages") if more else kept,
        lost=" ".join(losses),
    )


def names_in(database: Database) -> frozenset[str]:
    """Names of a user or a host that the file tells, to be taken out of its texts."""
    found = set()
    for key in ("export", "capture"):
        for name, value in metadata(database, key).items():
            if name in _NAMES or name.endswith(":USER_NAME"):
                found.add(value)
    for name, value in database.rows("system", ("name", "value")):
        if name == "Hostname":
            found.add(str(value))
    return frozenset(name for name in found if name.lower() not in _GENERIC and len(name) > 1)


def _other(owner: object, processes: Collection[int]) -> bool:
    return bool(processes) and isinstance(owner, int) and owner // PROCESS not in processes


def _any(patterns: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)
