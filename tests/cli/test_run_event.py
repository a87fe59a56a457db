"""`mla run … --prof_type=event` as a user types it, on a machine without a GPU."""

import json
from pathlib import Path

import pytest
from tests.cli.command import mla

from mla_var3.core.locate import is_installed
from mla_var3.measure.gpus import cuda_devices

pytestmark = pytest.mark.skipif(bool(cuda_devices()), reason="a GPU is here")
SMALL = ("run", "flash_mla", "--language=torch", "--b=1", "--h=4", "--s=2", "--t=128")
EVENT = "--prof_type=event"


@pytest.mark.parametrize(
    ("words", "code", "beginning"),
    [
        (
            ("run", "demo_concurrent", "--language=torch", EVENT),
            2,
            "mla: demo_concurrent runs stages on 2 streams: event times one stream only; "
            "--prof_type=nsys",
        ),
        ((*SMALL, EVENT, "--check"), 2, "mla: --check compares once and times nothing"),
        ((*SMALL, EVENT, "--cache=hot"), 2, "mla: --cache=hot: cold or warm"),
        ((*SMALL, EVENT, "--regime=bust"), 2, "mla: --regime=bust: no such regime; did you mean"),
        (
            (*SMALL, "--prof_type=nsys", "--strict"),
            2,
            "mla: --strict has a meaning for event and annotation alone",
        ),
        (
            (*SMALL, "--prof_type=disabled", "--regime=burst"),
            2,
            "mla: --regime has a meaning for event and annotation alone",
        ),
        ((*SMALL, EVENT, "--limit_s=0"), 2, "mla: --limit_s=0: must be at least 1"),
        ((*SMALL, EVENT, "--bench_runs=0"), 2, "mla: --bench_runs=0: must be at least 1"),
        ((*SMALL, EVENT, "--target=h200"), 2, "mla: --target is what static compiles for"),
        (
            ("run", "flash_mla", "v1", "--language=cutile", EVENT),
            3,
            "flash_mla v1 (cutile) needs a CUDA GPU to be measured; none is here. What works",
        ),
    ],
)
def test_what_is_refused(words: tuple[str, ...], code: int, beginning: str, tmp_path: Path) -> None:
    if "--language=cutile" in words and not is_installed("cutile"):
        pytest.skip("cuda.tile is not installed here")
    done = mla(*words, cwd=tmp_path)
    assert done.code == code
    assert done.err.startswith(beginning), done.err
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(is_installed("torch"), reason="torch is installed here")
def test_without_torch_the_line_that_installs_it(tmp_path: Path) -> None:
    done = mla(*SMALL, EVENT, cwd=tmp_path)
    assert done.code == 3
    assert "python -m pip install 'mla_var3[torch]'" in done.err
    assert not (tmp_path / "out").exists()


@pytest.mark.kernel
@pytest.mark.skipif(not is_installed("torch"), reason="torch is not installed here")
def test_a_run_stores_and_shows_what_it_saw(tmp_path: Path) -> None:
    done = mla(
        *SMALL, EVENT, "--bench_runs=12", "--cache=warm", cwd=tmp_path, XDG_CACHE_HOME=str(tmp_path)
    )
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0].startswith("flash_mla base · torch · b=1 s=2 t=128 h=4")
    assert "12 samples in" in done.out and "(count)" in done.out and "warm cache" in done.out
    assert max(map(len, lines)) <= 100
    (place,) = (tmp_path / "out" / "profiles" / "event" / "flash_mla").glob("*/*/report.md")
    folder = place.parent.relative_to(tmp_path).as_posix()
    assert f"report    {folder}/report.md" in done.out
    timing = json.loads((place.parent / "timing.json").read_text())
    assert len(timing["series"]["samples_ns"]) == 12
    assert "12 samples" in mla("report", place.parent, cwd=tmp_path).out
