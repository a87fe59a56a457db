"""The report of a stage of many kernels stays readable: the longest of each kind in full."""

import re
from pathlib import Path

from mla_var3.core.record_file import load_profile
from mla_var3.runtime.reporting import make_reports

FOLDER = Path(__file__).parents[2] / "examples" / "h200" / "annotation_torch_flash_attention_s1"


def test_the_longest_launch_of_each_kernel_is_described_and_all_are_listed() -> None:
    stages = load_profile(FOLDER).stages
    longest: dict[tuple[str, tuple[int, ...]], tuple[float, str]] = {}
    for stage in stages:
        key = (stage.kernel, stage.grid)
        longest[key] = max(
            longest.get(key, (0.0, "")), (stage.metrics["duration"].value, stage.name)
        )
    report = make_reports(FOLDER).report
    described = re.findall(r"^## \d+\. (.*)$", report, re.MULTILINE)
    assert len(stages) == 48 and len(longest) == 8
    assert {name.replace("\\", "") for name in described} == {name for _, name in longest.values()}
    table = report.partition("## Stages")[2].partition("## Roofline")[0]
    assert len(re.findall(r"^\| (?:nvjet|vectorized|cunn)", table, re.MULTILINE)) == 48
    assert "40 more launches stand in the table" in report
    assert len(report) < 110_000
