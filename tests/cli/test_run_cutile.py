"""The cuTile kernels by the real command: compiled for several chips, or how to install cuTile."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import Ran, mla

from mla_var3.cli import run_refusals
from mla_var3.cli.run_refusals import for_running
from mla_var3.core.locate import find, is_installed
from mla_var3.core.record_file import load_profile

needs_cutile = pytest.mark.skipif(not is_installed("cutile"), reason="cuda.tile is not installed")
INSTALL = (
    "mla: cuTile (cuda.tile) is not installed here: python -m pip install 'mla_var3[cutile]'\n"
)
V1 = ("flash_mla", "v1", "--b=32", "--s=16", "--t=4096", "--prof_type=static")


def static(folder: Path, *words: str) -> Ran:
    """`mla run WORDS` into `folder/out`, with caches of its own."""
    return mla(
        "run",
        *words,
        f"--out_dir={folder / 'out'}",
        cwd=folder,
        CUDA_TILE_CACHE_DIR=str(folder / "cutile"),
        CUDA_VISIBLE_DEVICES="",
    )


def children_seconds() -> float:
    """CPU seconds of all finished child processes: others at work here do not count."""
    times = os.times()
    return times.children_user + times.children_system


@pytest.mark.skipif(is_installed("cutile"), reason="cuda.tile is installed here")
@pytest.mark.parametrize("words", [["--help"], ["--prof_type=static"], ["--check"], []])
def test_without_cutile_the_install_line_and_exit_3(words: list[str]) -> None:
    done = mla("run", "flash_mla", "v1", *words)
    assert (done.code, done.out, done.err) == (3, "", INSTALL)


@pytest.mark.skipif(is_installed("cutile"), reason="cuda.tile is installed here")
def test_the_language_path_has_the_install_line_too() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mla_var3.kernel.cutile.mla.flash_mla", "v1"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, "", INSTALL)


@needs_cutile
@pytest.mark.kernel
def test_help_is_quick_and_loads_its_language_but_not_torch() -> None:
    seconds = []
    for _ in range(3):
        start = children_seconds()
        assert mla("run", "flash_mla", "v1", "--help").code == 0
        seconds.append(children_seconds() - start)
    assert min(seconds) <= 0.6
    code = "import sys; from mla_var3.cli.main import main; main(sys.argv[1:]); "
    loaded = "print('cuda.tile' in sys.modules, 'torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code + loaded, "run", "flash_mla", "v1", "--help"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.splitlines()[-1] == "True False"


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ran, list[float]]:
    """flash_mla v1 for the H200, twice: cold, and with what the first run left."""
    folder = tmp_path_factory.mktemp("v1")
    seconds = []
    for _ in range(2):
        shutil.rmtree(folder / "out", ignore_errors=True)
        start = children_seconds()
        done = static(folder, *V1, "--target=h200")
        seconds.append(children_seconds() - start)
    return folder / "out", done, seconds


@needs_cutile
@pytest.mark.kernel
def test_flash_mla_v1_for_the_h200(compiled: tuple[Path, Ran, list[float]]) -> None:
    folder, done, seconds = compiled
    assert (done.code, done.err) == (0, "")
    assert seconds[0] <= 15 and seconds[1] <= 3, seconds
    latent = load_profile(folder).stages[0]
    assert latent.name == "latent"
    assert latent.value("registers") == 168
    assert latent.value("spill_bytes") == 0
    assert latent.value("block_size") == 384
    assert latent.value("occupancy_theoretical") == 18.75
    assert (latent.value("code_hgmma") or 0) >= 50
    assert latent.value("code_hmma") == 0
    assert latent.value("waves") == 1024 / 132
    flops = 2 * 32 * 16 * 128 * 4096 * (2 * 512 + 64)
    assert latent.value("roofline_time") == pytest.approx(flops / 989.5e12 * 1e9)
    assert "finding   none in the compiled code" in done.out
    assert max(map(len, done.out.replace(str(folder), "out").splitlines())) <= 100


@needs_cutile
@pytest.mark.kernel
def test_its_artifacts(compiled: tuple[Path, Ran, list[float]]) -> None:
    folder, _, _ = compiled
    made = {path.name for path in (folder / "compiled" / "latent").iterdir()}
    assert {"kernel.tilebc", "kernel.cubin"} <= made
    sass = (folder / "compiled" / "latent" / "kernel.sass").read_text()
    assert sass.count("HGMMA") == load_profile(folder).stages[0].value("code_hgmma")
    params: dict[str, Any] = json.loads((folder / "params.json").read_text())
    assert [params[key] for key in ("language", "version", "target")] == [
        "cutile",
        "v1",
        "NVIDIA H200",
    ]


@needs_cutile
@pytest.mark.kernel
def test_too_few_warps_spill_as_studied(tmp_path: Path) -> None:
    """The 64 x 512 accumulator on 4 worker warps: 2.7 kB a thread, a wait after each HGMMA."""
    words = ("cutile:flash_mla", "--s=16", "--prof_type=static", "--target=h200")
    done = static(tmp_path, *words, "--num_worker_warps=4", "--json")
    assert done.code == 0, done.err
    document = json.loads(done.out)
    (stage,) = document["profile"]["stages"]
    spilled = stage["metrics"]["spill_bytes"]["value"]
    assert 2600 <= spilled <= 2800
    texts = [item["text"] for item in document["diagnosis"]["stages"][0]["evidence"]]
    assert texts[0].startswith(f"spills {spilled / 1024:.1f} KB of local memory a thread")
    assert texts[1].startswith("a wait after every HGMMA: ")


@needs_cutile
@pytest.mark.kernel
def test_another_chip_falls_off_and_says_that_the_tiling_is_not_for_it(tmp_path: Path) -> None:
    words = ("cutile:flash_mla", "--s=16", "--prof_type=static", "--target=sm_100")
    done = static(tmp_path, *words)
    assert done.code == 0, done.err
    text = " ".join(done.out.split())
    assert "tiling not tuned for sm_100: it is meant for sm_90" in text
    assert "sm_100 names no product: its peaks are unknown" in text
    assert "no contract" in text


@needs_cutile
def test_the_next_step_checks_the_kernel_that_was_compiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without a GPU, `flash_mla` alone runs torch's version; v1 is in cuTile only."""
    monkeypatch.setattr(run_refusals, "cuda_devices", tuple)
    base, v1 = find("flash_mla", None, "cutile"), find("flash_mla", "v1")
    assert for_running(base, "mla run flash_mla") == "mla run flash_mla --language=cutile"
    assert for_running(base, "mla run cutile:flash_mla") == "mla run cutile:flash_mla"
    assert for_running(v1, "mla run flash_mla v1") == "mla run flash_mla v1"
    eager = find("flash_mla", None, "torch")
    assert for_running(eager, "mla run flash_mla") == "mla run flash_mla"
