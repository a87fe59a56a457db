"""Every version compiled for sm_90 without a GPU: the wgmma path, no spills, the shared memory."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cuda.tile", reason="cuTile is not installed")

from tests.kernel.cutile.kernels import PLANS

from mla_var3.core.errors import KernelFailed, MachineCannot
from mla_var3.core.plan import CompiledStage, stages_of
from mla_var3.kernel.cutile import compile as compiling
from mla_var3.kernel.cutile import toolkit
from mla_var3.kernel.cutile.ptx import ptx_of
from mla_var3.kernel.cutile.toolkit import find_tool, missing_tool

TOOLS = ("tileiras", "cuobjdump", "nvdisasm")
pytestmark = [
    pytest.mark.kernel,
    *(
        pytest.mark.skipif(find_tool(tool) is None, reason=missing_tool(tool).partition(":")[0])
        for tool in TOOLS
    ),
]

EXPECTED: dict[tuple[str, str], dict[str, Any]] = {
    ("flash_mla", "flash_mla"): {"registers": 168, "shared": 157_232, "threads": 384},
    ("flash_mla_v1", "latent"): {"registers": 168, "shared": 222_952, "threads": 384},
    ("flash_attention", "flash_attention"): {"registers": 128, "shared": 107_648, "threads": 256},
    ("flash_attention_v1", "flash_attention"): {
        "registers": 168,
        "shared": 148_600,
        "threads": 384,
    },
}
"""With tileiras 13.4. Of 233,472 bytes of an SM: one block, one, two, one."""
ARTIFACTS = {
    "kernel.cubin", "kernel.mlir", "kernel.ptx", "kernel.sass", "kernel.tilebc", "resources.txt"
}  # fmt: skip


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Finished folders are kept beside the test, not in the project."""
    monkeypatch.setenv("MLA_COMPILE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def compiled(version: str, stage: str, folder: Path, arch: str, **sizes: Any) -> CompiledStage:
    plan = PLANS[version](**sizes)
    (kernel,) = (k for k in stages_of(plan.plan_empty()) if k.name == stage)
    assert kernel.compile_to_files is not None
    made: CompiledStage = kernel.compile_to_files(folder, arch)
    return made


def count(made: CompiledStage, start: str) -> int:
    return sum(number for opcode, number in made.opcodes.items() if opcode.startswith(start))


@pytest.mark.parametrize(("version", "stage"), EXPECTED)
@pytest.mark.parametrize(
    "sizes", [{"s": 16, "causal": True}, {"h": 3, "s": 5, "t": 77}], ids=["h128", "ragged"]
)
def test_sm_90_keeps_its_tensor_path(
    version: str, stage: str, sizes: dict[str, Any], tmp_path: Path
) -> None:
    made = compiled(version, stage, tmp_path / "out", "sm_90", **sizes)
    wanted = EXPECTED[version, stage]
    assert made.registers == wanted["registers"]
    assert made.spill_bytes == 0
    assert made.threads == wanted["threads"]
    assert made.static_shared_bytes is not None and made.dynamic_shared_bytes == 0
    assert abs(made.static_shared_bytes - wanted["shared"]) <= 64
    assert count(made, "HGMMA") > 0
    assert count(made, "HMMA") == count(made, "STL") == 0
    assert count(made, "UTMALDG") > 0 and count(made, "LDG") == 0, "loads without TMA"
    waits = count(made, "WARPGROUP.DEPBAR")
    assert 3 * waits <= 2 * count(made, "HGMMA"), "a wait after every HGMMA"
    assert set(made.files) >= ARTIFACTS and not made.missing


def test_the_artifacts_agree_with_each_other(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    made = compiled("flash_mla", "flash_mla", folder, "sm_90", s=3, t=200)
    assert (folder / "kernel.cubin").read_bytes()[:4] == b"\x7fELF"
    assert "flash_mla_Kt1" in (folder / "kernel.mlir").read_text()
    assert "REG:168 STACK:0" in (folder / "resources.txt").read_text()
    listing = (folder / "kernel.sass").read_text()
    instructions = re.findall(r"^\s+/\*[0-9a-f]{4,}\*/\s+\S.*;", listing, re.MULTILINE)
    assert sum(made.opcodes.values()) == len(instructions)
    assert count(made, "HGMMA") == listing.count("HGMMA.")
    assert made.barriers == 2  # EIATTR_NUM_BARRIERS


def test_the_ptx_is_whole(tmp_path: Path) -> None:
    """NVIDIA's own assembler makes the same number of instructions of it."""
    folder = tmp_path / "out"
    compiled("flash_mla", "flash_mla", folder, "sm_90", s=3, t=200)
    text = (folder / "kernel.ptx").read_text()
    assert text.startswith(".version ") and text.endswith("}\n")
    assert "source_section" not in text and "/" not in re.sub(r"//[^\n]*", "", text)
    ptxas = find_tool("ptxas")
    if ptxas is None:
        pytest.skip("ptxas is not installed")
    again = tmp_path / "again.cubin"
    words = [str(ptxas), "-arch=sm_90a", str(folder / "kernel.ptx"), "-o", str(again)]
    subprocess.run(words, check=True, capture_output=True)
    listings = [toolkit.run_tool("nvdisasm", "-c", str(folder / "kernel.cubin"))]
    listings.append(toolkit.run_tool("nvdisasm", "-c", str(again)))
    numbers = [len(re.findall(r"^\s+/\*[0-9a-f]{4,}\*/\s+\S", x, re.MULTILINE)) for x in listings]
    assert numbers[0] == numbers[1] > 500


def test_a_cubin_without_ptx_says_so(tmp_path: Path) -> None:
    compiled("flash_mla", "flash_mla", tmp_path, "sm_90", s=3, t=200)
    cubin = (tmp_path / "kernel.cubin").read_bytes()
    with pytest.raises(LookupError, match="keeps no PTX"):
        ptx_of(cubin.replace(b".nv_debug_ptx_txt", b".nv_other_ptx_txt"))
    with pytest.raises(LookupError, match="damaged"):
        ptx_of(cubin[:2000])
    with pytest.raises(LookupError, match="no 64-bit ELF"):
        ptx_of(b"text")


def test_remarks_name_no_directory_and_say_what_loads_by_tma(tmp_path: Path) -> None:
    made = compiled("flash_mla", "flash_mla", tmp_path / "out", "sm_90", s=2, t=300)
    if "remarks.yaml" in made.missing:
        pytest.skip(made.missing["remarks.yaml"])
    text = (tmp_path / "out" / "remarks.yaml").read_text()
    files = set(re.findall(r"File:\s*'([^']*)'", text))
    assert files and not any("/" in name for name in files)
    assert sum("TMA Load instruction" in line for line in made.remarks) >= 4
    assert sum("Tensor-core SM90" in line for line in made.remarks) >= 3


def test_splits_add_a_combine_stage_without_tensor_cores(tmp_path: Path) -> None:
    plan = PLANS["flash_mla_v1"](s=1)
    assert [kernel.name for kernel in plan.plan_empty().stages] == ["latent", "combine"]
    made = compiled("flash_mla_v1", "combine", tmp_path / "out", "sm_90", s=1)
    assert made.spill_bytes == 0 and made.registers is not None and made.registers <= 64
    assert count(made, "HGMMA") == 0
    assert [k.name for k in PLANS["flash_mla_v1"](s=2).plan_empty().stages] == ["latent"]


def test_the_same_code_is_compiled_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_cache: Path
) -> None:
    first = compiled("flash_mla", "flash_mla", tmp_path / "a", "sm_90", b=2)
    assert len(list(own_cache.iterdir())) == 1
    monkeypatch.setattr(compiling, "_compile", None)
    again = compiled("flash_mla", "flash_mla", tmp_path / "b", "sm_90", b=2)
    assert again == first
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "b").iterdir())
    with pytest.raises(TypeError):  # another number of warps is other code
        tiling = type(PLANS["flash_mla"].TILINGS["flash_mla"])(num_worker_warps=4)
        plan = PLANS["flash_mla"](b=2).with_tilings({"flash_mla": tiling})
        plan.plan_empty().compile_to_files(tmp_path / "c", "sm_90")


