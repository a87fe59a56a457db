"""Opcodes of a SASS listing (cuobjdump -sass, nvdisasm), counted as they stand in the code."""

import fnmatch
import re
from collections import Counter
from collections.abc import Mapping

from mla_var3 import conf

_INSTRUCTION = re.compile(
    r"^\s*/\*[0-9a-f]{4,}\*/\s+"  # offset in the function
    r"(?:\{\s*)?(?:@!?U?P\w+\s+)?"  # dual issue, predicate
    r"([A-Z][A-Z0-9_]*(?:\.[\w.]+)?)",
    re.MULTILINE,
)


def count_opcodes(listing: str) -> dict[str, int]:
    """Full opcode, such as `HGMMA.64x64x16.F32.BF16`, to how often it stands in the listing."""
    return dict(Counter(match.group(1) for match in _INSTRUCTION.finditer(listing)))


def families(opcodes: Mapping[str, int]) -> dict[str, int]:
    """Keys of `conf/static.json` (`code_hgmma`, `code_waits`, …) to their instructions."""
    table: dict[str, list[str]] = conf.table("static")["families"]
    counts = dict.fromkeys(table, 0)
    for opcode, count in opcodes.items():
        for key, patterns in table.items():
            if any(fnmatch.fnmatchcase(opcode, pattern) for pattern in patterns):
                counts[key] += count
                break
    return counts


def by_name(opcodes: Mapping[str, int]) -> dict[str, int]:
    """Counts by opcode without its modifiers; WARPGROUP and UTC keep their second word."""
    counts: Counter[str] = Counter()
    for opcode, count in opcodes.items():
        words = opcode.split(".")
        counts[".".join(words[: 2 if words[0] in ("WARPGROUP", "BAR") else 1])] += count
    return dict(counts.most_common())
