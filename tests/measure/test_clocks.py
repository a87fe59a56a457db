"""The clocks as told by stand-ins for nvidia-smi: drivers of both names, and silent ones."""

import time
from pathlib import Path

import pytest

from mla_var3.measure.clocks import (
    driver_version,
    locked_to_mhz,
    other_processes,
    power_limit_w,
    read_clocks,
    run_tool,
)

UUID = "GPU-1c0f0000-0000-0000-0000-000000000000"
TOOL = """#!/bin/sh
# A driver that knows the reasons as {family}_reasons.*
[ "$2" = "{uuid}" ] || {{ echo "No devices were found"; exit 6; }}
case "$3" in
  --query-gpu=driver_version) echo "580.159.03";;
  --query-gpu=clocks.sm,*) echo "{figures}";;
  --query-gpu={family}_reasons.*) echo "{reasons}";;
  --query-gpu=*) echo "Field \\"$3\\" is not a valid field to query."; exit 2;;
  --query-compute-apps=*) printf "{apps}";;
esac
"""


def fake(folder: Path, **words: str) -> str:
    """A search path with such a nvidia-smi."""
    defaults = {
        "uuid": UUID,
        "family": "clocks_event",
        "figures": "1620, 3201, 1980, 61, 698.21",
        "reasons": "Active, Not Active, Not Active, Not Active, Not Active, Not Active",
        "apps": "",
    }
    script = folder / "nvidia-smi"
    script.write_text(TOOL.format(**defaults | words))
    script.chmod(0o755)
    return str(folder)


@pytest.mark.parametrize("family", ["clocks_event", "clocks_throttle"])
def test_both_names_of_the_reasons_work(tmp_path: Path, family: str) -> None:
    clock = read_clocks(UUID, fake(tmp_path, family=family))
    assert (clock.sm_mhz, clock.memory_mhz, clock.max_sm_mhz) == (1620.0, 3201.0, 1980.0)
    assert (clock.temperature_c, clock.power_w) == (61.0, 698.21)
    assert clock.reasons == ("sw power cap",)
    assert clock.locked is False
    assert clock.missing == {}


def test_locked_clocks_are_told(tmp_path: Path) -> None:
    reasons = ", ".join(["Not Active"] * 5 + ["Active"])
    clock = read_clocks(UUID, fake(tmp_path, reasons=reasons))
    assert clock.locked is True
    assert clock.reasons == ("application clocks",)


@pytest.mark.parametrize(
    "word", ["[N/A]", "[Not Supported]", "Requested functionality has been deprecated"]
)
def test_what_is_not_told_is_missing_and_never_zero(tmp_path: Path, word: str) -> None:
    path = fake(tmp_path, figures=f"1620, 3201, {word}, 61, {word}", reasons=", ".join([word] * 6))
    clock = read_clocks(UUID, path)
    assert clock.sm_mhz == 1620.0
    assert clock.power_w is None and clock.max_sm_mhz is None
    assert clock.locked is None and clock.reasons == ()
    assert set(clock.missing) == {"power_w", "max_sm_mhz", "reasons"}
    assert word in clock.missing["power_w"]


def test_a_driver_that_knows_neither_family(tmp_path: Path) -> None:
    clock = read_clocks(UUID, fake(tmp_path, family="clocks_future"))
    assert clock.sm_mhz == 1620.0
    assert clock.locked is None
    assert "no field of this driver" in clock.missing["reasons"]


def test_without_the_tool_or_the_device_the_clock_is_missing(tmp_path: Path) -> None:
    assert read_clocks(UUID, str(tmp_path)).missing == {"clock": "no nvidia-smi on PATH"}
    path = fake(tmp_path)
    assert read_clocks("GPU-other", path).missing == {"clock": "nvidia-smi: No devices were found"}
    assert "UUID" in read_clocks("", path).missing["clock"]


def test_an_answer_of_another_form_is_no_figure(tmp_path: Path) -> None:
    clock = read_clocks(UUID, fake(tmp_path, figures="1620, 3201"))
    assert clock.sm_mhz is None
    assert clock.missing == {"clock": "nvidia-smi: 1620, 3201"}


@pytest.mark.parametrize(
    ("apps", "count"),
    [("", 0), ("4711\\n4712\\n", 2), ("[Insufficient Permissions]\\n", 1), ("odd words\\n", None)],
)
def test_processes_on_the_device_are_counted(tmp_path: Path, apps: str, count: int | None) -> None:
    assert other_processes(UUID, fake(tmp_path, apps=apps)) == count


def test_a_tool_that_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mla_var3.measure.clocks.LIMIT_S", 0.3)
    begin = time.monotonic()
    assert run_tool(["sleep", "20"]) == (124, "no answer in 0 s")
    assert time.monotonic() - begin < 10


def test_the_driver_is_named(tmp_path: Path) -> None:
    assert driver_version(UUID, fake(tmp_path)) == "580.159.03"
    assert driver_version(UUID, "/nowhere") is None
    assert other_processes(UUID, "/nowhere") is None


def test_what_our_script_locked_the_clock_to_is_known(tmp_path: Path) -> None:
    note = tmp_path / "mla_var3" / "gpu-clock" / UUID
    note.parent.mkdir(parents=True)
    assert locked_to_mhz(UUID, tmp_path) is None
    for text, mhz in (
        ("persistence=Disabled\nclock=1305\n", 1305.0),
        ("persistence=Disabled\n", None),
        ("clock=fast\n", None),
    ):
        note.write_text(text)
        assert locked_to_mhz(UUID, tmp_path) == mhz
    assert locked_to_mhz("", tmp_path) is None


@pytest.mark.parametrize(("answer", "watt"), [("700.00", 700.0), ("[N/A]", None)])
def test_the_power_limit_is_asked_for(answer: str, watt: float | None, tmp_path: Path) -> None:
    def run(command: list[str]) -> tuple[int, str]:
        assert "--query-gpu=enforced.power.limit" in command and UUID in command
        return 0, f"{answer}\n"

    assert power_limit_w(UUID, fake(tmp_path), run) == watt
    assert power_limit_w(UUID, "/nowhere") is None
