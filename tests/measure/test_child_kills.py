"""`kill -9` of the command, its guard or its child at any moment leaves no orphan and no lock."""

import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.measure.test_child import processes_of, wait_until_gone

from mla_var3.measure import child_guard
from mla_var3.measure.gpu_lock import gpu_lock, holder
from mla_var3.runtime.leftovers import PARTIAL, sweep

UUID = "GPU-killed"
ROUNDS, FULL_ROUNDS = 20, 100
LANES = 4
"""Rounds that run at the same time: most of a round is waiting."""
LASTS_S = 0.35
NAMES = ("parent", "guard", "child", "grandchild")
PARENT = """
import sys, time
from pathlib import Path
from mla_var3.measure.child import run_child
from mla_var3.measure.gpu_lock import gpu_lock
from mla_var3.runtime.store import new_folder

folder, locks, marker, lasts = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4]
child = "import os, sys, time; os.spawnlp(os.P_NOWAIT, 'sleep', 'sleep', sys.argv[1]);" \\
        " print('busy', flush=True); time.sleep(float(sys.argv[2]))"
print("ready", flush=True)
with new_folder(folder) as pending, gpu_lock("GPU-killed", folder=locks):
    (pending.work / "timing.json").write_text("{}")
    result = run_child([sys.executable, "-I", "-S", "-c", child, marker, lasts], env={}, cwd=None,
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
    return FULL_ROUNDS if request.config.getoption("--full") else ROUNDS


@pytest.mark.slow
def test_random_kills_leave_nothing(tmp_path: Path, rounds: int) -> None:
    ours = f"74.{os.getpid()}"  # seconds to sleep; another run of this test has its own
    moments = random.Random(20261201)
    # From before the child is there to after its end.
    waits = [moments.uniform(0.0, LASTS_S + 0.25) for _ in range(rounds)]
    lanes = [range(lane, rounds, LANES) for lane in range(LANES)]
    with ThreadPoolExecutor(LANES) as pool:
        done = pool.map(lambda lane: [kill_one(tmp_path, n, waits[n], ours) for n in lane], lanes)
        hit = [word for lane in done for word in lane]
    assert len(hit) == rounds
    assert rounds - hit.count("none") > rounds // 2
    assert {"parent", "guard", "child"} <= set(hit)
    profiles = tmp_path / "profiles"
    sweep(profiles)
    for folder in profiles.iterdir():
        files = {path.name for path in folder.iterdir()}
        if folder.name.startswith(PARTIAL):  # what it had measured; nothing yet where it is young
            assert not files or {"timing.json"} <= files <= {"timing.json", "worker.log"}
        else:
            assert files == {"timing.json", "worker.log", "profile.json"}
    assert processes_of(ours) == []


def kill_one(place: Path, number: int, wait_s: float, ours: str) -> str:
    """Kill one process of a run after `wait_s`, and look at what is left; which one it was."""
    wanted, locks = place / "profiles" / f"p{number}", place / f"locks{number % LANES}"
    marker = f"{ours}{number:03d}"
    words = [sys.executable, "-c", PARENT, str(wanted), str(locks), marker, str(LASTS_S)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as parent:
        assert parent.stdout is not None and parent.stdout.readline() == b"ready\n"
        time.sleep(wait_s)
        position = number // LANES % len(NAMES)
        while len(there := victims(parent.pid)) <= position and parent.poll() is None:
            time.sleep(0.005)  # a busy machine starts it late
        position = min(position, len(there) - 1)
        was = NAMES[position]
        try:
            if parent.poll() is None:
                os.kill(there[position], signal.SIGKILL)
            else:
                was = "none"
        except ProcessLookupError:
            was = "none"
        code = parent.wait(30)
    wait_until_gone(marker)
    if wanted.exists():  # nothing that mattered was killed, or the command after it was done
        assert code == 0 or (code, was) == (-signal.SIGKILL, "parent")
        assert (wanted / "profile.json").exists()
    else:
        assert code != 0
    begin = time.monotonic()
    with gpu_lock(UUID, limit_s=5, folder=locks):
        assert time.monotonic() - begin < 2
    assert holder(UUID, locks) is None
    return was
