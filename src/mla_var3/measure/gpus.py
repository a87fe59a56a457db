"""CUDA devices of this machine by the driver's own library; no context is made, nothing imported.

Where there is no driver, or it does not answer, there are no devices: never an error.
"""

import ctypes
import uuid
from functools import cache

import msgspec

_LIBRARIES = ("libcuda.so.1", "nvcuda.dll")
_CAPABILITY_MAJOR, _CAPABILITY_MINOR = 75, 76
_SM_COUNT = 16
_NAME_BYTES = 256
_UUID_BYTES = 16


class Gpu(msgspec.Struct, frozen=True):
    """One device: its index, exact product name and compute capability `9.0`."""

    index: int
    name: str
    capability: str
    uuid: str = ""
    """`GPU-…` as nvidia-smi takes it; empty where the driver does not tell."""
    sm_count: int | None = None
    """SMs that a program has here: of a part (MIG) its own. None: the driver does not tell."""


@cache
def cuda_devices() -> tuple[Gpu, ...]:
    """The devices in the driver's order (CUDA_VISIBLE_DEVICES holds); empty without a driver."""
    for name in _LIBRARIES:
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        return _devices(library)
    return ()


def _devices(library: ctypes.CDLL) -> tuple[Gpu, ...]:
    count = ctypes.c_int()
    if library.cuInit(0) or library.cuDeviceGetCount(ctypes.byref(count)):
        return ()
    found = (_device(library, index) for index in range(count.value))
    return tuple(gpu for gpu in found if gpu is not None)


def _device(library: ctypes.CDLL, index: int) -> Gpu | None:
    device = ctypes.c_int()
    name = ctypes.create_string_buffer(_NAME_BYTES)
    major, minor = ctypes.c_int(), ctypes.c_int()
    failed = (
        library.cuDeviceGet(ctypes.byref(device), index)
        or library.cuDeviceGetName(name, _NAME_BYTES, device)
        or library.cuDeviceGetAttribute(ctypes.byref(major), _CAPABILITY_MAJOR, device)
        or library.cuDeviceGetAttribute(ctypes.byref(minor), _CAPABILITY_MINOR, device)
    )
    if failed:
        return None
    capability = f"{major.value}.{minor.value}"
    return Gpu(
        index=index,
        name=name.value.decode(errors="replace"),
        capability=capability,
        uuid=_uuid(library, device),
        sm_count=_sm_count(library, device),
    )


def _sm_count(library: ctypes.CDLL, device: ctypes.c_int) -> int | None:
    count = ctypes.c_int()
    if library.cuDeviceGetAttribute(ctypes.byref(count), _SM_COUNT, device):
        return None
    return count.value or None


def _uuid(library: ctypes.CDLL, device: ctypes.c_int) -> str:
    """Of the whole GPU, also where the device is a part of it (MIG)."""
    raw = (ctypes.c_ubyte * _UUID_BYTES)()
    if library.cuDeviceGetUuid(ctypes.byref(raw), device):
        return ""
    return f"GPU-{uuid.UUID(bytes=bytes(raw))}"
