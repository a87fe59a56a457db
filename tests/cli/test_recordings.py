"""Every recording of examples/, as a user sees it; expected texts are rewritten on demand."""

import json
import re
import socket
from pathlib import Path

import msgspec
import pytest
from tests.cli.command import mla

from mla_var3.cli import main as cli
from mla_var3.render.contract import Contract
from mla_var3.render.contract import json_schema as contract_schema
from mla_var3.render.contract_grammar import parse
from mla_var3.render.machine import json_schema as diagnosis_schema

ROOT = Path(__file__).parent.parent.parent
EXPECTED = ROOT / "tests" / "data" / "expected"
RECORDINGS = sorted((ROOT / "examples").glob("*.ncu-rep.xz"))
NAMES = [path.name.removesuffix(".ncu-rep.xz") for path in RECORDINGS]
PRIVATE = ("/home", "/opt/lab", "/tmp", "/root", "/work", "\\Users\\", socket.gethostname())


def command(*words: str, code: int | None = 0) -> None:
    """Run the command line in this process and in the root of the repository."""
    found = cli.main(list(words))
    assert code is None or found == code


def compare(name: str, text: str, update: bool) -> None:
    """Compare with the expected text, or write it anew."""
    path = EXPECTED / name
    if update:
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), "pytest --update-golden rewrites it"


def assert_presentable(text: str) -> None:
    """Plain, narrow, and nothing private."""
    assert max(map(len, text.splitlines()), default=0) <= 100
    assert "\x1b" not in text
    assert not re.search(r"(?<![\w.])(nan|inf|None)(?![\w.])", text, re.IGNORECASE)
    assert [word for word in PRIVATE if word in text] == []


@pytest.mark.parametrize("path", RECORDINGS, ids=NAMES)
def test_the_screen(
    path: Path,
    update_golden: bool,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(ROOT)
    code = cli.main(["diagnose", f"examples/{path.name}"])
    out, err = capfd.readouterr()
    assert_presentable(out + err)
    assert (code, err) == (0, "")
    compare(f"{path.name.partition('.')[0]}.screen.txt", out, update_golden)


@pytest.mark.parametrize("path", RECORDINGS, ids=NAMES)
def test_the_contract(path: Path, update_golden: bool, capfd: pytest.CaptureFixture[str]) -> None:
    code = cli.main(["diagnose", str(path), "--contract"])
    out, err = capfd.readouterr()
    name = path.name.partition(".")[0]
    if code == 5:
        assert out == "" and "no contract" in err
        return
    assert (code, err) == (0, "")
    assert parse(out).kernel == name
    assert [word for word in PRIVATE if word in out] == []
    compare(f"{name}.contract.md", out, update_golden)


@pytest.mark.parametrize("path", RECORDINGS, ids=NAMES)
def test_the_json_forms(path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    command("diagnose", str(path), "--json")
    out, _ = capfd.readouterr()
    document = json.loads(out)
    jsonschema.validate(document, diagnosis_schema())
    assert "NaN" not in out and "Infinity" not in out
    assert [word for word in PRIVATE if word in out] == []
    for stage in document["profile"]["stages"]:
        for metric in stage["metrics"].values():
            assert set(metric) == {"value", "unit", "source", "raw"}
    if cli.main(["diagnose", str(path), "--contract", "--json"]) == 0:
        twin = capfd.readouterr().out
        jsonschema.validate(json.loads(twin), contract_schema())
        contract = msgspec.json.decode(twin, type=Contract)
        assert len(contract.stages) == len(document["profile"]["stages"])


def test_import_stores_a_folder_that_list_and_diagnose_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    recording = str(ROOT / "examples" / "attention_full.ncu-rep.xz")
    command("diagnose", recording)
    screen = capfd.readouterr().out
    monkeypatch.chdir(tmp_path)
    command("import", recording)
    out, err = capfd.readouterr()
    report = Path(out.strip())
    pattern = r"out/profiles/ncu/attention_full/imported/\d{8}-\d{6}/report\.md"
    assert re.fullmatch(pattern, out.strip())
    assert err.startswith(
        "stored report.md, contract.md, contract.json, profile.json, report-verbose.md, source, "
        "sass, ptx."
    )
    folder = report.parent
    assert sorted(path.name for path in folder.iterdir()) == [
        "contract.json",
        "contract.md",
        "profile.json",
        "profile.ncu-rep",
        "ptx",
        "report-verbose.md",
        "report.md",
        "sass",
        "source",
    ]
    for path in folder.rglob("*"):
        if path.is_dir() or path.name == "profile.ncu-rep":
            continue
        text = path.read_text(encoding="utf-8")
        assert [word for word in PRIVATE if word in text] == []
    assert (folder / "profile.json").stat().st_size <= 8192 + 3 * 8192

    command("list")
    line = capfd.readouterr().out.splitlines()[1]
    assert line.split() == ["OK", "Compute", folder.relative_to("out/profiles").as_posix()]
    command("list", "--json")
    entry = json.loads(capfd.readouterr().out)[0]
    assert entry["kernel"] == "attention_full" and entry["bottleneck"] == "Compute"

    # What is stored shows the same verdicts, kernel by kernel.
    command("diagnose", str(folder))
    again = capfd.readouterr().out
    assert again.partition("\n3 kernels, ")[0] == screen.partition("\n3 kernels, ")[0]

    for name in ("profile.json", "contract.json", "contract.md"):
        command("schema", "--check", str(folder / name))
        assert capfd.readouterr().out.startswith(f"valid: {name}, ")


def test_import_into_a_folder_of_ones_own_never_overwrites(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    recording = str(ROOT / "examples" / "cutile_mla.ncu-rep.xz")
    for expected in ("mine", "mine-2", "mine-3"):
        command("import", recording, "--out_dir", str(tmp_path / "mine"))
        assert capfd.readouterr().out.strip() == f"{tmp_path}/{expected}/report.md"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "mine-2", "mine-3"]


def test_kernel_and_top_choose(capfd: pytest.CaptureFixture[str]) -> None:
    zoo = str(ROOT / "examples" / "zoo_a.ncu-rep.xz")
    command("diagnose", zoo, "--kernel", "^(fma|hmma)_bound$")
    out = capfd.readouterr().out
    assert "2 kernels" in out and "copy_stream" not in out
    command("diagnose", zoo, "--top", "2")
    assert "others (6)" in capfd.readouterr().out
    command("diagnose", zoo, "--kernel", "nothing", code=2)
    assert "no kernel matches --kernel 'nothing'; there are: " in capfd.readouterr().err


def test_the_module_and_the_script_are_one(tmp_path: Path) -> None:
    recording = ROOT / "examples" / "cutile_mla.ncu-rep.xz"
    ran = mla("diagnose", recording, cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert_presentable(ran.out)
    assert "Latency-bound" in ran.out
