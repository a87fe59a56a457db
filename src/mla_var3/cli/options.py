"""How a command declares its options: plain dataclass fields, so that tyro is loaded late."""

import dataclasses
from typing import Any

_NEEDED = object()


def option(default: Any, help: str, *, metavar: str = "", shown: str = "", name: str = "") -> Any:
    """One `--option`. `shown` says the default in words where its value would not; `name` is
    typed where the field cannot bear it, as a word of Python.
    """
    return _field(default, help, metavar, shown, False, name)


def positional(help: str, *, metavar: str, shown: str, default: Any = _NEEDED) -> Any:
    """A word without a name. Leave `default` out for a tuple of words: it may be empty."""
    return _field(default, help, metavar, shown, True)


def _field(
    default: Any, help: str, metavar: str, shown: str, is_positional: bool, name: str = ""
) -> Any:
    words: dict[str, Any] = {"help": help}
    if name:
        words["name"] = name
    if default is False and not shown:
        shown = "default: no"
    if metavar:
        words["metavar"] = metavar
    if shown:
        words["help_behavior_hint"] = f"({shown})"
    metadata = {"words": words, "positional": is_positional}
    if default is _NEEDED:
        return dataclasses.field(metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)
