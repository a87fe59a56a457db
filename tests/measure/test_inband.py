"""Cycles counted in band: the notes by hand, the order of the launches, and what may be missing."""

import ctypes
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mla_var3.measure.inband import ENTRY, PTX, InBandClock, NoCounter, find_in_band, mhz_of

torch = pytest.importorskip("torch", reason="torch is not installed here")
pytestmark = pytest.mark.kernel
SMS = 4


def slots(*samples: list[tuple[int, int, int, int] | None]) -> Any:
    """Notes: a sample is one (cycles, ns, cycles, ns) an SM, None where the SM was not there."""
    found = torch.zeros((2 * len(samples), SMS, 2), dtype=torch.int64)
    for at, sample in enumerate(samples):
        for sm, note in enumerate(sample):
            if note is not None:
                found[2 * at, sm] = torch.tensor(note[:2])
                found[2 * at + 1, sm] = torch.tensor(note[2:])
    return found


def test_the_clock_is_cycles_over_time_of_each_sm_with_itself() -> None:
    """1.392 cycles a ns on SMs whose counters began at other times; one ran at 1.5."""
    base = 1 << 40
    sample = [
        (base, 1_000_000, base + 1_392_000, 2_000_000),
        (77, 1_000_032, 77 + 1_392_000, 2_000_032),
        (5, 1_000_000, 5 + 1_500_000, 2_000_000),
        (9, 1_000_000, 9 + 1_392_000, 2_000_000),
    ]
    assert mhz_of(torch, slots(sample)) == [pytest.approx(1392.0)]


def test_an_sm_that_noted_once_counts_for_nothing() -> None:
    alone = (100, 1000, 100 + 2_784_000, 2_001_000)
    half = (500, 1000, 0, 0)
    late = (0, 0, 900, 2_001_000)
    found = mhz_of(torch, slots([alone, half, late, None], [half, late, None, None]))
    assert found == [pytest.approx(1392.0), None]


def test_a_sample_of_no_time_has_no_clock() -> None:
    assert mhz_of(torch, slots([(1, 1000, 9, 1000)] * 4)) == [None]


class Driver:
    """Does what the kernel does: the clock runs at 1.4 GHz, one call a millisecond."""

    def __init__(self, faults: dict[str, int] | None = None, blind: bool = False) -> None:
        self.faults = faults or {}
        self.blind = blind
        self.launches: list[tuple[int, ...]] = []

    def cuModuleLoadData(self, module: Any, image: Any) -> int:
        assert image.value == PTX.rstrip(b"\0")
        return self.faults.get("cuModuleLoadData", 0)

    def cuModuleGetFunction(self, function: Any, module: Any, name: Any) -> int:
        assert name.value == ENTRY
        return self.faults.get("cuModuleGetFunction", 0)

    def cuLaunchKernel(self, *words: Any) -> int:
        _, *grid, shared, stream, given, extra = words
        assert (shared, stream.value, extra) == (0, 4711, None)
        out = ctypes.cast(given[0], ctypes.POINTER(ctypes.c_uint64)).contents.value
        sms = ctypes.cast(given[1], ctypes.POINTER(ctypes.c_uint32)).contents.value
        self.launches.append((*grid, sms))
        row = (ctypes.c_int64 * (2 * sms)).from_address(out)
        if not self.blind:
            for sm in range(sms):
                row[2 * sm] = 1_400_000 * len(self.launches)
                row[2 * sm + 1] = 1_000_000 * len(self.launches)
        return self.faults.get("cuLaunchKernel", 0)


class HostTorch:
    """torch whose pinned memory is any memory, and whose stream is number 4711."""

    def __init__(self) -> None:
        self.cuda = SimpleNamespace(
            current_stream=lambda: SimpleNamespace(cuda_stream=4711),
            synchronize=lambda: None,
            _sleep=lambda cycles: None,
        )

    def zeros(self, shape: Any, dtype: Any, pin_memory: bool) -> Any:
        assert pin_memory
        return torch.zeros(shape, dtype=dtype)

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)


def test_a_note_is_one_thread_an_sm_into_its_own_row() -> None:
    driver = Driver()
    clock = InBandClock(HostTorch(), SMS, driver)
    found = clock.slots(2)
    assert tuple(found.shape) == (4, SMS, 2)
    for row in range(4):
        clock.stamp(found, row)
    assert driver.launches[-1] == (SMS, 1, 1, 1, 1, 1, SMS)
    assert clock.mhz(found) == [pytest.approx(1400.0), pytest.approx(1400.0)]
    notes = found[:, 0, 1].tolist()
    assert notes == sorted(notes) and len(set(notes)) == 4


@pytest.mark.parametrize(
    ("driver", "why"),
    [
        (Driver({"cuModuleLoadData": 218}), "cuModuleLoadData failed with 218"),
        (Driver({"cuModuleGetFunction": 500}), "cuModuleGetFunction failed with 500"),
        (Driver({"cuLaunchKernel": 700}), "cuLaunchKernel failed with 700"),
        (Driver(blind=True), "no SM told its cycles and its time"),
    ],
)
def test_a_driver_that_cannot_is_told(driver: Driver, why: str) -> None:
    with pytest.raises(NoCounter, match=why):
        InBandClock(HostTorch(), SMS, driver)


def test_without_a_driver_or_sms_the_reason_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mla_var3.measure.inband._LIBRARY", "libno_such.so.1")
    assert find_in_band(HostTorch(), 132) == "no libno_such.so.1"
    assert find_in_band(HostTorch(), None) == "the number of SMs is not known"


def test_an_assembler_takes_the_code(tmp_path: Path) -> None:
    found = shutil.which("ptxas")
    if found is None:
        places = [Path(place) for place in getattr(torch, "__path__", [])]
        tools = [tool for place in places for tool in place.parent.glob("triton/**/bin/ptxas")]
        if not tools:
            pytest.skip("no ptxas here")
        found = str(tools[0])
    source = tmp_path / "stamp.ptx"
    source.write_bytes(PTX.rstrip(b"\0"))
    done = subprocess.run(
        [found, "-arch=sm_90", "-o", str(tmp_path / "stamp.cubin"), str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
