"""Walk the blocks of a .ncu-rep without any library: is it whole, who wrote it, where is the code.

A report is `NVR\\0`, a length and a file header, then blocks: a length, a protobuf block header,
and a payload whose size stands in that header. A file that was cut ends inside a block. A file
that was cut exactly between two blocks looks whole, for nothing in it says how many are to come;
but the blocks with the device and the recording tool stand behind the first launch.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

MAGIC = b"NVR\x00"
_LARGEST_HEADER = 64 << 20
_LARGEST_FILE_HEADER = 4096
# fields of a block header; those of the session are inside _SESSION
_SOURCES, _RESULTS, _SESSION, _PAYLOAD = 1, 2, 3, 5
_SESSION_TIME, _SESSION_TOOL = 2, 8
_FIXED_BYTES = {1: 8, 5: 4}

End = Literal["whole", "cut", "unknown", "padded"]
Bytes = bytes | memoryview


@dataclass
class Layout:
    """What the block structure of one file tells."""

    end: End = "whole"
    launches: int = 0
    """Launches whose block is complete."""
    tool_version: str = ""
    """Text of the recording tool, `2025.3.1.0 (build 1) (public-release)`."""
    time: int = 0
    """Start of the recording in Unix seconds, 0 where it is not there."""
    code: list[tuple[int, int]] = field(default_factory=list)
    """Begin and end, in the file, of the embedded machine code."""
    missing_bytes: int = 0
    """At least so many bytes are missing at the end of a cut file."""
    padding_bytes: int = 0
    whole_bytes: int = 0
    """Length up to the end of the last whole block."""


class _Malformed(Exception):
    """Bytes that are no block header."""


def walk(data: Bytes) -> Layout:
    """Layout of a whole file; never raises, whatever the bytes are."""
    layout = Layout()
    size = len(data)
    position = 8 + _u32(data, 4)
    if position > 8 + _LARGEST_FILE_HEADER:
        return Layout(end="unknown")
    try:
        while position < size:
            layout.whole_bytes = position
            position = _block(data, position, layout)
    except _Malformed:
        layout.end = "unknown"
        if not any(data[position:]):
            layout.end, layout.padding_bytes = "padded", size - position
    if position > size:
        layout.end, layout.missing_bytes = "cut", position - size
    else:
        layout.whole_bytes = position
    return layout


def _block(data: Bytes, position: int, layout: Layout) -> int:
    """Note one block and return where the next begins, which may be past the end of a cut file."""
    size = len(data)
    if position + 4 > size:
        return position + 4
    length = _u32(data, position)
    if not 0 < length <= _LARGEST_HEADER:
        raise _Malformed
    begin, end = position + 4, position + 4 + length
    if end > size:
        return end
    sources = results = payload = 0
    for number, value in _fields(data[begin:end]):
        if isinstance(value, int):
            sources = value if number == _SOURCES else sources
            results = value if number == _RESULTS else results
            payload = value if number == _PAYLOAD else payload
        elif number == _SESSION:
            _session(value, layout)
    after = end + payload
    if after <= size:
        layout.launches += results
        if sources:
            layout.code.append((end, after))
    return after


def _session(message: Bytes, layout: Layout) -> None:
    for number, value in _fields(message):
        if number == _SESSION_TIME and isinstance(value, int):
            layout.time = layout.time or value
        elif number == _SESSION_TOOL and not isinstance(value, int):
            texts = [bytes(text) for _, text in _fields(value) if not isinstance(text, int)]
            if len(texts) == 2 and texts[0].startswith(b"Nsight Compute"):
                layout.tool_version = texts[1].decode("ascii", "replace")


def _fields(message: Bytes) -> Iterator[tuple[int, int | Bytes]]:
    """Field numbers and values of one protobuf message; raises `_Malformed`."""
    position = 0
    while position < len(message):
        tag, position = _varint(message, position)
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            number_value, position = _varint(message, position)
            yield number, number_value
            continue
        if wire == 2:
            length, position = _varint(message, position)
        elif wire in _FIXED_BYTES:
            length = _FIXED_BYTES[wire]
        else:
            raise _Malformed
        if not number or position + length > len(message):
            raise _Malformed
        yield number, message[position : position + length]
        position += length


def _varint(data: Bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while position < len(data) and shift < 64:
        byte = data[position]
        value |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if byte < 0x80:
            return value, position
    raise _Malformed


def _u32(data: Bytes, position: int) -> int:
    return int.from_bytes(data[position : position + 4], "little")
