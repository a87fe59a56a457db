"""The clock scripts against a fake nvidia-smi: what they call in which order, say, and put back."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.conftest import ROOT
from tests.scripts.fake_smi import H200, SECOND, Machine, gpu

DENIED = (
    "The current user does not have permission to change clocks for GPU 00000000:19:00.0.\n"
    "Terminating early due to previous errors."
)
DENIED_PM = "Unable to set persistence mode for GPU 00000000:19:00.0: Insufficient Permissions"
NOT_SUPPORTED = (
    "Setting locked GPU clocks is not supported for GPU 00000000:19:00.0.\n"
    "Treating as warning and moving on.\nAll done."
)
DEPRECATED = "Requested functionality has been deprecated"
UNDONE = ["-pm 1", "-lgc 1395,1395", "-rgc", "-pm 0"]
QUERY = "--query-gpu="


def one_line(text: str) -> bool:
    return text.count("\n") == 1 and text.endswith("\n")


def test_lock_and_reset_in_order(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    done = machine.run("lock")
    assert (done.code, done.err) == (0, "")
    assert done.changes == ["-pm 1", "-lgc 1395,1395"]
    calls = machine.calls()
    assert calls[-1] == f"-i {H200} --query-gpu=clocks.sm --format=csv,noheader,nounits"
    assert calls.index(f"-i {H200} -pm 1") > calls.index(
        f"-i {H200} --query-supported-clocks=gr --format=csv,noheader,nounits"
    )
    assert done.out == (
        "GPU 0, NVIDIA H200: SM clock locked at 1395 MHz (reads 1395 MHz); "
        "persistence mode turned on with it\n"
        "undo it with: bash scripts/reset-gpu-clock.sh --device=0\n"
    )
    assert machine.remembered() == [H200]
    assert machine.note(H200) == "persistence=Disabled\nclock=1395\n"
    assert machine.run("lock", "345").code == 0  # locked again: one clock is noted
    assert machine.note(H200) == "persistence=Disabled\nclock=345\n"
    done = machine.run("reset")
    assert (done.code, done.err) == (0, "")
    assert done.changes == ["-rgc", "-pm 0"]
    assert done.out == "GPU 0, NVIDIA H200: clocks reset; persistence mode off again\n"
    assert machine.remembered() == []
    # Nothing is remembered now: a second reset leaves persistence mode alone.
    assert machine.run("reset").changes == ["-rgc"]


def test_persistence_mode_that_was_on_stays_on(tmp_path: Path) -> None:
    machine = Machine(tmp_path, gpu(persistence_mode="Enabled"))
    done = machine.run("lock")
    assert (done.code, done.changes) == (0, ["-lgc 1395,1395"])
    assert "persistence mode was on\n" in done.out
    done = machine.run("reset")
    assert done.changes == ["-rgc"]
    assert "persistence mode left as it is" in done.out


def test_locking_twice_remembers_what_was_before_the_first(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.run("lock")
    done = machine.run("lock", "1380")
    assert (done.code, done.changes) == (0, ["-lgc 1380,1380"])
    assert machine.run("reset").changes == ["-rgc", "-pm 0"]


@pytest.mark.parametrize("word", ["--device=1", f"--device={SECOND}", "--device=GPU-2d1e"])
def test_a_device_by_index_or_uuid(word: str, tmp_path: Path) -> None:
    machine = Machine(tmp_path, gpu(), gpu(1, SECOND, "NVIDIA B200", steps=[1965, 1500]))
    done = machine.run("lock", word)
    assert (done.code, done.changes) == (0, ["-pm 1", "-lgc 1500,1500"])
    assert f"-i {SECOND} -lgc 1500,1500" in machine.calls()
    assert machine.remembered() == [SECOND]
    # None named: the reset takes the one that was locked.
    done = machine.run("reset")
    assert (done.code, f"-i {SECOND} -rgc" in machine.calls()) == (0, True)


@pytest.mark.parametrize("script", ["lock", "reset"])
@pytest.mark.parametrize("words", [[], ["--device=7"], ["--device=GPU-f"], ["-i", "x|0"]])
def test_several_gpus_and_none_that_fits_are_listed(
    script: str, words: list[str], tmp_path: Path
) -> None:
    done = Machine(tmp_path, gpu(), gpu(1, SECOND)).run(script, *words)
    assert (done.code, done.out, done.changes) == (2, "", [])
    assert one_line(done.err)
    assert f"there are: 0 (NVIDIA H200, {H200}), 1 (NVIDIA H200, {SECOND})\n" in done.err


def test_a_clock_that_is_no_step_takes_the_nearest_not_above(tmp_path: Path) -> None:
    done = Machine(tmp_path).run("lock", "1400")
    assert (done.code, done.changes[-1]) == (0, "-lgc 1395,1395")
    said = "1400 MHz is no supported step: 1395 MHz is the nearest one not above it"
    assert said in done.err and one_line(done.err)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["300"], "300 MHz is below the lowest step of GPU 0, 345 MHz"),
        (["fast"], "the clock is whole MHz, not 'fast'"),
        (["--clock=0"], "the clock is whole MHz, not '0'"),
        (["1395", "1400"], "cannot use '1400': one clock in MHz"),
        (["--device="], "--device needs a value"),
        (["--device"], "--device needs a value"),
        (["--wait=x"], "--wait needs whole seconds, not 'x'"),
        (["--lock"], "unknown option --lock (--help)"),
    ],
)
def test_wrong_words_change_nothing(words: list[str], line: str, tmp_path: Path) -> None:
    done = Machine(tmp_path).run("lock", *words)
    assert (done.code, done.err, done.changes) == (2, f"lock-gpu-clock.sh: {line}\n", [])


def test_a_product_without_a_lock_clock_needs_one(tmp_path: Path) -> None:
    machine = Machine(tmp_path, gpu(name="NVIDIA GeForce RTX 9999"))
    done = machine.run("lock")
    assert (done.code, done.changes) == (2, [])
    assert "devices.json has no lock clock for NVIDIA GeForce RTX 9999: give one" in done.err
    assert machine.run("lock", "1395").code == 0


def test_the_name_must_be_exact(tmp_path: Path) -> None:
    assert Machine(tmp_path, gpu(name="NVIDIA H200 NVL")).run("lock").code == 2


def test_without_python_a_typed_clock_is_enough(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    (machine.bin / "python3").unlink()
    done = machine.run("lock")
    assert (done.code, done.changes) == (3, [])
    assert "no python3 to read devices.json: give the clock in MHz" in done.err
    assert machine.run("lock", "1395").code == 0


@pytest.mark.parametrize("script", ["lock", "reset"])
def test_without_the_tool_or_a_driver_exit_3(script: str, tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    failed = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
    machine.says("--query-gpu=index", 9, failed + " Make sure\nthat it runs.")
    done = machine.run(script)
    assert (done.code, failed in done.err, one_line(done.err)) == (3, True, True)
    machine.says("--query-gpu=index", 6, "No devices were found")
    assert "No devices were found" in machine.run(script).err
    machine.says("--query-gpu=index", 0, "No devices were found")
    done = machine.run(script)
    assert (done.code, one_line(done.err)) == (3, True)
    (machine.bin / "nvidia-smi").unlink()
    done = machine.run(script)
    assert (done.code, done.err.partition(": ")[2]) == (
        3,
        "no nvidia-smi here: install the NVIDIA driver\n",
    )


@pytest.mark.parametrize("script", ["lock", "reset"])
def test_mig_is_refused(script: str, tmp_path: Path) -> None:
    machine = Machine(tmp_path, gpu(**{"mig.mode.current": "Enabled"}))
    done = machine.run(script)
    assert (done.code, done.changes) == (3, [])
    assert "GPU 0 is in MIG mode: its clocks cannot be set" in done.err
    done = machine.run(script, "--device=MIG-4711")
    assert (done.code, done.changes, one_line(done.err)) == (3, [], True)


@pytest.mark.parametrize("answer", ["[N/A]", None], ids=["not told", "field unknown"])
def test_a_gpu_without_mig_or_with_an_old_driver_can_be_locked(
    answer: str | None, tmp_path: Path
) -> None:
    fields = gpu(**{"mig.mode.current": answer})
    if answer is None:
        del fields["mig.mode.current"]
    assert Machine(tmp_path, fields).run("lock").code == 0


def test_no_permission_is_said_once_and_nothing_is_left(tmp_path: Path) -> None:
    machine = Machine(tmp_path).says("-pm", 4, DENIED_PM)
    done = machine.run("lock")
    assert (done.code, done.changes, done.out) == (3, ["-pm 1"], "")
    assert one_line(done.err) and "run as root (sudo)" in done.err and "interleaved" in done.err
    assert machine.remembered() == []


def test_a_lock_that_is_denied_takes_persistence_mode_back(tmp_path: Path) -> None:
    machine = Machine(tmp_path).says("-lgc", 4, DENIED)
    done = machine.run("lock")
    assert (done.code, done.changes) == (3, ["-pm 1", "-lgc 1395,1395", "-pm 0"])
    assert one_line(done.err) and "no permission to change the clocks of GPU 0" in done.err
    assert machine.remembered() == []


@pytest.mark.parametrize(
    ("code", "text"), [(0, NOT_SUPPORTED), (0, DEPRECATED), (3, NOT_SUPPORTED)]
)
def test_a_lock_that_is_not_supported_is_exit_3_even_where_the_tool_says_0(
    code: int, text: str, tmp_path: Path
) -> None:
    done = Machine(tmp_path).says("-lgc", code, text).run("lock")
    assert (done.code, done.changes) == (3, ["-pm 1", "-lgc 1395,1395", "-pm 0"])
    assert one_line(done.err)
    assert f"cannot be locked: {text.splitlines()[0]}\n" in done.err


def test_an_unknown_failure_of_the_lock_resets_it(tmp_path: Path) -> None:
    done = Machine(tmp_path).says("-lgc", 15, "Unknown Error").run("lock")
    assert (done.code, done.changes) == (3, UNDONE)


@pytest.mark.parametrize("text", ["[N/A]", "[Not Supported]", DEPRECATED])
def test_clocks_that_are_not_listed_cannot_be_locked(text: str, tmp_path: Path) -> None:
    done = Machine(tmp_path).says("--query-supported-clocks", 0, text).run("lock")
    assert (done.code, done.changes, one_line(done.err)) == (3, [], True)
    assert f"the driver lists no clocks for GPU 0 ({text})" in done.err


def test_persistence_mode_that_cannot_be_set_or_is_not_told_is_said(tmp_path: Path) -> None:
    machine = Machine(tmp_path).says("-pm", 0, "Setting persistence mode is not supported")
    done = machine.run("lock")
    assert (done.code, done.changes) == (0, ["-pm 1", "-lgc 1395,1395"])
    assert "persistence mode cannot be turned on: the lock ends with the last program" in done.out
    (tmp_path / "other").mkdir()
    machine = Machine(tmp_path / "other", gpu(persistence_mode="[N/A]"))
    done = machine.run("lock")
    assert (done.code, done.changes) == (0, ["-lgc 1395,1395"])
    assert "persistence mode not told by the driver" in done.out
    assert machine.run("reset").changes == ["-rgc"]


@pytest.mark.parametrize("off", [-50, 50])
def test_within_50_mhz_the_lock_holds(off: int, tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.setup["off"] = off
    done = machine.run("lock")
    assert (done.code, f"(reads {1395 + off} MHz)" in done.out) == (0, True)


REASONS = ("gpu_idle", "sw_power_cap", "hw_slowdown", "hw_thermal_slowdown", "sw_thermal_slowdown")


def held_back(family: str, *active: str) -> dict[str, str]:
    return {f"{family}.{r}": "Active" if r in active else "Not Active" for r in REASONS}


@pytest.mark.parametrize("family", ["clocks_event_reasons", "clocks_throttle_reasons"])
@pytest.mark.parametrize("off", [-51, 51, -300])
def test_a_lock_that_is_not_held_is_undone_with_the_reason(
    off: int, family: str, tmp_path: Path
) -> None:
    machine = Machine(tmp_path, gpu(**held_back(family, "sw_power_cap", "hw_slowdown")))
    machine.setup["off"] = off
    done = machine.run("lock")
    assert (done.code, done.changes, done.out) == (6, UNDONE, "")
    assert one_line(done.err)
    assert f"reads {1395 + off} MHz, not 1395 +-50 (sw power cap, hw slowdown): the" in done.err
    assert machine.remembered() == []
    assert machine.setup["gpus"][0]["persistence_mode"] == "Disabled"


@pytest.mark.parametrize("answer", ["[N/A]", DEPRECATED, None])
def test_reasons_that_are_not_told_are_not_made_up(answer: str | None, tmp_path: Path) -> None:
    fields = {} if answer is None else dict.fromkeys(held_back("clocks_event_reasons"), answer)
    machine = Machine(tmp_path, gpu(**fields))
    machine.setup["off"] = -300
    done = machine.run("lock")
    assert (done.code, done.changes) == (6, UNDONE)
    assert "(the driver does not say why)" in done.err


def test_an_idle_gpu_keeps_the_lock_and_is_told_so(tmp_path: Path) -> None:
    machine = Machine(tmp_path, gpu(**held_back("clocks_event_reasons", "gpu_idle")))
    machine.setup["off"] = -1050
    done = machine.run("lock")
    assert (done.code, done.changes) == (0, UNDONE[:2])
    assert one_line(done.err) and "idle: the SM clock reads 345 MHz and rises" in done.err


@pytest.mark.parametrize("text", ["[N/A]", DEPRECATED])
def test_a_clock_that_cannot_be_read_is_no_lock(text: str, tmp_path: Path) -> None:
    machine = Machine(tmp_path).says(f"{QUERY}clocks.sm", 0, text)
    done = machine.run("lock")
    assert (done.code, done.changes) == (3, UNDONE)
    assert "the SM clock of GPU 0 cannot be read, so the lock is undone" in done.err


def test_the_other_name_of_the_clock_is_tried(tmp_path: Path) -> None:
    machine = Machine(tmp_path, gpu(**{"clocks.current.sm": 1395}))
    machine.says(f"{QUERY}clocks.sm", 2, 'Field "clocks.sm" is not a valid field to query.')
    assert machine.run("lock").code == 0


def test_what_cannot_be_undone_is_said_and_stays_remembered(tmp_path: Path) -> None:
    machine = Machine(tmp_path).says("-rgc", 15, "Unknown Error")
    machine.setup["off"] = 300
    done = machine.run("lock")
    assert (done.code, done.changes) == (6, UNDONE[:3])
    assert done.err.splitlines()[-1] == (
        "lock-gpu-clock.sh: not undone: run bash scripts/reset-gpu-clock.sh --device=0"
    )
    assert machine.remembered() == [H200]
    done = machine.run("reset")
    assert (done.code, "the clocks of GPU 0 cannot be reset: Unknown Error" in done.err) == (
        3,
        True,
    )
    machine.says("-rgc", 4, DENIED)
    done = machine.run("reset")
    assert (done.code, "no permission to change the clocks of GPU 0" in done.err) == (3, True)
    del machine.setup["says"]["-rgc"]
    assert machine.run("reset").changes == ["-rgc", "-pm 0"]
    assert machine.remembered() == []


def test_a_failed_second_lock_forgets_nothing_of_the_first(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.run("lock")
    assert machine.run("lock", "300").code == 2
    assert machine.remembered() == [H200]
    assert machine.says("-lgc", 4, DENIED).run("lock", "1380").changes == ["-lgc 1380,1380"]
    assert machine.remembered() == [H200]


def test_where_nothing_can_be_remembered_nothing_is_changed(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.state.write_text("a file")
    done = machine.run("lock")
    assert (done.code, done.changes) == (3, [])
    assert "cannot remember how the GPU was before: set XDG_STATE_HOME" in done.err


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
@pytest.mark.parametrize("whole_group", [True, False])
def test_a_signal_resets_the_clock(
    number: signal.Signals, code: int, whole_group: bool, tmp_path: Path
) -> None:
    machine = Machine(tmp_path)
    child = machine.start("lock", "--wait=30")
    begin = time.monotonic()
    while "-lgc 1395,1395" not in machine.changes():
        assert time.monotonic() - begin < 20
        time.sleep(0.02)
    time.sleep(0.2)  # it waits for the clock now
    if whole_group:
        os.killpg(child.pid, number)  # as Ctrl-C in a terminal
    else:
        child.send_signal(number)
    done = machine.end(child)
    assert time.monotonic() - begin < 15
    assert (done.code, done.changes, done.out) == (code, UNDONE, "")
    assert machine.remembered() == []
    assert machine.setup["gpus"][0]["persistence_mode"] == "Disabled"


@pytest.mark.parametrize("script", ["lock", "reset"])
def test_help_tells_options_and_exit_codes(script: str, tmp_path: Path) -> None:
    done = Machine(tmp_path).run(script, "--help")
    assert (done.code, done.err, done.changes) == (0, "", [])
    assert done.out.startswith(f"usage: bash scripts/{script}-gpu-clock.sh [--device=INDEX|UUID]")
    assert "Exit: 0 " in done.out
    assert max(map(len, done.out.splitlines())) <= 100


def test_shellcheck_finds_nothing() -> None:
    tool = shutil.which("shellcheck")
    if tool is None:
        pytest.skip("shellcheck is not installed")
    scripts = sorted((ROOT / "scripts").glob("*gpu-clock.sh"))
    assert len(scripts) == 3
    done = subprocess.run([tool, "-x", *scripts], cwd=ROOT, capture_output=True, encoding="utf-8")
    assert (done.returncode, done.stdout) == (0, "")
