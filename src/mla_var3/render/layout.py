"""Text within 100 columns: shortening names, aligned labels, wrapping at words."""

import re
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import takewhile

WIDTH = 100
ELLIPSIS = "…"
COLUMN = 16
"""Where the text beside a label begins."""

OPEN = "not decidable: "
"""Begins many texts of one label; said once in a line."""

_TIED = "\u00a0"
_BREAK = re.compile(r"[^0-9A-Za-z]")
_UNIT = re.compile(r"(\d) (%|x\b|[µnm]?s\b|[kMG]?Hz\b|[KMG]?B\b)")
"""A figure and its unit, which must stand on one line."""


def printable(text: str) -> str:
    """Text without line ends and control characters: what a report may hold is not trusted."""
    return "".join(c if c.isprintable() else " " for c in text).strip()


def plain(text: str) -> str:
    """Printable text on one line with single blanks."""
    return " ".join(printable(text).split())


def shorten(text: str, width: int) -> str:
    """Text cut to `width` columns at its end, with an ellipsis where something was cut."""
    text = plain(text)
    return text if len(text) <= width else text[: width - 1].rstrip() + ELLIPSIS


def shorten_name(name: str, width: int) -> str:
    """A kernel's name cut to `width`; the `#2` that tells launches apart is kept."""
    name = plain(name)
    if len(name) <= width:
        return name
    ending = _ending(name)
    return name.removesuffix(ending)[: width - 1 - len(ending)] + ELLIPSIS + ending


def _ending(name: str) -> str:
    """The `#2` at the end of a name; "" where it has none."""
    stem, hash_, number = name.rpartition("#")
    return f"#{number}" if hash_ and stem and number.isdigit() else ""


def distinct_names(names: Sequence[str], width: int) -> dict[str, str]:
    """Names cut to `width`, by the whole name; different names never read alike.

    Those that would are cut in the middle, so that the part in which they differ is seen.
    """
    names = list(dict.fromkeys(names))
    endings = {name: _ending(plain(name)) for name in names}
    room = width - max(map(len, endings.values()), default=0) - len(ELLIPSIS)
    alike: dict[str, set[str]] = {}
    for name in names:
        stem = plain(name).removesuffix(endings[name])
        alike.setdefault(stem[:room], set()).add(stem)
    cuts = [_cut_inside(plain(name), endings[name], alike, room, width) for name in names]
    return dict(zip(names, unique_names(cuts, width), strict=True))


def _cut_inside(
    name: str, ending: str, alike: Mapping[str, Collection[str]], room: int, width: int
) -> str:
    """The beginning, an ellipsis, and what follows the part that all of its kind share."""
    stem = name.removesuffix(ending)
    others = alike[stem[:room]]
    if len(name) <= width or len(others) < 2:
        return shorten_name(name, width)
    pairs = zip(min(others), max(others), strict=False)
    shared = len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))
    # from the word in which they differ
    begin = max((m.end() for m in _BREAK.finditer(stem[:shared])), default=0)
    head = max(room // 3, room - len(ELLIPSIS) - (len(stem) - begin))
    rest = stem[begin:] if begin > head else stem[head:]
    return stem[:head] + ELLIPSIS + shorten_name(rest + ending, width - head - len(ELLIPSIS))


def unique_names(names: Sequence[str], width: int) -> list[str]:
    """Names cut to `width`, with `~2`, `~3` at the end of those that would read alike."""
    seen: dict[str, int] = {}
    result = []
    for name in names:
        short = shorten_name(name, width)
        seen[short] = seen.get(short, 0) + 1
        while seen[short] > 1:
            ending = f"~{seen[short]}"
            candidate = shorten_name(name, width - len(ending)) + ending
            if candidate not in seen:
                seen[candidate] = 1
                short = candidate
                break
            seen[short] += 1
        result.append(short)
    return result


def paragraph(
    label: str, text: str, lines: int | None = None, column: int = COLUMN, width: int = WIDTH
) -> list[str]:
    """`     label     text…`, wrapped under the text's own column, at most `lines` lines."""
    wrapped = textwrap.wrap(
        _UNIT.sub(rf"\1{_TIED}\2", printable(text)),
        width,
        initial_indent=f"     {label}".ljust(column),
        subsequent_indent=" " * column,
        max_lines=lines,
        placeholder=f" {ELLIPSIS}",
        break_on_hyphens=False,
    )
    return [line.replace(_TIED, " ") for line in wrapped]


def items(label: str, texts: Sequence[str], lines: int, width: int = WIDTH) -> list[str]:
    """Texts joined with ` · ` below one label; those that do not fit are left out whole."""
    texts = [texts[0], *(text.removeprefix(OPEN) for text in texts[1:])] if texts else []
    for kept in range(len(texts), 0, -1):
        more = f"{_TIED}{ELLIPSIS}" if kept < len(texts) else ""
        wrapped = paragraph(label, " · ".join(texts[:kept]) + more, width=width)
        if len(wrapped) <= lines:
            return wrapped
    return paragraph(label, texts[0], lines, width=width) if texts else []


def flow(parts: Iterable[str], separator: str = " · ", indent: str = "") -> list[str]:
    """Parts joined with the separator; a new line begins where a part would not fit."""
    lines: list[str] = []
    for part in parts:
        candidate = f"{lines[-1]}{separator}{part}" if lines else part
        if lines and len(candidate) <= WIDTH:
            lines[-1] = candidate
        else:
            prefix = indent if lines else ""
            lines.append(prefix + shorten(part, WIDTH - len(prefix)))
    return lines
