"""Short kernel names: from mangled, templated or generated names to what a person calls them."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Protocol

LONGEST = 40
UNNAMED = "unnamed"
_GENERIC = frozenset({"Kernel", "Kernel2", "kernel", "device_kernel", "operator()"})
# cuTile: the signature follows the name, `flash_mla_Kt1_A3bf16_…`
_CUTILE = re.compile(r"^(\w+?)_Kt?\d+_[A-Z]\w*$")
# Triton up to 2.1: the specialisation follows the name, `kernel_0d1d2de3`
_TRITON = re.compile(r"_0d?e?c?(?:[1-9]\d*(?:de|d|c)?)+$")
_BRACKETS = {"<": ">", "(": ")", "{": "}", "[": "]"}


class Named(Protocol):
    """One launch as names need it; `name` is its short name."""

    @property
    def name(self) -> str: ...

    @property
    def grid(self) -> tuple[int, ...]: ...


def short_name(function: str | None, full: str | None) -> str:
    """Name to show, at most `LONGEST` characters.

    `function` is the tool's own short name where it has one, `full` the demangled or mangled one.
    """
    for candidate in (function, full):
        if candidate:
            short = _shorten(candidate)
            if short in _GENERIC and full:
                short = _first_argument(full, short) or short
            return short if len(short) <= LONGEST else short[: LONGEST - 1] + "…"
    return UNNAMED


def unique_names(launches: Sequence[Named]) -> list[str]:
    """Names that differ: by grid where launches of one name have several, else `#2`, `#3` …"""
    grids: dict[str, set[tuple[int, ...]]] = {}
    for launch in launches:
        grids.setdefault(launch.name, set()).add(launch.grid)
    seen: Counter[str] = Counter()
    names: list[str] = []
    taken: set[str] = set()
    for launch in launches:
        base = launch.name
        if len(grids[base]) > 1 and launch.grid:
            base = f"{base} [grid {_dimensions(launch.grid)}]"
        seen[base] += 1
        name = base if seen[base] == 1 else f"{base}#{seen[base]}"
        while name in taken:
            seen[base] += 1
            name = f"{base}#{seen[base]}"
        taken.add(name)
        names.append(name)
    return names


def _dimensions(grid: tuple[int, ...]) -> str:
    sizes = list(grid)
    while len(sizes) > 1 and sizes[-1] == 1:
        sizes.pop()
    return "×".join(str(size) for size in sizes)


def _shorten(name: str) -> str:
    name = name.strip()
    if name.startswith("_Z"):
        return _of_mangled(name) or name
    cutile = _CUTILE.match(name)
    if cutile:
        return cutile.group(1)
    if "(" in name or "<" in name or "::" in name:
        return _of_demangled(name)
    return _TRITON.sub("", name) or name


def _of_demangled(name: str) -> str:
    """`void a::b<c>(d)` is `b`; a lambda is named after the function that holds it."""
    flat = _without_brackets(name.replace("operator()", "operator@"))
    flat = re.sub(r"\s+(const|volatile|&+)$", "", flat.strip())
    parts = [part.strip() for part in flat.split("::")]
    # the return type stands before the first part: `void a`
    parts = [part.rpartition(" ")[2] for part in parts]
    named = [part for part in parts if part and not part.startswith("operator@")]
    return named[-1] if named else name


def _without_brackets(name: str) -> str:
    """The name without template arguments, parameters, lambdas and `(anonymous namespace)`."""
    kept: list[str] = []
    closing: list[str] = []
    for before, character in zip(" " + name, name, strict=False):
        if character in _BRACKETS:
            closing.append(_BRACKETS[character])
        elif closing and character == closing[-1] and before != "-":
            closing.pop()
        elif not closing:
            kept.append(character)
    return "".join(kept)


def _first_argument(name: str, generic: str) -> str:
    """Last word of the first template argument: what a generic kernel is a kernel of."""
    if name.startswith("_Z"):
        return _of_mangled("_Z" + name.partition(f"{len(generic)}{generic}I")[2])
    inside = name.partition("<")[2]
    argument = re.split(r"[<>,(]", inside)[0]
    return argument.rpartition("::")[2].strip()


def _of_mangled(name: str) -> str:
    """Function name of an Itanium-mangled `_Z…`; "" where the small reader cannot tell."""
    rest = name[2:]
    while rest.startswith("Z"):
        # a lambda inside a function: its name is that function's
        rest = rest[1:]
    nested = rest.startswith("N")
    if nested:
        rest = re.sub(r"^N[rVK]*[RO]?", "", rest)
    parts: list[str] = []
    while rest:
        source = re.match(r"L?(\d+)", rest)
        if source:
            begin, length = source.end(), int(source.group(1))
            parts.append(rest[begin : begin + length])
            rest = rest[begin + length :]
        elif std := re.match(r"S[tabsiod_]|S[0-9A-Z]*_", rest):
            rest = rest[std.end() :]
        else:
            break
        if not nested:
            break
    named = [part for part in parts if not part.startswith("_GLOBAL__N")]
    return named[-1] if named else ""
