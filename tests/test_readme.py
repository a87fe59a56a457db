"""The README says what is true: its sample, its device table, its links and its commands."""

import re
from pathlib import Path

import pytest

from mla_var3.cli import main as cli
from mla_var3.core.device import load_devices

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
SAMPLE = re.compile(r"(?s)\$ mla diagnose examples/attention_full\.ncu-rep\.xz\n(.*?)```")


def test_the_sample_is_what_the_command_prints(
    update_golden: bool, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert cli.main(["diagnose", "examples/attention_full.ncu-rep.xz"]) == 0
    out = capfd.readouterr().out
    text = README.read_text(encoding="utf-8")
    found = SAMPLE.search(text)
    assert found is not None
    if update_golden:
        README.write_text(text[: found.start(1)] + out + text[found.end(1) :], encoding="utf-8")
        found = SAMPLE.search(README.read_text(encoding="utf-8"))
        assert found is not None
    assert found.group(1) == out, "pytest --update-golden rewrites it"


def test_the_device_table_of_the_readme_loads(tmp_path: Path) -> None:
    block = re.search(r"(?s)```json\n(.*?)```", README.read_text(encoding="utf-8"))
    assert block is not None
    path = tmp_path / "mine.json"
    path.write_text(block.group(1))
    device = load_devices(path).find("NVIDIA Example 9000")
    assert device is not None
    # 989.5 TFLOP/s over 4800 GB/s, in FLOP/byte.
    assert device.ridge_point("bf16") == pytest.approx(206.15, abs=0.01)


def test_every_link_leads_somewhere() -> None:
    for document in (README, ROOT / "docs" / "architecture.md"):
        for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text(encoding="utf-8")):
            assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_every_file_that_the_architecture_names_exists() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    names = re.findall(r"`((?:cli|runtime|render|analyse|measure|core|conf)/[\w./]+)`", text)
    assert len(names) >= 12
    for name in names:
        assert (ROOT / "src" / "mla_var3" / name).exists(), name


@pytest.mark.parametrize("words", re.findall(r"`mla ([\w-]+)[^`]*`", README.read_text("utf-8")))
def test_every_command_of_the_readme_exists(words: str) -> None:
    assert words in cli.COMMANDS


def test_every_option_of_the_readme_exists(capfd: pytest.CaptureFixture[str]) -> None:
    options = set()
    for command, option in re.findall(
        r"`mla ([\w-]+)[^`]*?(--\w+)[^`]*`", README.read_text(encoding="utf-8")
    ):
        options.add((command, option))
    assert ("diagnose", "--contract") in options
    for command, option in options:
        assert cli.main([command, "--help"]) == 0
        assert option in capfd.readouterr().out
