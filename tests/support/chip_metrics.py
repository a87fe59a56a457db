"""The counters each chip knows, from the metrics library in the `ncu-report` wheel; needs no GPU.

The calls are those of the public NvPerf host interface, called through ctypes.
"""

import ctypes
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_METRIC_TYPES = 3  # counters, ratios, throughputs


class Unavailable(Exception):
    """The library cannot be used here; the text says why."""


@cache
def chips() -> tuple[str, ...]:
    """Names of the chips the library knows."""
    answer = _call(
        "NVPW_GetSupportedChipNames",
        [("names", ctypes.POINTER(ctypes.c_char_p)), ("count", ctypes.c_size_t)],
    )
    return tuple(answer.names[index].decode() for index in range(answer.count))


@cache
def counters(chip: str) -> frozenset[str]:
    """Base names (`sm__warps_active`) of all counters, ratios and throughputs of a chip."""
    name = chip.encode()
    size = _call(
        "NVPW_CUDA_MetricsEvaluator_CalculateScratchBufferSize",
        [("chip", ctypes.c_char_p), ("image", ctypes.c_void_p), ("size", ctypes.c_size_t)],
        chip=name,
    ).size
    scratch = (ctypes.c_uint8 * size)()
    evaluator = _call(
        "NVPW_CUDA_MetricsEvaluator_Initialize",
        [
            ("scratch", ctypes.c_void_p),
            ("scratch_size", ctypes.c_size_t),
            ("chip", ctypes.c_char_p),
            ("availability", ctypes.c_void_p),
            ("data", ctypes.c_void_p),
            ("data_size", ctypes.c_size_t),
            ("evaluator", ctypes.c_void_p),
        ],
        scratch=ctypes.addressof(scratch),
        scratch_size=size,
        chip=name,
    ).evaluator
    return frozenset(n for kind in range(_METRIC_TYPES) for n in _names(evaluator, kind))


def _names(evaluator: int, kind: int) -> list[str]:
    answer = _call(
        "NVPW_MetricsEvaluator_GetMetricNames",
        [
            ("evaluator", ctypes.c_void_p),
            ("kind", ctypes.c_uint8),
            ("text", ctypes.c_void_p),
            ("begins", ctypes.POINTER(ctypes.c_size_t)),
            ("count", ctypes.c_size_t),
        ],
        evaluator=evaluator,
        kind=kind,
    )
    begins = [answer.begins[index] for index in range(answer.count)]
    return [ctypes.string_at(answer.text + begin).decode() for begin in begins]


@cache
def _library() -> Any:
    spec = find_spec("ncu_report")
    if spec is None or spec.origin is None:
        raise Unavailable("ncu_report is not installed")
    path = Path(spec.origin).parent / "libnvperf_host.so"
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise Unavailable(f"{path.name} cannot be loaded") from error
    _invoke(library, "NVPW_InitializeHost", [("unused", ctypes.c_char * 0)], {})
    return library


def _call(function: str, fields: list[tuple[str, Any]], **values: Any) -> Any:
    return _invoke(_library(), function, fields, values)


def _invoke(
    library: Any, function: str, fields: list[tuple[str, Any]], values: dict[str, Any]
) -> Any:
    """Call a function that takes one structure: its size, a private pointer, then the fields."""
    head = [("struct_size", ctypes.c_size_t), ("private", ctypes.c_void_p)]
    parameters = type("Parameters", (ctypes.Structure,), {"_fields_": head + fields})()
    last, last_type = fields[-1]
    parameters.struct_size = getattr(type(parameters), last).offset + ctypes.sizeof(last_type)
    for name, value in values.items():
        setattr(parameters, name, value)
    status = getattr(library, function)(ctypes.byref(parameters))
    if status != 0:
        raise Unavailable(f"{function} answers {status}")
    return parameters
