"""docs/devices: the committed tables are what scripts/gen-device-docs makes of the table."""

import importlib.util
import re
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest

from mla_var3.core.device import load_devices

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "gen-device-docs"
PAGES = sorted((ROOT / "docs" / "devices").glob("*.md"))


@pytest.fixture(scope="module")
def script() -> ModuleType:
    loader = SourceFileLoader("gen_device_docs", str(SCRIPT))
    spec = importlib.util.spec_from_loader("gen_device_docs", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
    loader.exec_module(module)
    sys.dont_write_bytecode = before
    return module


def test_the_four_pages_exist() -> None:
    assert [page.name for page in PAGES] == ["b200.md", "h100.md", "h200.md", "rtx-5090.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_a_page_is_current(script: ModuleType, page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert script.rewritten(text, load_devices()) == text, "run scripts/gen-device-docs"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_the_divisions_shown_are_right(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    shown = re.findall(r"1000 × ([\d.]+) / ([\d.]+) = \*\*([\d.]+)\*\* \| ([\d.]+)", text)
    assert len(shown) >= 7
    for tflops, gbps, ridge, tflop_per_gb in shown:
        assert float(ridge) == pytest.approx(1000 * float(tflops) / float(gbps), abs=0.051)
        assert float(tflop_per_gb) == pytest.approx(float(tflops) / float(gbps), abs=5.1e-5)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_a_page_says_how_to_read_the_device(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for needed in ("**dense**", "FLOP/byte", "TFLOP per GB", "Clocks and power", "## Traps"):
        assert needed in text
    assert "mma.sync" in text and "## Sources" in text and "https://" in text
    assert all(
        len(line) <= 100 for line in text.splitlines() if not line.startswith(("|", "-", "<"))
    )


def test_a_changed_figure_shows_up_as_stale(script: ModuleType) -> None:
    page = ROOT / "docs" / "devices" / "h200.md"
    text = page.read_text(encoding="utf-8").replace("| 989.5 |", "| 1979 |")
    assert script.rewritten(text, load_devices()) != text


def test_an_unknown_product_in_a_marker_is_an_error(script: ModuleType) -> None:
    with pytest.raises(KeyError, match="NVIDIA H300"):
        script.rewritten("<!-- table peaks: NVIDIA H300 -->\n<!-- /table -->", load_devices())


def test_check_says_nothing_and_passes_when_all_is_current() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
