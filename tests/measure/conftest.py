"""Recordings read once, and their copies for editing."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support import fake_report
from tests.support.fake_report import FakeLaunch

from mla_var3.core.record import Profile
from mla_var3.measure.ncu_reader import read_report

NAMES = ("zoo_a", "attention_full", "cutile_mla")


@pytest.fixture(scope="session")
def profile(recording: Callable[[str], Path]) -> Callable[[str], Profile]:
    """`profile("zoo_a")` is the record of that recording, read once."""
    read: dict[str, Profile] = {}

    def of(name: str) -> Profile:
        if name not in read:
            read[name] = read_report(recording(name))
        return read[name]

    return of


@pytest.fixture(scope="session")
def copies(recording: Callable[[str], Path]) -> Callable[[str], list[FakeLaunch]]:
    """`copies("zoo_a")` are its launches as fakes; edit only what `.edited()` returns."""
    copied: dict[str, list[FakeLaunch]] = {}

    def of(name: str) -> list[FakeLaunch]:
        if name not in copied:
            copied[name] = fake_report.copy_of(recording(name))
        return copied[name]

    return of
