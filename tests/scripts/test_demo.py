"""`scripts/demo` with a stand-in for mla: what it runs the first time, and what later."""

import shutil
import subprocess
from pathlib import Path

import pytest

DEMO = Path(__file__).parent.parent.parent / "scripts" / "demo"
STORED = "out/profiles/annotation/flash_mla/b1_s4_t1024_h8_d128_k512_p64_bf16"
PROFILE = "run flash_mla --language=torch --b=1 --h=8 --s=4 --t=1024 --device=cpu"
MLA = f"""#!/bin/sh
echo "$*" >> calls.txt
case "$*" in
  "{PROFILE}") mkdir -p {STORED}/20260101-120000; cd {STORED}/20260101-120000
    echo '{{}}' > profile.json; echo '{{}}' > operators.json ;;
  report*) [ ! -e damaged ] ;;
esac
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for folder in ("scripts", "examples", ".venv/bin"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(DEMO, tmp_path / "scripts" / "demo")
    (tmp_path / "examples" / "a.ncu-rep.xz").write_bytes(b"")
    tool = tmp_path / ".venv" / "bin" / "mla"
    tool.write_text(MLA)
    tool.chmod(0o755)
    (tmp_path / ".venv" / ".with-kernels").touch()
    return tmp_path


def demo(checkout: Path) -> tuple[str, list[str]]:
    """What it prints, and what it runs."""
    calls = checkout / "calls.txt"
    calls.unlink(missing_ok=True)
    done = subprocess.run([checkout / "scripts" / "demo"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout, calls.read_text().splitlines()


def test_a_cpu_is_profiled_once_and_shown_from_then_on(checkout: Path) -> None:
    text, calls = demo(checkout)
    assert calls[-1] == PROFILE  # last: nothing else of the demo uses the CPU then
    assert "This times a plan on this CPU, for half a minute." in text
    text, calls = demo(checkout)
    assert calls[-1] == f"report {STORED}/20260101-120000"
    assert PROFILE not in calls
    assert "Stored by an earlier run, 20260101-120000 UTC: nothing is measured now." in text
    assert f".venv/bin/mla {PROFILE}" in text
    later = checkout / STORED / "20260301-080000"
    shutil.copytree(checkout / STORED / "20260101-120000", later)
    assert demo(checkout)[1][-1] == f"report {STORED}/20260301-080000"


def test_a_profile_that_is_not_of_a_cpu_or_damaged_is_not_taken_for_it(checkout: Path) -> None:
    of_gpu = checkout / STORED / "20260101-120000"
    of_gpu.mkdir(parents=True)
    (of_gpu / "profile.json").write_text("{}")
    assert demo(checkout)[1][-1] == PROFILE
    (checkout / "damaged").touch()
    assert demo(checkout)[1][-2:] == [f"report {STORED}/20260101-120000", PROFILE]


def test_without_torch_it_says_so_and_profiles_nothing(checkout: Path) -> None:
    (checkout / ".venv" / ".with-kernels").unlink()
    text, calls = demo(checkout)
    assert "Kernels are left out: torch and cuda.tile are not installed" in text
    assert [call.split()[0] for call in calls] == ["diagnose", "diagnose"]
    assert "one Profiler Output Contract." in text and "the profile of a plan" not in text
