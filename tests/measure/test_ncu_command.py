"""Where ncu is found, and the command line that it gets."""

from pathlib import Path

import pytest

from mla_var3.core.errors import MachineCannot
from mla_var3.measure.ncu_command import (
    NcuJob,
    find_ncu,
    ncu_command,
    query_command,
    range_filter,
)


def tool(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_the_whole_line() -> None:
    job = NcuJob(
        program=("python", "-m", "worker", "job.json"),
        stages=("latent", "split k"),
        metrics=("gpu__time_duration.sum", "launch__grid_size"),
        report=Path("out/annotation.ncu-rep"),
    )
    assert ncu_command(Path("/opt/ncu"), job) == [
        "/opt/ncu",
        "--nvtx",
        "--nvtx-include",
        "latent/",
        "--nvtx-include",
        "split k/",
        "--clock-control",
        "none",
        "--cache-control",
        "all",
        "--replay-mode",
        "kernel",
        "--target-processes",
        "application-only",
        "--disable-extra-suffixes",
        "--metrics",
        "gpu__time_duration.sum,launch__grid_size",
        "--force-overwrite",
        "--export",
        "out/annotation",
        "python",
        "-m",
        "worker",
        "job.json",
    ]
    full = job._replace(full=True, metrics=("a.sum",), launches=12, warm=True)
    assert ncu_command(Path("/opt/ncu"), full)[6:23] == [
        "--clock-control",
        "none",
        "--cache-control",
        "none",
        "--replay-mode",
        "kernel",
        "--target-processes",
        "application-only",
        "--launch-count",
        "12",
        "--set",
        "full",
        "--import-source",
        "yes",
        "--metrics",
        "a.sum",
        "--force-overwrite",
    ]
    assert "--metrics" not in ncu_command(Path("/opt/ncu"), full._replace(metrics=()))
    assert query_command(Path("/opt/ncu")) == ["/opt/ncu", "--query-metrics"]


@pytest.mark.parametrize(
    ("name", "filter_"),
    [
        ("latent", "latent/"),
        ("a/b", "a\\/b/"),
        ("x@y", "x\\@y/"),
        ("tile[0], 2*k+1", "tile\\[0\\]\\, 2\\*k\\+1/"),
        ("back\\slash", "back\\\\slash/"),
    ],
)
def test_special_characters_of_a_range_are_escaped(name: str, filter_: str) -> None:
    assert range_filter(name) == filter_


def test_ncu_on_the_path_comes_first(tmp_path: Path) -> None:
    on_path = tool(tmp_path / "bin" / "ncu")
    tool(tmp_path / "cuda" / "bin" / "ncu")
    found = find_ncu({"PATH": str(on_path.parent), "CUDA_HOME": str(tmp_path / "cuda")}, ())
    assert found == on_path


def test_then_below_cuda_home_then_the_newest_installed(tmp_path: Path) -> None:
    below = tool(tmp_path / "cuda" / "nsight-compute-2024.3" / "ncu")
    tool(tmp_path / "opt" / "2024.3.2" / "ncu")
    newest = tool(tmp_path / "opt" / "2025.10.0" / "ncu")
    tool(tmp_path / "opt" / "2025.3.1" / "ncu")
    environment = {"PATH": "", "CUDA_HOME": str(tmp_path / "cuda")}
    assert find_ncu(environment, (tmp_path / "opt",)) == below
    assert find_ncu({"PATH": ""}, (tmp_path / "opt",)) == newest


def test_without_ncu_the_way_out_is_named(tmp_path: Path) -> None:
    (tmp_path / "ncu").write_text("not executable")
    with pytest.raises(MachineCannot, match=r"install Nsight Compute.*--prof_type=event"):
        find_ncu({"PATH": str(tmp_path)}, (tmp_path / "nowhere",))
