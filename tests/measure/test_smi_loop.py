"""nvidia-smi in a loop, by a stand-in: drivers of both names, older power fields, silence."""

import threading
import time
from itertools import islice
from pathlib import Path

import pytest

from mla_var3.measure.smi_loop import SmiProbe

UUID = "GPU-1c0f0000-0000-0000-0000-000000000000"
TOOL = """#!/bin/sh
[ "$2" = "{uuid}" ] || {{ echo "No devices were found"; exit 6; }}
case "$3" in
  *{unknown}*) echo "Field \\"{unknown}\\" is not a valid field to query."; exit 2;;
esac
if [ "$5" = "-lms" ]; then
  echo $$ > "{folder}/pid"
  while :; do echo "{line}"; sleep 0.02; done
fi
echo "{line}"
"""
BITS = "Not Active, Not Active, Active, Not Active, Not Active, Not Active, Not Active, Not Active"
LINE = f"1392, 3201, 61, 698.25, 690.50, {BITS}"


def fake(folder: Path, line: str = LINE, unknown: str = "no_such_field") -> str:
    script = folder / "nvidia-smi"
    script.write_text(TOOL.format(uuid=UUID, line=line, unknown=unknown, folder=folder))
    script.chmod(0o755)
    return str(folder)


@pytest.mark.parametrize("unknown", ["no_such_field", "clocks_event_reasons"])
def test_both_names_of_the_reasons_work(tmp_path: Path, unknown: str) -> None:
    probe = SmiProbe(UUID, fake(tmp_path, unknown=unknown))
    first, second = islice(probe.readings(threading.Event()), 2)
    probe.close()
    assert (first.sm_mhz, first.memory_mhz, first.temperature_c) == (1392.0, 3201.0, 61.0)
    assert (first.power_w, first.power_average_w, first.reasons) == (698.25, 690.5, 4)
    assert second.at_ns > first.at_ns
    assert (probe.source, probe.period_ms, probe.counters_from) == ("nvidia-smi", 100, "")
    assert probe.counters() == ({}, None)


def test_a_driver_with_the_older_power_field(tmp_path: Path) -> None:
    line = f"1392, 3201, 61, 698.25, {BITS}"
    probe = SmiProbe(UUID, fake(tmp_path, line, unknown="power.draw.instant"))
    (reading,) = islice(probe.readings(threading.Event()), 1)
    probe.close()
    assert (reading.power_w, reading.power_average_w) == (698.25, None)
    assert reading.reasons == 4


def test_a_driver_that_tells_no_reasons(tmp_path: Path) -> None:
    probe = SmiProbe(UUID, fake(tmp_path, "1392, 3201, 61, 698.25, 690.50", unknown="_reasons."))
    (reading,) = islice(probe.readings(threading.Event()), 1)
    probe.close()
    assert (reading.sm_mhz, reading.reasons) == (1392.0, None)


@pytest.mark.parametrize("word", ["[N/A]", "Requested functionality has been deprecated"])
def test_what_is_not_told_is_missing_and_never_zero(tmp_path: Path, word: str) -> None:
    line = ", ".join(["1392", word, "61", word, word, *[word] * 8])
    probe = SmiProbe(UUID, fake(tmp_path, line))
    (reading,) = islice(probe.readings(threading.Event()), 1)
    probe.close()
    assert (reading.sm_mhz, reading.memory_mhz, reading.power_w) == (1392.0, None, None)
    assert reading.reasons is None


def test_without_the_tool_or_the_device_it_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="no nvidia-smi on PATH"):
        SmiProbe(UUID, str(tmp_path))
    with pytest.raises(OSError, match="No devices were found"):
        SmiProbe("GPU-other", fake(tmp_path))


def test_it_can_be_paused_and_ends_with_the_run(tmp_path: Path) -> None:
    probe = SmiProbe(UUID, fake(tmp_path))
    readings = probe.readings(threading.Event())
    next(readings)
    pid = int((tmp_path / "pid").read_text())
    probe.pause(True)
    state = Path(f"/proc/{pid}/stat")
    end = time.monotonic() + 5
    while state.read_text().rpartition(")")[2].split()[0] != "T" and time.monotonic() < end:
        time.sleep(0.01)
    assert state.read_text().rpartition(")")[2].split()[0] == "T"  # stopped
    probe.pause(False)
    probe.close()
    assert not state.exists()
