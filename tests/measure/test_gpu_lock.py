"""One profiling at a time on a device: waiting names the holder, and nothing stale blocks."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import msgspec
import pytest

from mla_var3.core.errors import MachineCannot, OutOfTime
from mla_var3.measure import gpu_lock as gpu_lock_file
from mla_var3.measure.gpu_lock import CPU, Holder, gpu_lock, holder, lock_folder

UUID = "GPU-1c0f0000-0000-0000-0000-000000000000"
HOLD = """
import sys, time
from pathlib import Path
from mla_var3.measure.gpu_lock import gpu_lock
sys.argv = ["mla", "run", "flash_mla"]
with gpu_lock({uuid!r}, folder=Path({folder!r})):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def other(tmp_path: Path):  # type: ignore[no-untyped-def]
    """Another process that holds the lock until its input is closed."""
    code = HOLD.format(uuid=UUID, folder=str(tmp_path))
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None and process.stdin is not None
    assert process.stdout.readline() == b"held\n"
    yield process
    process.stdin.close()
    process.wait(10)
    process.stdout.close()


def test_who_waits_is_told_who_holds_it(tmp_path: Path, other) -> None:  # type: ignore[no-untyped-def]
    told: list[str] = []
    with pytest.raises(OutOfTime) as error:
        with gpu_lock(UUID, told.append, limit_s=0.3, folder=tmp_path):
            pass
    assert error.value.exit_code == 7
    assert len(told) == 1
    assert told[0].startswith(
        f"waiting for {UUID}: held by process {other.pid} (mla run flash_mla)"
    )
    found = holder(UUID, tmp_path)
    assert found is not None and found.pid == other.pid


def test_a_module_that_was_run_is_named_as_it_was_typed(tmp_path: Path) -> None:
    (tmp_path / "tool").mkdir()
    (tmp_path / "tool" / "__main__.py").write_text(
        "from pathlib import Path\n"
        "from mla_var3.measure.gpu_lock import gpu_lock, holder\n"
        "with gpu_lock('GPU-1', folder=Path('locks')):\n"
        "    print(holder('GPU-1', Path('locks')).command)\n"
    )
    words = [sys.executable, "-m", "tool", "flash_mla", "--b=1"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "python -m tool flash_mla --b=1\n"


def test_the_lock_comes_free_with_the_holders_end(tmp_path: Path, other) -> None:  # type: ignore[no-untyped-def]
    threading.Timer(0.3, other.stdin.close).start()
    told: list[str] = []
    with gpu_lock(UUID, told.append, limit_s=10, folder=tmp_path):
        found = holder(UUID, tmp_path)
        assert found is not None and found.pid == os.getpid()
    assert told
    assert holder(UUID, tmp_path) is None


def test_a_killed_holder_leaves_a_note_that_is_stale_and_no_lock(tmp_path: Path, other) -> None:  # type: ignore[no-untyped-def]
    other.kill()
    other.wait(10)
    assert (tmp_path / f"{UUID}.json").exists()
    assert holder(UUID, tmp_path) is None
    told: list[str] = []
    with gpu_lock(UUID, told.append, limit_s=1, folder=tmp_path):
        pass
    assert told == []


def test_a_number_that_went_to_another_process_is_stale(tmp_path: Path) -> None:
    old = Holder(os.getpid(), "1", "mla run x", "2026-12-01T10:15:02+00:00")
    assert not old.is_alive
    (tmp_path / f"{UUID}.json").write_bytes(msgspec.json.encode(old))
    assert holder(UUID, tmp_path) is None
    assert old.words == f"process {os.getpid()} (mla run x) since 10:15:02 UTC"


def test_when_a_process_began_is_the_kernels_clock() -> None:
    """Ticks since the system started, whose time stands in /proc/stat."""
    with subprocess.Popen(["sleep", "20"]) as process:
        try:
            now, began = time.time(), gpu_lock_file._began(process.pid)
        finally:
            process.kill()
    words = Path("/proc/stat").read_text(encoding="ascii").split()
    booted = int(words[words.index("btime") + 1])
    assert booted + int(began or 0) / os.sysconf("SC_CLK_TCK") == pytest.approx(now, abs=3)
    assert gpu_lock_file._began(process.pid) is None


def test_each_device_has_its_own_lock(tmp_path: Path, other) -> None:  # type: ignore[no-untyped-def]
    with gpu_lock(CPU, limit_s=0.1, folder=tmp_path), gpu_lock("GPU-2", folder=tmp_path):
        assert (tmp_path / "cpu.lock").exists()


def test_a_damaged_note_blocks_nothing(tmp_path: Path) -> None:
    (tmp_path / f"{UUID}.json").write_bytes(b"\x00{")
    with gpu_lock(UUID, limit_s=1, folder=tmp_path):
        pass


def test_a_note_that_cannot_be_written_leaves_the_lock_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, content: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with gpu_lock(UUID, folder=tmp_path):
        told: list[str] = []
        with pytest.raises(OutOfTime), gpu_lock(UUID, told.append, limit_s=0.1, folder=tmp_path):
            pass
        assert told == [f"waiting for {UUID}: another profiling holds it"]
    with gpu_lock(UUID, limit_s=0.1, folder=tmp_path):
        pass


RACE = """
import os, sys, time
from pathlib import Path
from mla_var3.measure.gpu_lock import gpu_lock
folder = Path(sys.argv[1])
for _ in range(10):
    with gpu_lock("GPU-race", folder=folder):
        os.close(os.open(folder / "inside", os.O_CREAT | os.O_EXCL))  # fails where two are inside
        time.sleep(0.002)
        (folder / "inside").unlink()
"""


def test_of_several_that_race_one_is_inside_at_a_time(tmp_path: Path) -> None:
    racers = [
        subprocess.Popen([sys.executable, "-c", RACE, str(tmp_path)], stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    for racer in racers:
        _, errors = racer.communicate(timeout=60)
        assert (racer.returncode, errors) == (0, b"")
    assert holder("GPU-race", tmp_path) is None


def test_an_error_inside_gives_the_lock_back(tmp_path: Path) -> None:
    with pytest.raises(ValueError), gpu_lock(UUID, folder=tmp_path):
        raise ValueError
    with gpu_lock(UUID, limit_s=0.1, folder=tmp_path):
        pass


def test_where_locks_lie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert lock_folder() == tmp_path / "mla_var3" / "locks"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/me")
    assert lock_folder() == Path("/home/me/.cache/mla_var3/locks")


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "locks").write_text("a file")
    with pytest.raises(MachineCannot, match="XDG_CACHE_HOME"):
        with gpu_lock(UUID, folder=tmp_path / "locks"):
            pass
