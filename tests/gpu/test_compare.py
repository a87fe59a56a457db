"""`mla compare` on a GPU, as typed: equal sides, a planted slowdown, versions, a revision."""

import json
from pathlib import Path

import pytest
from tests.cli.command import mla

from mla_var3.core.locate import is_installed
from mla_var3.measure.gpus import cuda_devices

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not cuda_devices(), reason="no GPU is here"),
    pytest.mark.skipif(not is_installed("cutile"), reason="cuda.tile is not installed here"),
]
CONTROL = Path(__file__).parent.parent.parent / "examples" / "control"
COPY = CONTROL / "copy_torch.py"
LATENT = ("--b=32", "--s=16", "--t=4096")


def verdict(tmp_path: Path, *words: str | Path) -> dict[str, object]:
    """What the only shape came to."""
    done = mla("compare", *words, "--json", cwd=tmp_path)
    assert done.code == 0, done.err
    (shape,) = json.loads(done.out)["verdict"]["shapes"]
    return dict(shape)


def test_equal_copies_are_no_change(tmp_path: Path) -> None:
    found = verdict(tmp_path, COPY, COPY)
    assert found["word"] in ("no change", "inconclusive")


def test_two_percent_more_bytes_are_slower(tmp_path: Path) -> None:
    found = verdict(tmp_path, COPY, CONTROL / "copy_two_percent.py")
    assert found["word"] == "slower"
    assert 1.0 <= found["time"]["change_pct"] <= 3.0  # type: ignore[index]


def test_equal_attention_is_no_change_and_its_clock_is_known(tmp_path: Path) -> None:
    found = verdict(tmp_path, "flash_mla", "v1", "v1", *LATENT)
    assert found["word"] in ("no change", "inconclusive")
    assert found["cycles"] and 300 < found["a_mhz"] < 3000  # type: ignore[operator]


def test_v1_is_not_the_base(tmp_path: Path) -> None:
    assert verdict(tmp_path, "flash_mla", "base", "v1", *LATENT)["word"] in ("faster", "slower")


def test_concurrent_stages_by_their_span(tmp_path: Path) -> None:
    found = verdict(tmp_path, "torch:demo_concurrent", "torch:demo_concurrent")
    assert found["word"] in ("no change", "inconclusive")


def test_a_wrong_result_has_no_ratio(tmp_path: Path) -> None:
    rivals = Path(__file__).parent.parent / "support" / "rival_plans.py"
    done = mla("compare", f"{rivals}:Twice", f"{rivals}:Wrong", "--gate", cwd=tmp_path)
    assert done.code == 4
    assert "so there is no ratio: side B (Wrong) gives wrong results" in done.err
