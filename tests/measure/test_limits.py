"""Size, time and memory: what a stage may weigh in the record and what reading may cost."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.support import report_bytes
from tests.support.fake_report import FakeLaunch, FakeMetric, FakeModule, launch, profile_of

from mla_var3.core.errors import MachineCannot
from mla_var3.core.record_file import to_files
from mla_var3.measure.ncu_reader import module, part, read_report

PROGRAM = """
import json, re, resource, sys, time
from pathlib import Path
from mla_var3.measure.ncu_reader import read_report
begin = time.perf_counter()
profile = read_report(Path(sys.argv[1]))
seconds = time.perf_counter() - begin
own = int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text()).group(1))
peak = max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) / 1024
lines = sum(len(stage.hot_lines) for stage in profile.stages)
print(json.dumps([len(profile.stages), lines, seconds, peak]))
"""


needs_proc = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="memory is read from /proc"
)


def cost(path: Path) -> tuple[int, int, float, float]:
    """Stages, hot lines, seconds and the largest process in MB, in a fresh process."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path)], capture_output=True, text=True, check=True
    )
    stages, lines, seconds, megabytes = msgspec.json.decode(done.stdout)
    return stages, lines, seconds, megabytes


@needs_proc
def test_attention_reads_quickly_and_small(recording: Callable[[str], Path]) -> None:
    path = recording("attention_full")
    runs = [cost(path) for _ in range(3)]
    assert all((stages, lines) == (3, 8) for stages, lines, _, _ in runs)
    # the best of three: other work on the machine is not ours
    assert min(seconds for _, _, seconds, _ in runs) <= 0.6
    assert max(megabytes for _, _, _, megabytes in runs) <= 250


@needs_proc
def test_memory_stays_flat_over_many_launches(
    recording: Callable[[str], Path], tmp_path: Path
) -> None:
    path = tmp_path / "many.ncu-rep"
    path.write_bytes(report_bytes.with_launches(recording("zoo_a").read_bytes(), 48))
    stages, _, seconds, megabytes = cost(path)
    assert stages == 48
    assert megabytes <= 320 and seconds <= 15


def test_a_long_report_reads_as_its_parts_do(
    recording: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = recording("zoo_a")
    whole = read_report(path)
    monkeypatch.setattr(part, "PART_LAUNCHES", 3)
    seen: list[tuple[int, int]] = []
    parts = read_report(path, progress=lambda done, of: seen.append((done, of)))
    assert parts == whole
    assert seen[-1] == (8, 8)


def rule(number: int, words: int) -> dict[str, Any]:
    return {
        "section_identifier": f"SectionNumber{number}",
        "rule_identifier": f"RuleNumber{number}",
        "rule_message": {"type": 2, "title": f"Title {number}", "message": "word " * words},
        "speedup_estimation": {"type": 2, "speedup": 50.0 - number},
        "focus_metrics": [{"name": "sm__throughput.avg" + "x" * 60, "value": 1.5}] * 4,
    }


def test_the_heaviest_launch_stays_below_8_kB(copies: Callable[[str], list[FakeLaunch]]) -> None:
    heavy = copies("cutile_mla")[0].edited()
    heavy.full = "void heavy<" + "very::long::template_argument, " * 300 + ">(int)"
    heavy.nvtx = tuple("range " + "n" * 300 for _ in range(20))
    heavy.rules = [rule(number, 200) for number in range(20)]
    opcodes = [(f"OPCODE{number}", 1000 + number) for number in range(60)]
    heavy.metrics["sass__inst_executed_per_opcode"] = FakeMetric(1, "", opcodes)
    heavy.sources = {name: ("x" * 500 + "\n") * 4000 for name in heavy.sources}
    profile = profile_of(heavy)
    saved = to_files(profile)["profile.json"]
    stage = msgspec.json.decode(saved)["stages"][0]
    assert len(msgspec.json.encode(stage)) <= 8000
    assert len(saved) <= 16_000
    kept = profile.stages[0]
    assert kept.opcodes is not None and len(kept.opcodes.parts) == 15
    assert next(iter(kept.opcodes.parts)) == "OPCODE59"
    assert kept.rules[0].rule == "RuleNumber0" and kept.rules[0].message.endswith("…")
    assert len(kept.rules) >= 5
    assert len(kept.hot_lines) == 5


def test_without_the_module_the_install_line_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_import", lambda: None)
    monkeypatch.setattr(module, "installed_folders", list)
    with pytest.raises(MachineCannot, match="python -m pip install ncu-report") as caught:
        module.load_module()
    assert caught.value.exit_code == 3


def test_installed_versions_are_tried_newest_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version in ("2024.3.2", "2026.1.0", "2025.10.1", "2025.9.0"):
        folder = tmp_path / "nsight-compute" / version / "extras" / "python"
        folder.mkdir(parents=True)
        (folder / "ncu_report.py").touch()
    monkeypatch.setattr(module, "_ROOTS", (str(tmp_path / "nsight-compute"),))
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "nowhere"))
    found = [folder.parts[-3] for folder in module.installed_folders()]
    assert found == ["2026.1.0", "2025.10.1", "2025.9.0", "2024.3.2"]


def test_the_reader_says_its_own_version() -> None:
    stage = launch({"gpu__time_duration.sum": (1.0, "ns"), "launch__grid_size": 1})
    read = part.read_part(FakeModule([[stage]], version="2024.3.2 (build 7)"), Path(__file__))
    assert read.environment.reader_tool == "ncu_report 2024.3.2"
