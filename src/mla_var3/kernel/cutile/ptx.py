"""The PTX that a cubin was assembled from: tileiras goes through PTX and keeps its text in it."""

import re
import struct

SECTION = b".nv_debug_ptx_txt"
TRAILER = ".nv_intermediate_source_section"
"""Begins the TileIR text that follows the PTX in the same section; ptxas does not take it."""
_TABLE_AT, _SIZES_AT = 0x28, 0x3A
_HEADER = struct.Struct("<IIQQQQ")
"""Name, type, flags, address, offset and size of a section of a 64-bit ELF file."""


def ptx_of(cubin: bytes) -> str:
    """The whole PTX text, as ptxas takes it; `LookupError` says why there is none.

    Source: the section `.nv_debug_ptx_txt` of the ELF file, its lines ended by zero bytes.
    """
    text = _section(cubin).replace(b"\0", b"\n").decode("utf-8", errors="replace")
    text = text.partition(f"\n{TRAILER}")[0]
    if ".version" not in text or ".entry" not in text:
        raise LookupError("the cubin's PTX section holds no PTX")
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def _section(cubin: bytes) -> bytes:
    """Contents of the PTX section."""
    if cubin[:5] != b"\x7fELF\x02":
        raise LookupError("the cubin is no 64-bit ELF file")
    try:
        (table,) = struct.unpack_from("<Q", cubin, _TABLE_AT)
        size, count, names = struct.unpack_from("<HHH", cubin, _SIZES_AT)
        headers = [_HEADER.unpack_from(cubin, table + size * number) for number in range(count)]
        names_at = headers[names][4]
    except (struct.error, IndexError):
        raise LookupError("the cubin's section table is damaged") from None
    for name, _, _, _, offset, length in headers:
        if cubin[names_at + name :].partition(b"\0")[0] == SECTION:
            return cubin[offset : offset + length]
    raise LookupError("this compiler keeps no PTX in the cubin")
