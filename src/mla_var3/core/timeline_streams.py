"""Streams of a timeline: how they are told apart, and what they are called."""

from collections.abc import Iterable

import msgspec


class StreamKey(msgspec.Struct, frozen=True, order=True, array_like=True):
    """One stream (on the CPU: a thread). `device` -1 is the CPU."""

    device: int
    process: int
    context: int
    stream: int


def stream_labels(keys: Iterable[StreamKey]) -> dict[StreamKey, str]:
    """`stream 13`; with the GPU, process or context before it where there are several."""
    keys = tuple(keys)
    devices, processes = {key.device for key in keys}, {key.process for key in keys}
    contexts = {(key.device, key.process, key.context) for key in keys}
    labels = {}
    for key in keys:
        parts = [f"process {key.process}"] if len(processes) > 1 else []
        if len(devices) > 1 and key.device >= 0:
            parts.append(f"GPU {key.device}")
        if len(contexts) > len({(device, process) for device, process, _ in contexts}):
            parts.append(f"context {key.context}")
        parts.append(f"{'stream' if key.device >= 0 else 'CPU thread'} {key.stream}")
        labels[key] = " ".join(parts)
    return labels
