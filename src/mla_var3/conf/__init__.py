"""The data tables: device peaks, metric names, thresholds and hints, each with its source."""

from functools import cache
from importlib.resources import files
from typing import Any

import msgspec


@cache
def table(name: str) -> Any:
    """Content of `conf/<name>.json`, as plain JSON values. Treat it as read-only."""
    return msgspec.json.decode(files(__name__).joinpath(f"{name}.json").read_bytes())
