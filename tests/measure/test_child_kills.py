"""`kill -9` of the command, its guard or its child at any moment leaves no orphan and no lock."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.measure.test_child import processes_of, wait_until_gone

from mla_var3.measure import child_guard
from mla_var3.measure.gpu_lock import gpu_lock, holder

UUID = "GPU-killed"
PARENT = """
import sys, time
from pathlib import Path
from mla_var3.measure.child import run_child
from mla_var3.measure.gpu_lock import gpu_lock
from mla_var3.runtime.store import new_folder

folder, locks, marker = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
child = "import subprocess, sys, time; subprocess.Popen(['sleep', sys.argv[1]]);" \\
        " print('busy', flush=True); time.sleep(0.6)"
with new_folder(folder) as pending, gpu_lock("GPU-killed", folder=locks):
    (pending.work / "timing.json").write_text("{}")
    result = run_child([sys.executable, "-S", "-c", child, marker], env={}, cwd=None,
                       log=pending.work / "worker.log", limit_s=30)
    if result.returncode:
        raise SystemExit(result.returncode)
    (pending.work / "profile.json").write_text("{}")
"""


def victims(parent: int) -> list[int]:
    """The command's process and all that it started."""
    table = child_guard.processes()
    found = [parent]
    for pid in found:
        found += [other for other, (mother, _) in table.items() if mother == pid]
    return found


@pytest.fixture
def rounds(request: pytest.FixtureRequest) -> int:
    return 20 if request.config.getoption("--full") else 8


@pytest.mark.slow
def test_random_kills_leave_nothing(tmp_path: Path, rounds: int) -> None:
    chance = random.Random(20261201)
    locks = tmp_path / "locks"
    ours = f"74.{os.getpid()}"  # seconds to sleep; another run of this test has its own
    hit = dict.fromkeys(("parent", "guard", "child", "grandchild", "none"), 0)
    for number in range(rounds):
        wanted = tmp_path / "profiles" / f"p{number}"
        marker = f"{ours}{number:03d}"
        words = [sys.executable, "-c", PARENT, str(wanted), str(locks), marker]
        parent = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0.05, 0.8))
        there = victims(parent.pid)
        position = min(number % 4, len(there) - 1)
        whom = there[position] if parent.poll() is None else None
        if whom is not None:
            try:
                os.kill(whom, signal.SIGKILL)
            except ProcessLookupError:
                whom = None
        hit[("parent", "guard", "child", "grandchild")[position] if whom else "none"] += 1
        code = parent.wait(20)
        wait_until_gone(marker)
        if wanted.exists():  # complete only where nothing that mattered was killed
            assert code == 0
            assert (wanted / "profile.json").exists()
        else:
            assert code != 0
        begin = time.monotonic()
        with gpu_lock(UUID, limit_s=5, folder=locks):
            assert time.monotonic() - begin < 1
        assert holder(UUID, locks) is None
    assert rounds - hit["none"] > rounds // 2
    assert hit["parent"]
    left = [path.name for path in (tmp_path / "profiles").iterdir()]
    assert all(name.startswith((".incomplete-", "p")) for name in left)
    assert processes_of(ours) == []
