"""What a compiled kernel needs of an SM, and its instructions: from cuobjdump and nvdisasm."""

import re
from collections import Counter
from typing import NamedTuple


class Resources(NamedTuple):
    """Of one block; None where the tools do not tell. Sizes in bytes, spills a thread."""

    registers: int | None
    spill_bytes: int | None
    shared_bytes: int | None
    threads: int | None
    barriers: int | None


_USAGE = re.compile(r"REG:(?P<reg>\d+) STACK:(?P<stack>\d+) SHARED:(?P<shared>\d+) LOCAL:(\d+)")
_ATTRIBUTE = r"EIATTR_{name}\s*\n\s*Format:\s*\S+\s*\n\s*Value:\s*([^\n]+)"
_INSTRUCTION = re.compile(
    r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*(?:\.[\w.]+)?)", re.MULTILINE
)


def read_resources(usage: str, elf: str) -> Resources:
    """From `cuobjdump -res-usage` and `cuobjdump -elf`, either may be empty."""
    found = _USAGE.search(usage)
    threads = _values(elf, "REQNTID") or _values(elf, "MAX_THREADS")
    barriers = _values(elf, "NUM_BARRIERS")
    return Resources(
        registers=int(found["reg"]) if found else None,
        spill_bytes=int(found["stack"]) + int(found[4]) if found else None,
        shared_bytes=int(found["shared"]) if found else None,
        threads=threads[0] * threads[1] * threads[2] if len(threads) == 3 else None,
        barriers=barriers[0] if barriers else (0 if elf else None),
    )


def count_opcodes(listing: str) -> dict[str, int]:
    """Full opcode, such as `HGMMA.64x64x16.F32.BF16`, to how often it stands in the listing."""
    return dict(Counter(match.group(1) for match in _INSTRUCTION.finditer(listing)))


def _values(elf: str, attribute: str) -> list[int]:
    """The numbers of an attribute in `.nv.info`, written in hexadecimal."""
    found = re.search(_ATTRIBUTE.format(name=attribute), elf)
    return [int(word, 16) for word in re.findall(r"0x[0-9a-f]+", found[1])] if found else []
