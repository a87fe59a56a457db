"""`mla import` and `mla diagnose` of recordings of nsys, as they are typed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.nsys_exports import KERNELS, edit, many_kernels, unpack

from mla_var3.cli import main as cli
from mla_var3.core import artifacts
from mla_var3.core.record_file import load_profile
from mla_var3.core.timeline import load_timeline
from mla_var3.measure.nsys_reader import read_timeline

Capture = pytest.CaptureFixture[str]
EXAMPLES = Path(__file__).parents[2] / "examples"
SECRET = "hunter2-PLANTED-7f3a9c"
MEASURED = (
    "import re, sys, time\n"
    "from pathlib import Path\n"
    "from mla_var3.cli import main\n"
    "code = main.main(sys.argv[1:])\n"
    # Not ru_maxrss: a new process begins with that of the one which started it.
    "peak = re.search(r'VmHWM:\\s+(\\d+)', Path('/proc/self/status').read_text())\n"
    "print(code, time.process_time(), int(peak[1]) / 1024, file=sys.stderr)\n"
)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def measured(*words: str) -> tuple[int, float, float]:
    """Exit code, seconds of a processor, and MiB of the whole command."""
    command = [sys.executable, "-c", MEASURED, *words]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    code, seconds, mib = result.stderr.split()[-3:]
    return int(code), float(seconds), float(mib)


@pytest.mark.parametrize("name", ["concurrent", "copies", "launchbound"])
def test_a_recording_is_stored(name: str, here: Path, capfd: Capture) -> None:
    assert cli.main(["import", str(EXAMPLES / f"{name}.sqlite.xz")]) == 0
    out, err = capfd.readouterr()
    report = Path(out.strip())
    folder = report.parent
    assert folder.parent.as_posix() == f"out/profiles/nsys/{name}/imported"
    assert report.name == artifacts.REPORT_MD and report.is_file()
    assert err.startswith("stored report.md") and "Next: mla list" in err
    timeline = read_timeline(EXAMPLES / f"{name}.sqlite.xz")
    assert load_timeline(folder / artifacts.SPANS) == timeline
    profile = load_profile(folder)
    assert profile.source is not None and profile.source.kind == "nsys-sqlite"
    assert profile.mode == "nsys" and len(list(folder.rglob("*.sqlite*"))) == 0


def test_nothing_of_the_environment_is_stored(here: Path, capfd: Capture) -> None:
    path = unpack("concurrent", here)
    pair = f"'HF_TOKEN={SECRET} /home/alice/{SECRET}'"
    edit(
        path,
        "CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT)",
        f"INSERT INTO PROCESSES VALUES (1, 1, {pair})",
        f"INSERT INTO StringIds VALUES (80000, {pair})",
        f"INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:ENV', {pair})",
        f"INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_USER', '{SECRET}')",
        f"INSERT INTO TARGET_INFO_SYSTEM_ENV (name, value) VALUES ('Hostname', '{SECRET}')",
        f"INSERT INTO DIAGNOSTIC_EVENT (severity, text) VALUES (3, {pair})",
        "INSERT INTO DIAGNOSTIC_EVENT (severity, text, timestamp) VALUES "
        f"(2, 'of user {SECRET} in /home/alice', 1)",
    )
    assert cli.main(["import", str(path), "--out_dir", "stored"]) == 0
    written = [file for file in (here / "stored").rglob("*") if file.is_file()]
    assert len(written) > 2
    for file in written:
        for word in (SECRET, "alice", str(here)):
            assert word.encode() not in file.read_bytes(), (file.name, word)
    assert SECRET not in "".join(capfd.readouterr())


def test_an_export_without_kernels_stores_nothing(here: Path, capfd: Capture) -> None:
    path = edit(unpack("concurrent", here), f"DROP TABLE {KERNELS}")
    for command in ("import", "diagnose"):
        assert cli.main([command, str(path)]) == 5
        out, err = capfd.readouterr()
        assert out == "" and err.startswith("NO_KERNELS concurrent.sqlite: kernels were not traced")
        assert err.count("\n") == 1 and str(here) not in err
    assert sorted(p.name for p in here.iterdir()) == ["concurrent.sqlite"]


def test_no_kernel_has_a_class(here: Path, capfd: Capture) -> None:
    assert cli.main(["diagnose", str(EXAMPLES / "launchbound.sqlite.xz")]) == 0
    out = capfd.readouterr().out
    assert "launchbound" in out and all(len(line) <= 100 for line in out.splitlines())
    for word in ("Memory-bound", "Compute-bound", "Latency-bound", "uncoalesced"):
        assert word not in out
    assert cli.main(["diagnose", str(EXAMPLES / "launchbound.sqlite.xz"), "--json"]) == 0
    document = json.loads(capfd.readouterr().out)
    assert {stage["bound"] for stage in document["diagnosis"]["stages"]} == {"Unknown"}


def test_a_choice_of_kernels_is_refused(here: Path, capfd: Capture) -> None:
    path = str(EXAMPLES / "copies.sqlite.xz")
    assert cli.main(["diagnose", path, "--kernel", "nvjet"]) == 2
    assert "a timeline is judged as a whole" in capfd.readouterr().err


def test_three_hundred_kernels_take_a_second(here: Path) -> None:
    code, seconds, mib = measured("import", str(unpack("launchbound", here)))
    assert code == 0
    assert seconds <= 1.0 and mib <= 150


def test_many_kernels(here: Path, pytestconfig: pytest.Config) -> None:
    number = 200_000 if pytestconfig.getoption("--full") else 3_000
    path = many_kernels(unpack("concurrent", here), number)
    code, seconds, mib = measured("import", str(path), "--out_dir", str(here / "stored"))
    assert code == 0 and len(load_timeline(here / "stored" / artifacts.SPANS).calls) == number
    assert seconds <= 20
    print(f"{number} kernels: {seconds:.1f} s, {mib:.0f} MiB")
