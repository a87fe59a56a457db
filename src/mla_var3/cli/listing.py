"""`mla list`: the stored profiles, damaged ones with the reason."""

import dataclasses
from pathlib import Path

import msgspec

from mla_var3.cli.arguments import parse
from mla_var3.cli.console import show
from mla_var3.cli.options import option
from mla_var3.core import artifacts
from mla_var3.core.errors import NotFound
from mla_var3.render.profile_list import render_list
from mla_var3.runtime.store import stored_profiles


@dataclasses.dataclass(frozen=True)
class List:
    """The stored profiles, by mode, kernel and time."""

    root: str = option(
        "",
        "where they are stored",
        metavar="DIR",
        shown=f"default: {artifacts.PROFILES.as_posix()}",
    )
    json: bool = option(False, "a JSON array instead of a table")


def run(argv: list[str]) -> int:
    """Print the list; returns 0, also where nothing is stored."""
    options = parse(List, "list", argv)
    root = Path(options.root) if options.root else artifacts.PROFILES
    if options.root and not root.is_dir():
        raise NotFound(f"NOT_FOUND {root.name}: no such folder; --root names where profiles lie")
    profiles = stored_profiles(root)
    if options.json:
        show(msgspec.json.encode(profiles).decode() + "\n")
    else:
        show(render_list(profiles, root.as_posix()))
    return 0
