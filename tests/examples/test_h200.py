"""The profiles that are shipped: valid, readable anywhere, and of no machine but the GPU's kind."""

import re
from pathlib import Path

import pytest

from mla_var3 import load_profile
from mla_var3.core.timeline import load_timeline
from mla_var3.render.contract_grammar import parse
from mla_var3.runtime.checking import check_file
from mla_var3.runtime.reporting import make_reports

ROOT = Path(__file__).parents[2] / "examples" / "h200"
FOLDERS = sorted(folder for folder in ROOT.iterdir() if folder.is_dir())
TEXTS = {".json", ".md", ".svg", ".csv"}
MACHINE = re.compile(r"/(?:home|opt|root|tmp|work)/")


def test_every_kernel_and_both_modes_are_there() -> None:
    names = {folder.name for folder in FOLDERS}
    for mode in ("annotation", "event"):
        for kernel in ("flash_mla", "flash_attention"):
            for version in ("base", "v1"):
                assert {f"{mode}_{kernel}_{version}_s{s}" for s in (1, 16)} <= names


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_profile_is_valid_and_names_no_machine(folder: Path) -> None:
    profile = load_profile(folder)
    assert profile.environment.device == "NVIDIA H200"
    assert profile.mode == folder.name.partition("_")[0]
    cut = folder.name.startswith("annotation_torch_flash_attention")
    assert profile.status == ("PARTIAL" if cut else "OK")
    if profile.mode in ("annotation", "event"):
        assert profile.end_to_end is not None
        assert profile.end_to_end.metrics["duration"].value > 9e4
    parse((folder / "contract.md").read_text(encoding="utf-8"))
    check_file(folder / "contract.json")
    for path in folder.rglob("*"):
        if path.suffix in TEXTS:
            assert not MACHINE.search(path.read_text(encoding="utf-8")), path


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_its_reports_are_those_that_this_version_makes(folder: Path) -> None:
    for name, content in make_reports(folder).files().items():
        assert (folder / name).read_bytes() == content, name


def test_both_deep_modes_are_there() -> None:
    names = {folder.name for folder in FOLDERS}
    assert {"ncu_flash_mla_v1_s16", "nsys_demo1", "nsys_demo2", "nsys_kineto_demo2"} <= names
    assert (ROOT / "ncu_flash_mla_v1_s16" / "source" / "latent" / "annotated.md").is_file()


def test_two_streams_overlap_and_one_does_not() -> None:
    """By every pair of operations of spans.json, without the analysis."""
    for name, least, most in (("nsys_demo2", 0.9, 1.0), ("nsys_demo1", 0.0, 0.0)):
        spans = load_timeline(ROOT / name / "spans.json")
        begin = min(r.start for r in spans.ranges if spans.names[r.name].startswith("iteration"))
        done = [o for o in spans.operations if spans.calls[o.call].start >= begin]
        copies = [o for o in done if spans.shape_of(o).kind == "memcpy"]
        products = [o for o in done if "nvjet" in spans.shape_of(o).name]
        assert len(copies) == len(products) == 5
        both = sum(
            max(0, min(a.end, b.end) - max(a.start, b.start)) for a in copies for b in products
        )
        shorter = min(sum(o.end - o.start for o in copies), sum(o.end - o.start for o in products))
        assert least <= both / shorter <= most
        word = "overlapped" if least else "serialised"
        assert f"matmul + copy: {word}" in (ROOT / name / "report.md").read_text(encoding="utf-8")


def test_the_control_plans_reach_what_is_known() -> None:
    """4.27 TB/s of a copy; 690 TFLOP/s of a sustained matmul: by hand from the durations."""
    copy = load_profile(ROOT / "event_control_copy").end_to_end
    matmul = load_profile(ROOT / "event_control_matmul").end_to_end
    assert copy is not None and matmul is not None
    assert 2 * 2**29 / copy.metrics["duration"].value == pytest.approx(4270, rel=0.05)
    tflops = 2 * 8192**3 / matmul.metrics["duration"].value / 1e3
    assert tflops == pytest.approx(690, rel=0.05)
