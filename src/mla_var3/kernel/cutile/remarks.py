"""The compiler's remarks: YAML as it gives them, without directories, and in words."""

import re
from collections import Counter

_FILE = re.compile(r"(File:\s*')([^']*)(')")
_DOCUMENT = re.compile(r"^--- !(\w+)\n(.*?)^\.\.\.", re.MULTILINE | re.DOTALL)
_LINE = re.compile(r"Line:\s*(\d+)")
_NOT_SAID = ("RemarkId", "Remark")


def without_directories(text: str) -> str:
    """The same YAML with bare file names."""
    return _FILE.sub(lambda m: m[1] + re.split(r"[\\/]", m[2])[-1] + m[3], text)


def in_words(text: str) -> tuple[str, ...]:
    """One line a kind of remark, what failed first: `line 17: TMA Load instruction, [64, 64, 1]`.

    Remarks on hints that the compiler chose itself are left out.
    """
    found = Counter(_spoken(kind, body) for kind, body in _DOCUMENT.findall(text))
    found.pop("", None)
    return tuple(sorted(found, key=lambda line: (not line.startswith("missed"), line)))


def _spoken(kind: str, body: str) -> str:
    arguments = dict(re.findall(r"^\s+- (\w+):\s*'?(.*?)'?$", body, re.MULTILINE))
    remark = arguments.get("Remark", "")
    if "used default" in remark:
        return ""
    line = _LINE.search(body)
    said = [value for name, value in arguments.items() if name not in _NOT_SAID]
    words = ", ".join([remark, *said])
    missed = "missed, " if kind in ("Missed", "Failure") else ""
    return f"{missed}line {int(line[1]):d}: {words}" if line else f"{missed}{words}"
