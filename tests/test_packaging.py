"""What an installation brings with it, and what the generated documents say."""

import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path

from mla_var3.conf import table
from mla_var3.render.metrics_reference import render_metrics_reference

ROOT = Path(__file__).parent.parent
CORE = {
    "docstring-parser",
    "filelock",
    "jinja2",
    "markdown-it-py",
    "markupsafe",
    "mdurl",
    "mla-var3",
    "msgspec",
    "ncu-report",
    "pygments",
    "rich",
    "typeguard",
    "typing-extensions",
    "tyro",
}
"""The packages of a core installation: 13 and the package itself."""


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _closure(name: str, known: set[str]) -> set[str]:
    """A package and all it needs without extras, on this machine."""
    if _normal(name) in known:
        return known
    known.add(_normal(name))
    for text in importlib.metadata.requires(name) or []:
        needed, _, marker = text.partition(";")
        if "extra ==" in marker or not _applies(marker):
            continue
        _closure(re.split(r"[\s\[<>=!~(]", needed.strip())[0], known)
    return known


def _applies(marker: str) -> bool:
    """Whether an environment marker holds here; `packaging` comes with pytest."""
    from packaging.markers import Marker

    return not marker.strip() or Marker(marker).evaluate()


def test_a_core_installation_is_14_packages_at_most() -> None:
    found = _closure("mla_var3", set())
    assert found <= CORE, found - CORE
    assert len(CORE) <= 14


def test_torch_comes_with_the_extras_of_kernels_only() -> None:
    needs = importlib.metadata.requires("mla_var3") or []
    heavy = [text for text in needs if re.match(r"(torch|triton|cuda)", text)]
    extras = {found for text in heavy for found in re.findall(r"extra == '(\w+)'", text)}
    assert extras == {"torch", "cutile", "triton"}
    assert all("extra ==" in text for text in heavy)


def test_the_metric_reference_is_current() -> None:
    text = (ROOT / "docs" / "references" / "metrics.md").read_text(encoding="utf-8")
    assert text == render_metrics_reference(table("metrics")), "run: make docs"


def test_the_metric_reference_holds_the_spec_tables() -> None:
    lines = (ROOT / "docs" / "references" / "metrics.md").read_text("utf-8").splitlines()
    for row in (
        "| TC Util | >60% | Memory or latency bound | Check DRAM%, occupancy |",
        "| DRAM Throughput | >70% | Compute or latency bound | Check TC%, occupancy |",
        "| Achieved Occupancy | >25% | Register/smem pressure | Reduce tile size, occupancy hint |",
        "| L2 Hit Rate | >80% | Poor data reuse | Swizzle, larger tiles, data layout |",
        "| Local Spilling | 0 bytes | Register overflow | Smaller tiles, fewer accumulators |",
        "| Waves/SM | >1.0 | Underfilled GPU | More blocks, reduce per-block resources |",
        "| DRAM% high + TC% low | Memory-bound | Data reuse, TMA hints, head grouping |",
        "| TC% high + DRAM% low | Compute-bound | Kernel efficiency, tile sizes |",
        "| Both low | Latency-bound | Occupancy, reduce spilling, more blocks |",
        "| L2 hit < 80% | Locality issue | Swizzle scheduling, tile size adjustment |",
    ):
        assert row in lines


def test_every_fact_is_in_the_metric_reference() -> None:
    text = (ROOT / "docs" / "references" / "metrics.md").read_text(encoding="utf-8")
    for fact in table("metrics")["facts"]:
        assert f"| `{fact['key']}` | {fact['label']}" in text


def test_the_pure_layers_import_without_the_others() -> None:
    blocked = ["torch", "triton", "ncu_report", "rich", "tyro"]
    blocked += [f"mla_var3.{layer}" for layer in ("measure", "kernel", "runtime", "cli")]
    code = (
        f"import sys, pkgutil, importlib\n"
        f"sys.modules.update(dict.fromkeys({blocked!r}))\n"
        "import mla_var3.analyse, mla_var3.render\n"
        "for package in (mla_var3.analyse, mla_var3.render):\n"
        "    for module in pkgutil.iter_modules(package.__path__, package.__name__ + '.'):\n"
        "        importlib.import_module(module.name); print(module.name)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert {"mla_var3.analyse.diagnose", "mla_var3.render.screen"} <= set(done.stdout.split())
