"""An export without kernels: not "the GPU was idle" but what was traced instead, and why."""

import re

from mla_var3 import conf
from mla_var3.core.errors import UnreadableFile
from mla_var3.core.timeline import Call
from mla_var3.measure.nsys_reader.gather import Gathered
from mla_var3.measure.nsys_reader.machine import traced
from mla_var3.measure.nsys_reader.quality import read_quality

_RECORD = "record again with: nsys profile -t cuda,nvtx --cuda-graph-trace=node"


def no_kernels(into: Gathered, calls: tuple[Call, ...], names: tuple[str, ...]) -> UnreadableFile:
    """The error for an export that holds no kernel and no graph."""
    return UnreadableFile(
        "NO_KERNELS",
        f"{_why(into)}; in it: {_captured(into, calls, names)}{_quoted(into)}; "
        f"{_cause(into, calls, names)}",
    )


def _why(into: Gathered) -> str:
    if into.database.find("kernel") is None:
        return "kernels were not traced (no kernel table)"
    left_out = sum(into.impossible.values())
    if left_out:
        return f"no kernel has a possible time ({left_out} rows left out)"
    return "kernels were traced, and none ran (its kernel table has 0 rows)"


def _captured(into: Gathered, calls: tuple[Call, ...], names: tuple[str, ...]) -> str:
    database = into.database
    launches = _launches(calls, names)
    counts = (
        (launches, "launch call", "launch calls"),
        (len(calls), "API call", "API calls"),
        (database.count("memcpy"), "copy", "copies"),
        (database.count("memset"), "memset", "memsets"),
        (database.count("ranges"), "NVTX event", "NVTX events"),
        (database.count("processes"), "process", "processes"),
    )
    found = [f"{n:,} {one if n == 1 else many}" for n, one, many in counts if n]
    return ", ".join(found) or "nothing"


def _quoted(into: Gathered) -> str:
    most = conf.table("nsys_export")["quoted"]["in_errors"]
    told = read_quality(into.database, ()).diagnostics
    return f"; nsys says: {' '.join(told[:most])}" if told else ""


def _cause(into: Gathered, calls: tuple[Call, ...], names: tuple[str, ...]) -> str:
    if traced(into.database, "CUDA") is False:
        return f"CUDA was not among what was traced: {_RECORD}"
    if _launches(calls, names):
        return (
            "launches were seen, their kernels were not (WSL2, another profiler in the process, or "
            f"a capture range that closed): {_RECORD}"
        )
    return f"another process may have used the GPU, or none did: {_RECORD}"


def _launches(calls: tuple[Call, ...], names: tuple[str, ...]) -> int:
    pattern = re.compile(conf.table("nsys_export")["launches"])
    launching = {index for index, name in enumerate(names) if pattern.match(name)}
    return sum(call.name in launching for call in calls)
