"""Edit the bytes of a recorded .ncu-rep: find its blocks, make files with more or fewer of them."""

import struct
from typing import NamedTuple

from mla_var3.measure.ncu_reader import blocks


class Block(NamedTuple):
    """One block of the file and how many launches it holds."""

    begin: int
    end: int
    launches: int


def blocks_of(data: bytes) -> list[Block]:
    """All blocks of a whole file, in order."""
    found: list[Block] = []
    position = 8 + struct.unpack_from("<I", data, 4)[0]
    while position < len(data):
        layout = blocks.Layout()
        after = blocks._block(data, position, layout)
        found.append(Block(position, after, layout.launches))
        position = after
    return found


def without_launches(data: bytes) -> bytes:
    """The same report without any launch: a whole file with nothing in it."""
    found = blocks_of(data)
    kept = [data[block.begin : block.end] for block in found if not block.launches]
    return data[: found[0].begin] + b"".join(kept)


def with_launches(data: bytes, count: int) -> bytes:
    """The same report with its launches repeated until there are `count`."""
    # the first launch's block holds the names of all others and cannot be repeated
    repeated = [block for block in blocks_of(data) if block.launches][1:]
    there = 1 + len(repeated)
    more = [repeated[index % len(repeated)] for index in range(count - there)]
    return data + b"".join(data[block.begin : block.end] for block in more)
