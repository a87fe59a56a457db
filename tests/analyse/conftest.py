"""Recordings as records, read once a session; the H200 of the device table."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from mla_var3.core.device import Device, load_devices
from mla_var3.core.record import Profile
from mla_var3.measure.ncu_reader import read_report


@pytest.fixture(scope="session")
def recorded(recording: Callable[[str], Path]) -> Callable[[str], Profile]:
    """`recorded("zoo_a")` is the record of zoo_a.ncu-rep."""
    return cache(lambda name: read_report(recording(name)))


@pytest.fixture(scope="session")
def h200() -> Device:
    """The device that the recordings were made on, from the device table."""
    device = load_devices(None).find("NVIDIA H200")
    assert device is not None
    return device
