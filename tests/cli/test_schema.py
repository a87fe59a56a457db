"""`mla schema`: what it prints is a schema of what is stored, and the check names the line."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.render.samples import attention, many
from tests.support.timings import gpu_timing

from mla_var3.cli import main as cli
from mla_var3.core.annotation import AnnotationRun, save_run
from mla_var3.core.operators import (
    CpuPeaks,
    Operator,
    OperatorTable,
    StageOperators,
    save_operators,
)
from mla_var3.core.record_file import save_profile
from mla_var3.core.timeline import Timeline, save_timeline
from mla_var3.core.timing import save_timing
from mla_var3.render.contract import build_contract
from mla_var3.render.contract_sheet import to_markdown
from mla_var3.render.machine import render_json
from mla_var3.runtime.formats import FORMATS

PACKAGE = Path(cli.__file__).parent.parent
OPERATORS = OperatorTable(
    working_set_bytes=1 << 20,
    peaks=CpuPeaks(
        cpu="A CPU",
        threads=2,
        torch="2.11.0",
        date="2026-12-01",
        cache_bytes=32 << 20,
        cache_set_bytes=8 << 20,
        cache_gbps=80.0,
        dram_gbps=20.0,
        matmul_tflops={"fp32": 0.05},
    ),
    stages=(
        StageOperators(
            stage="fa",
            samples_ns=(1e6,),
            profiled_runs=3,
            operators=(Operator(name="aten::mm", calls=2, self_ns=9e5),),
        ),
    ),
)
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
    save_run(AnnotationRun(event_s=8.1, passes=13), tmp_path / "annotation.json")
    save_operators(OPERATORS, tmp_path / "operators.json")
    save_timeline(Timeline(collector="nsys", tool="nsys 2025.3.2"), tmp_path / "spans.json")
    return tmp_path


STORED = ("profile", "contract", "diagnosis", "timing", "annotation", "operators", "spans")


@pytest.mark.parametrize("kind", STORED)
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
        ("annotation.json", "valid: annotation.json, annotation\n"),
        ("operators.json", "valid: operators.json, operators of 1 stage\n"),
        ("spans.json", "valid: spans.json, spans of 0 operations\n"),
    ],
)
def test_a_good_file_is_valid(name: str, says: str, stored: Path, capfd: Capture) -> None:
    assert cli.main(["schema", "--check", str(stored / name)]) == 0
    assert capfd.readouterr().out.endswith(says)


@pytest.mark.parametrize(
    ("name", "good", "bad", "says"),
    [
        ("annotation", '"passes": 13', '"passes": "many"', "got `str` (at passes)"),
        ("annotation", '"schema_version": 1', '"schema_version": 2', "(at schema_version)"),
        ("operators", '"threads": 2', '"threads": null', "got `null` (at peaks.threads)"),
        ("operators", '"self_ns": 900000', '"own_ns": 1', "`self_ns` (at stages[0].operators[0])"),
        ("timing", '"seed": 0', '"seed": "0"', "got `str` (at seed)"),
        ("timing", '"samples_ns"', '"samples"', "missing required field `samples_ns` (at series)"),
        ("diagnosis", '"file": "a"', '"file": 1', "got `int` (at file)"),
        ("spans", '"collector": "nsys"', '"collector": "perf"', "Invalid enum value 'perf'"),
    ],
)
def test_a_damaged_file_names_the_field_and_its_line(
    name: str, good: str, bad: str, says: str, stored: Path, capfd: Capture
) -> None:
    path = stored / f"{name}.json"
    text = json.dumps(json.loads(path.read_text()), indent=1)
    at = text.index(good)
    path.write_text(text[:at] + bad + text[at + len(good) :])
    assert cli.main(["schema", "--check", str(path)]) == 5
    out, err = capfd.readouterr()
    assert out == "" and err.count("\n") == 1 and says in err
    line = text[:at].count("\n") + 1
    if "missing required" in err:  # that of the object that lacks it
        line = text[: text.rindex("{", 0, at)].count("\n") + 1
    assert err.startswith(f"INVALID {name}.json line {line}: ")


def test_every_format_that_is_written_can_be_checked() -> None:
    """Of the sources: a new format is an entry of `runtime/formats.py`."""
    sources = (path.read_text() for path in PACKAGE.rglob("*.py"))
    written = {name for text in sources for name in re.findall(r'"mla_var3/([a-z-]+)"', text)}
    assert len(written) > 10
    written.remove("devices")  # a table that users write; --devices reads and checks it
    assert written == set(FORMATS)


def test_a_schema_is_printed_of_every_format(capfd: Capture) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    for name in FORMATS:
        assert cli.main(["schema", name]) == 0
        schema = json.loads(capfd.readouterr().out)
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["title"] == f"mla_var3/{name} {2 if name == 'timing' else 1}"
        assert not jsonschema.Draft202012Validator(schema).is_valid({"schema_version": 1})


def test_the_annotations_of_the_examples_are_valid(capfd: Capture) -> None:
    files = sorted((PACKAGE.parent.parent / "examples" / "h200").glob("*/annotation.json"))
    assert len(files) >= 10
    for path in files:
        assert cli.main(["schema", "--check", str(path)]) == 0


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
