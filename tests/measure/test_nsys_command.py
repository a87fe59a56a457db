"""Where nsys is looked for, in which order, and what it is told."""

from pathlib import Path

import pytest

from mla_var3.core.errors import MachineCannot
from mla_var3.measure.nsys_command import NsysJob, export_command, find_nsys, nsys_command

IN_COMPUTE = "nsight-compute/2025.3.1/host/target-linux-x64/nsys"
PLACES = [  # the best first
    "path/nsys",
    "cuda/bin/nsys",
    "cuda/nsight-systems-2025.3.2/bin/nsys",
    "cuda/nsight-compute-2025.3.1/host/target-linux-x64/nsys",
    "opt/nsight-systems/2025.10.1/bin/nsys",
    "opt/nsight-systems/2025.3.2/target-linux-x64/nsys",
    "opt/nsight-systems-cli/2024.6.1/bin/nsys",
    "opt/nsight-compute/2025.10.0/host/target-linux-x64/nsys",
    f"opt/{IN_COMPUTE}",
]


def executable(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_the_nearest_and_newest_is_taken(tmp_path: Path) -> None:
    environment = {"PATH": str(tmp_path / "path"), "CUDA_HOME": str(tmp_path / "cuda")}
    for place in reversed(PLACES):  # one more at a time: each is better than all before it
        made = executable(tmp_path / place)
        assert find_nsys(environment, tmp_path / "opt") == made


def test_a_file_that_cannot_be_run_is_none(tmp_path: Path) -> None:
    good = executable(tmp_path / "opt" / IN_COMPUTE)
    executable(tmp_path / "opt/nsight-systems/2025.3.2/bin/nsys").chmod(0o644)
    assert find_nsys({"PATH": ""}, tmp_path / "opt") == good


def test_none_at_all_says_what_works(tmp_path: Path) -> None:
    with pytest.raises(MachineCannot, match=r"install Nsight Systems, or give --collector=kineto"):
        find_nsys({"PATH": str(tmp_path), "CUDA_HOME": str(tmp_path)}, tmp_path)


def test_the_whole_line_records_no_samples_and_each_node() -> None:
    job = NsysJob(("python", "-m", "worker", "job.json"), Path("out/profile.nsys-rep"))
    assert " ".join(nsys_command(Path("/opt/nsys"), job)) == (
        "/opt/nsys profile -t cuda,nvtx --sample=none --cpuctxsw=none --cuda-graph-trace=node "
        "--stats=false --force-overwrite=true -o out/profile python -m worker job.json"
    )
    assert nsys_command(Path("nsys"), job._replace(trace="cuda"))[2:4] == ["-t", "cuda"]


def test_the_export_replaces_what_lies_there() -> None:
    words = export_command(Path("nsys"), Path("a.nsys-rep"), Path("b.sqlite"))
    assert " ".join(words) == "nsys export -t sqlite --force-overwrite=true -o b.sqlite a.nsys-rep"