def test_a_missing_tool_is_a_reason_and_no_compiler_is_exit_3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLA_COMPILE_CACHE", "off")
    real = toolkit.find_tool
    gone = {"nvdisasm", "cuobjdump"}
    monkeypatch.setattr(toolkit, "find_tool", lambda name: None if name in gone else real(name))
    made = compiled("flash_mla", "flash_mla", tmp_path / "out", "sm_90")
    assert made.registers is None and made.opcodes == {}
    install = "python -m pip install 'cuda-toolkit[nvdisasm]'"
    assert made.missing["kernel.sass"] == f"nvdisasm is not installed here: {install}"
    assert "cuda-toolkit[cuobjdump]" in made.missing["registers"]
    monkeypatch.setattr(compiling, "find_tool", lambda name: None)
    with pytest.raises(MachineCannot, match=r"pip install 'cuda-tile\[tileiras\]'"):
        compiled("flash_mla", "flash_mla", tmp_path / "none", "sm_90")


def test_an_architecture_the_compiler_does_not_know_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(KernelFailed, match="does not compile it for sm_70") as caught:
        compiled("flash_mla", "flash_mla", tmp_path, "sm_70")
    assert "\n" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("arch", ["sm_80", "sm_100", "sm_120"])
@pytest.mark.parametrize("version", PLANS)
def test_other_architectures_compile(
    version: str, arch: str, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    """Never run there: tilings are tuned for sm_90, and spill elsewhere."""
    if not pytestconfig.getoption("--full", default=False):
        pytest.skip("only with --full")
    for kernel in stages_of(PLANS[version](s=3, t=200).plan_empty()):
        made = kernel.compile_to_files(tmp_path / kernel.name, arch)
        assert made.registers and made.opcodes


@pytest.mark.slow
@pytest.mark.parametrize("version", PLANS)
def test_no_candidate_leaves_the_tensor_path(
    version: str, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    """Tiles of 16 rows, or a latent in two chunks of 32 keys, spill or fall to HMMA."""
    if not pytestconfig.getoption("--full", default=False):
        pytest.skip("only with --full")
    plan = PLANS[version](s=1 if version == "flash_mla_v1" else 16)
    for stage, tilings in plan._autotune_configs().items():
        for number, tiling in enumerate(tilings):
            chosen = stages_of(plan.with_tilings({stage: tiling}).plan_empty())
            (kernel,) = (kernel for kernel in chosen if kernel.name == stage)
            made = kernel.compile_to_files(tmp_path / f"{stage}{number}", "sm_90")
            assert made.spill_bytes == 0, tiling
            assert stage == "combine" or count(made, "HGMMA"), tiling
