"""Imports go down only, and the analysis and the reports run without anything that measures."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

BLOCKED = """
import sys
from importlib.abc import MetaPathFinder

REFUSED = ("torch", "triton", "cuda", "ncu_report", "mla_var3.measure", "mla_var3.kernel",
           "mla_var3.runtime", "mla_var3.cli")

class Refuse(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if any(name == word or name.startswith(word + ".") for word in REFUSED):
            raise ImportError(f"{name} must not be imported here")
        return None

sys.meta_path.insert(0, Refuse())
"""

IMPORT_ALL = """
import importlib, pkgutil
import mla_var3.analyse, mla_var3.render

count = 0
for package in (mla_var3.analyse, mla_var3.render):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)
        count += 1
print(count)
"""

DIAGNOSE = """
from mla_var3.analyse.diagnose import diagnose
from mla_var3.core.record import Metric, Profile, Stage

metrics = {k: Metric(v, "%", "ncu", k) for k, v in {"tensor": 91.0, "dram": 20.0}.items()}
metrics["duration"] = Metric(2e5, "ns", "ncu", "duration")
stage = Stage(name="k", kernel="k()", launch=0, metrics=metrics)
print(diagnose(Profile(mode="ncu", status="OK", stages=(stage,)), None).bound)
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT
    )


def test_analyse_and_render_import_with_all_measuring_blocked() -> None:
    done = run(BLOCKED + IMPORT_ALL)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 20


def test_a_record_is_diagnosed_with_all_measuring_blocked() -> None:
    done = run(BLOCKED + DIAGNOSE)
    assert (done.returncode, done.stdout.strip()) == (0, "Compute"), done.stderr


def test_the_block_works() -> None:
    done = run(BLOCKED + "import mla_var3.measure.ncu_reader")
    assert done.returncode != 0
    assert "must not be imported here" in done.stderr


def test_the_contracts_between_layers_hold() -> None:
    command = Path(sys.executable).with_name("lint-imports")
    if not command.exists():
        pytest.skip("import-linter is not installed")
    done = subprocess.run(
        [str(command), "--no-cache"], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stdout
    assert "0 broken" in done.stdout


def test_analyse_reads_no_world() -> None:
    forbidden = (
        "open(",
        "print(",
        "os.environ",
        ".now(",
        "time.time",
        " Path(",
        "(Path(",
        "subprocess",
    )
    for path in (ROOT / "src" / "mla_var3" / "analyse").glob("*.py"):
        text = path.read_text()
        assert not [word for word in forbidden if word in text], path.name
