"""Roofline times from a plan's own work: bounds that no kernel beats, never measurements."""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from mla_var3.core.diagnosis import BoundClass
from mla_var3.core.record import Metric, Stage

_BYTES = "(model_read_bytes + model_write_bytes)"


class Total(NamedTuple):
    """Sum over the stages in ns; concurrent stages share the roofs. None: a stage has no bound."""

    roofline_ns: float | None
    ceiling_ns: float | None


def compute_ns(flops: float, tflops: float) -> float:
    """Time of the FLOPs at a rate: FLOP / (TFLOP/s), in ns."""
    return flops / tflops / 1e3


def memory_ns(moved_bytes: float, gbps: float) -> float:
    """Time of the bytes at a rate: byte / (GB/s), in ns."""
    return moved_bytes / gbps


def with_prediction(stage: Stage) -> Stage:
    """The stage with its times at the published peaks and at the measured ceilings."""
    flops, moved = stage.value("model_flops"), work_bytes(stage)
    if flops is None or moved is None:
        return stage
    found: dict[str, Metric] = {}
    missing: dict[str, str] = {}
    peaks = {name: stage.value(name) for name in ("peak_tflops", "peak_gbps")}
    if peaks["peak_tflops"] is not None:
        time = compute_ns(flops, peaks["peak_tflops"])
        found["compute_time"] = _time(time, "model_flops / peak_tflops")
    if peaks["peak_gbps"] is not None:
        time = memory_ns(moved, peaks["peak_gbps"])
        found["memory_time"] = _time(time, f"{_BYTES} / peak_gbps")
    if len(found) == len(peaks):
        both = max(metric.value for metric in found.values())
        found["roofline_time"] = _time(both, "max(compute_time, memory_time)")
    else:
        missing["roofline_time"] = stage.missing.get("peak_tflops", "a peak is unknown")
    ceiling = _ceiling_time(stage, flops, moved)
    if ceiling is None:
        missing["ceiling_time"] = "no rate was measured on such a device"
    else:
        found["ceiling_time"] = ceiling
    return msgspec.structs.replace(
        stage, metrics=stage.metrics | found, missing=stage.missing | missing
    )


def work_bytes(stage: Stage) -> float | None:
    """Bytes of the algorithm that must cross device memory once."""
    read, written = stage.value("model_read_bytes"), stage.value("model_write_bytes")
    return None if read is None or written is None else read + written


def bound_of(stage: Stage) -> BoundClass:
    """The nearer roof: the one whose time is longer; Unknown without work or peaks."""
    compute, memory = stage.value("compute_time"), stage.value("memory_time")
    if compute is None or memory is None or not compute + memory:
        return "Unknown"
    return "Compute" if compute > memory else "Memory"


def total(stages: Iterable[Stage]) -> Total:
    """Stages one after the other; stages that run at the same time (`isolated`) share the roofs:
    at least the longest of them, and all their FLOPs and bytes at the peaks.
    """
    stages = tuple(stages)
    return Total(
        _total(stages, "roofline_time", ("peak_tflops", "peak_gbps")),
        _total(stages, "ceiling_time", ("ceiling_tflops", "ceiling_gbps")),
    )


def _total(stages: tuple[Stage, ...], key: str, rates: tuple[str, str]) -> float | None:
    times = [stage.value(key) for stage in stages]
    known = [time for time in times if time is not None]
    if not known or len(known) < len(times):
        return None
    shared = [stage for stage in stages if stage.isolated]
    alone = sum(stage.value(key) or 0.0 for stage in stages if not stage.isolated)
    if not shared:
        return alone
    compute = sum(_part(stage, "model_flops", rates[0], "peak_tflops") for stage in shared)
    memory = sum((work_bytes(stage) or 0.0) / _rate(stage, rates[1]) for stage in shared)
    longest = max(stage.value(key) or 0.0 for stage in shared)
    return alone + max(compute, memory, longest)


def _part(stage: Stage, work: str, rate: str, instead: str) -> float:
    tflops = stage.value(rate) or stage.value(instead)
    return compute_ns(stage.value(work) or 0.0, tflops) if tflops else 0.0


def _rate(stage: Stage, key: str) -> float:
    return stage.value(key) or stage.value("peak_gbps") or float("inf")


def _ceiling_time(stage: Stage, flops: float, moved: float) -> Metric | None:
    """At the measured rates; a rate that was not measured is taken from the published peaks."""
    tflops, gbps = stage.value("ceiling_tflops"), stage.value("ceiling_gbps")
    if tflops is None and gbps is None:
        return None
    names = ["ceiling_tflops", "ceiling_gbps"]
    if tflops is None:
        tflops, names[0] = stage.value("peak_tflops"), "peak_tflops"
    if gbps is None:
        gbps, names[1] = stage.value("peak_gbps"), "peak_gbps"
    if not tflops or not gbps:
        return None
    time = max(compute_ns(flops, tflops), memory_ns(moved, gbps))
    return _time(time, f"max(model_flops / {names[0]}, {_BYTES} / {names[1]})")


def _time(ns: float, raw: str) -> Metric:
    return Metric(ns, "ns", "model", raw)
