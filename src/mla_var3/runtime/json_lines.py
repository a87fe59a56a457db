"""In which line of a JSON text a value stands."""

import json
import re

_SPACE = re.compile(r"[\s,:]*")
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")
_DECODER = json.JSONDecoder()


def line_of(text: str, path: str) -> int:
    """Line, from 1, of the value at `path` (`.stages[0].name`) or of its nearest parent there."""
    at = _skip(text, 0)
    for step in _STEP.finditer(path):
        key, index = step.groups()
        found = _member(text, at, key) if key else _item(text, at, int(index))
        if found is None:
            break
        at = found
    return text.count("\n", 0, at) + 1


def _skip(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def _member(text: str, at: int, key: str) -> int | None:
    """Where the value of `key` begins in the object that begins at `at`."""
    if text[at] != "{":
        return None
    at = _skip(text, at + 1)
    while text[at] != "}":
        name, end = _DECODER.raw_decode(text, at)
        at = _skip(text, end)
        if name == key:
            return at
        at = _skip(text, _DECODER.raw_decode(text, at)[1])
    return None


def _item(text: str, at: int, index: int) -> int | None:
    """Where item `index` begins in the array that begins at `at`."""
    if text[at] != "[":
        return None
    at = _skip(text, at + 1)
    while text[at] != "]":
        if index == 0:
            return at
        at = _skip(text, _DECODER.raw_decode(text, at)[1])
        index -= 1
    return None
