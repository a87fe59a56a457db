"""`mla schema`: what it prints is a schema of what is stored, and the check names the line."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.render.samples import attention, many
from tests.support.timings import gpu_timing

from mla_var3.cli import main as cli
from mla_var3.core.record_file import save_profile
from mla_var3.core.timing import save_timing
from mla_var3.render.contract import build_contract
from mla_var3.render.contract_sheet import to_markdown
from mla_var3.render.machine import render_json

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """A folder with every format, of a record with 12 stages."""
    profile, diagnosis = many(12)
    save_profile(profile, tmp_path)
    contract = build_contract(profile, diagnosis, "many")
    (tmp_path / "contract.md").write_text(to_markdown(contract))
    text = msgspec.json.format(msgspec.json.encode(contract), indent=1)
    (tmp_path / "contract.json").write_bytes(text)
    save_timing(gpu_timing([1e6, 2e6, 3e6]), tmp_path / "timing.json")
    (tmp_path / "diagnosis.json").write_text(render_json(profile, diagnosis, "a", None))
    return tmp_path


@pytest.mark.parametrize("kind", ["profile", "contract", "diagnosis", "timing"])
def test_the_printed_schema_fits_what_is_stored(kind: str, stored: Path, capfd: Capture) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    assert cli.main(["schema", kind]) == 0
    schema = json.loads(capfd.readouterr().out)
    jsonschema.Draft202012Validator.check_schema(schema)
    document = json.loads((stored / f"{kind}.json").read_text())
    jsonschema.validate(document, schema)
    del document["format"]
    assert not jsonschema.Draft202012Validator(schema).is_valid(document)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("profile.json", "valid: profile.json, profile of 12 stages\n"),
        (".", "profile of 12 stages\n"),
        ("contract.md", "valid: contract.md, contract of 11 stages\n"),
        ("contract.json", "valid: contract.json, contract of 12 stages\n"),
        ("timing.json", "valid: timing.json, timing of 3 samples\n"),
        ("diagnosis.json", "valid: diagnosis.json, diagnosis of 12 stages\n"),
    ],
)
def test_a_good_file_is_valid(name: str, says: str, stored: Path, capfd: Capture) -> None:
    assert cli.main(["schema", "--check", str(stored / name)]) == 0
    assert capfd.readouterr().out.endswith(says)


def _spoil_metric(data: dict[str, Any]) -> str:
    data["stages"][2]["metrics"]["dram"]["value"] = "much"
    return '"much"'


def _spoil_word(data: dict[str, Any]) -> str:
    data["bottleneck"] = "Balanced"
    return '"Balanced"'


def _spoil_version(data: dict[str, Any]) -> str:
    data["schema_version"] = 99
    return "99"


@pytest.mark.parametrize("spoil", [_spoil_metric, _spoil_word, _spoil_version])
def test_the_line_of_the_violation(
    spoil: Callable[[dict[str, Any]], str], stored: Path, capfd: Capture
) -> None:
    path = stored / "contract.json"
    data = json.loads(path.read_text())
    words = spoil(data)
    text = json.dumps(data, indent=1)
    path.write_text(text)
    assert cli.main(["schema", "--check", str(path)]) == 5
    out, err = capfd.readouterr()
    assert out == "" and err.count("\n") == 1
    # Which key of an object with free keys is wrong is not told: the line is that object's.
    line = int(err.partition("line ")[2].partition(":")[0])
    assert err.startswith("INVALID contract.json line ")
    at = text.index(words)
    if spoil is _spoil_metric:
        at = text.rindex('"metrics"', 0, at)
    assert line == text[:at].count("\n") + 1


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.json", '{\n "format": "mla_var3/contract",\n oops}', "INVALID a.json line 3: no JSON"),
        ("a.json", '{"format": "other"}', "INVALID a.json line 1: `format` is 'other'"),
        ("a.json", '{"format": ["x"]}', "INVALID a.json line 1: `format` is ['x']"),
        ("a.json", "{}", "INVALID a.json line 1: `format` is None"),
        ("a.json", "[1]", "INVALID a.json line 1: expected '## Profile"),
        ("a.md", "", "INVALID a.md line 1: expected '## Profile"),
        ("a.md", "## Profile: a b\n### Stages\n", "INVALID a.md line 2: expected an empty line"),
        ("a.json", '{"format": "mla_var3/profile"}', "INVALID a.json"),
    ],
)
def test_what_is_no_such_file(
    name: str, content: str, says: str, tmp_path: Path, capfd: Capture
) -> None:
    (tmp_path / name).write_text(content)
    assert cli.main(["schema", "--check", str(tmp_path / name)]) == 5
    out, err = capfd.readouterr()
    assert out == "" and err.count("\n") == 1
    assert err.startswith(says)
    assert str(tmp_path) not in err


def test_binary_and_endless_files_are_refused(tmp_path: Path, capfd: Capture) -> None:
    (tmp_path / "b.json").write_bytes(b"{\n\xff")
    with (tmp_path / "big.md").open("wb") as file:
        file.truncate(2 << 30)
    assert cli.main(["schema", "--check", str(tmp_path / "b.json")]) == 5
    assert capfd.readouterr().err == "INVALID b.json line 2: not UTF-8 text\n"
    assert cli.main(["schema", "--check", str(tmp_path / "big.md")]) == 5
    assert "is no profile or contract" in capfd.readouterr().err


def test_a_stored_failure_is_exit_4(tmp_path: Path, capfd: Capture) -> None:
    from mla_var3.core.record import Profile

    failed = Profile(mode="ncu", status="KERNEL_FAILED", stages=(), failure="illegal address")
    save_profile(failed, tmp_path)
    assert cli.main(["diagnose", str(tmp_path)]) == 4
    out, err = capfd.readouterr()
    assert (out, err) == ("", f"KERNEL_FAILED {tmp_path.name}: illegal address\n")


def test_a_damaged_profile_is_exit_5_and_listed_as_such(tmp_path: Path, capfd: Capture) -> None:
    good = tmp_path / "ncu" / "kernel" / "imported" / "1"
    save_profile(attention()[0], good)
    for name, content in (("2", b"{"), ("3", b'{"format": "x", "mode": "m", "status": "OK"}')):
        folder = good.with_name(name)
        folder.mkdir()
        (folder / "profile.json").write_bytes(content)
    good.with_name("4").mkdir()
    good.with_name(".incomplete-5").mkdir()
    assert cli.main(["list", "--root", str(tmp_path)]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines[1].split() == ["OK", "n/a", "ncu/kernel/imported/1"]
    assert [line.partition(":")[0] for line in lines[2:5]] == ["damaged"] * 3
    assert lines[4] == "damaged: ncu/kernel/imported/4: no profile.json"
    assert lines[-2] == "1 stored, 3 damaged."
    assert lines[-1] == f"Next: mla diagnose {tmp_path}/ncu/kernel/imported/1"
    assert cli.main(["diagnose", str(good.with_name("2"))]) == 5
    assert "is not a record of mla_var3" in capfd.readouterr().err
