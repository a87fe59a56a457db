"""CUDA devices as the driver's library tells them: a pretended library, no driver."""

import uuid
from typing import Any

import pytest

from mla_var3.measure import gpus
from mla_var3.measure.gpus import Gpu

GPUS = [("NVIDIA H200", 9, 0, 132), ("NVIDIA A100-SXM4-80GB", 8, 0, 108)]


class Driver:
    """Answers as libcuda does: 0 and a value through the pointer, or an error code."""

    def __init__(self, refuses: int | None = None) -> None:
        self.refuses = refuses

    def cuInit(self, flags: int) -> int:
        return 0

    def cuDeviceGetCount(self, count: Any) -> int:
        count._obj.value = len(GPUS)
        return 0

    def cuDeviceGet(self, device: Any, index: int) -> int:
        device._obj.value = index
        return 0

    def cuDeviceGetName(self, name: Any, size: int, device: Any) -> int:
        name.value = GPUS[device.value][0].encode()
        return 0

    def cuDeviceGetAttribute(self, value: Any, number: int, device: Any) -> int:
        if number == self.refuses:
            return 1
        _, major, minor, sms = GPUS[device.value]
        value._obj.value = {16: sms, 75: major, 76: minor}[number]  # of cuda.h
        return 0

    def cuDeviceGetUuid(self, raw: Any, device: Any) -> int:
        raw._obj[:] = uuid.UUID(int=device.value + 1).bytes
        return 0


@pytest.mark.parametrize(("refuses", "sms"), [(None, [132, 108]), (16, [None, None])])
def test_devices_with_their_sms(refuses: int | None, sms: list[int | None]) -> None:
    library: Any = Driver(refuses)
    found = gpus._devices(library)
    assert [gpu.sm_count for gpu in found] == sms
    last = Gpu(1, "NVIDIA A100-SXM4-80GB", "8.0", f"GPU-{uuid.UUID(int=2)}", sms[1])
    assert found[1] == last


def test_a_device_that_does_not_answer_is_not_there() -> None:
    library: Any = Driver(75)
    assert gpus._devices(library) == ()
