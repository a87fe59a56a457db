"""Whether a file has one of the published formats; the first violation is named with its line."""

import json
import re
from pathlib import Path
from typing import Any

import msgspec

from mla_var3.core.errors import MlaError, NotFound, NoUsableData
from mla_var3.core.record_file import load_profile
from mla_var3.render.contract_grammar import ContractViolation, parse
from mla_var3.runtime.formats import FORMATS, PREFIX
from mla_var3.runtime.json_lines import line_of

_MOST_BYTES = 64 * 1024 * 1024
_PATH = re.compile(r" - at `(?:key in )?\$([^`]*)`")


def check_file(path: Path) -> str:
    """What the file is, in words: `contract.md, contract of 3 stages`.

    Raises `NoUsableData`, beginning with INVALID, at the first violation.
    """
    if not path.exists():
        raise NotFound(f"NOT_FOUND {path.name}: no such file; check the path")
    if path.is_dir():
        return f"profile of {_count(load_profile(path).stages)}"
    text = _text(path)
    if not text.lstrip().startswith("{"):
        try:
            return f"contract of {_count(parse(text).stages)}"
        except ContractViolation as violation:
            raise NoUsableData(f"INVALID {path.name} {violation}") from None
    return _check_json(path, text)


def _text(path: Path) -> str:
    size = path.stat().st_size
    if size > _MOST_BYTES:
        raise NoUsableData(f"INVALID {path.name} line 1: {size} bytes is no profile or contract")
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise NoUsableData(f"INVALID {path.name} line {line}: not UTF-8 text") from None


def _check_json(path: Path, text: str) -> str:
    try:
        head = json.loads(text)
    except json.JSONDecodeError as error:
        why = f"no JSON, {error.msg.lower()} in column {error.colno}"
        raise NoUsableData(f"INVALID {path.name} line {error.lineno}: {why}") from None
    kind = head.get("format")
    name = kind.removeprefix(PREFIX) if isinstance(kind, str) and kind.startswith(PREFIX) else ""
    try:
        known = FORMATS.get(name)
        if known is None:
            names = ", ".join(f"{PREFIX}{name}" for name in FORMATS)
            raise NoUsableData(f"`format` is {kind!r}, not one of {names} - at `$.format`")
        if name == "profile":
            return f"profile of {_count(load_profile(path).stages)}"
        found: Any = msgspec.json.decode(text, type=known.kind)
    except (MlaError, msgspec.ValidationError) as error:
        raise NoUsableData(_violation(path, text, str(error))) from None
    return f"{name}{known.counted_in(found)}"


def _violation(path: Path, text: str, message: str) -> str:
    found = _PATH.search(message)
    place = found.group(1) if found else ""
    why = _PATH.sub("", message).removeprefix(f"{path} is not a valid record: ")
    at = f" (at {place.lstrip('.')})" if place else ""
    return f"INVALID {path.name} line {line_of(text, place)}: {why}{at}"


def _count(stages: tuple[Any, ...]) -> str:
    return f"{len(stages)} stage" + ("" if len(stages) == 1 else "s")
