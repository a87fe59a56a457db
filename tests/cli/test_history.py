"""`mla history` as it is typed: table, CSV, JSON, SQL, damage, and ten thousand profiles."""

import csv
import io
import json
import resource
import sys
from pathlib import Path

import pytest
from tests.cli.command import mla
from tests.support.histories import as_files, many, store, stored

from mla_var3 import load_profile

H200 = Path(__file__).parents[2] / "examples" / "h200"
LIMIT_S = 2.0


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A change of 10 % after 12 of 24 runs, and one profile that is damaged."""
    times = [100.0 + 0.1 * (n % 5) + (10.0 if n >= 12 else 0.0) for n in range(24)]
    folders = store(tmp_path, [stored(n, us) for n, us in enumerate(times)])
    broken = folders[0].with_name("run-99999")
    broken.mkdir()
    (broken / "profile.json").write_text("{")
    left = folders[0].with_name(".incomplete-abcd1234")
    left.mkdir()
    (left / "profile.json").write_text("{")
    return tmp_path


def test_the_table(root: Path) -> None:
    ran = mla("history", root, "--last=3")
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert max(map(len, lines)) <= 100
    assert (
        lines[2] == "flash_mla v1 · cutile · b=32 s=16 t=4096 h=128 bfloat16 · NVIDIA H200 · event"
    )
    assert lines[3] == "  … 21 earlier runs (--last=0 shows all)"
    assert lines[4].split()[:4] == ["2026-01-01", "00:21", "110.1", "µs"]
    assert "changed from 2026-01-01 00:12 on: median 100.2 µs → 110.2 µs, +10.0 %" in ran.out
    # U = 2·78 - 12·25 = -144, p = 2 exp(-6·144² / (24³ + 24²)) = 0.00035.
    assert "(12 and 12 runs, p 0.0004)" in " ".join(ran.out.split())
    assert "damaged: event/flash_mla_v1/b32_s16/run-99999: no record" in ran.out
    assert "24 profiles, 1 damaged." in ran.out
    assert "incomplete" not in ran.out


def test_csv_holds_every_figure_of_the_files() -> None:
    ran = mla("history", H200, "--csv")
    rows = list(csv.DictReader(io.StringIO(ran.out)))
    files = sorted(H200.glob("*/profile.json"))
    assert [row["profile"] for row in rows] == [file.parent.name for file in files]
    for row, file in zip(rows, files, strict=True):
        data = json.loads(file.read_bytes())
        metrics = data.get("end_to_end", {}).get("metrics", {})
        ns = [metrics] if metrics else [stage["metrics"] for stage in data["stages"]]
        whole = sum(found["duration"][0] for found in ns)
        assert float(row["duration_us"]) == pytest.approx(whole / 1e3)
        power = metrics.get("power")
        assert row["power_w"] == ("" if power is None else str(power[0]))
        assert json.loads(row["params"]) == data["plan"]["params"]


def test_its_json_fits_the_schema(root: Path, tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    document = json.loads(mla("history", root, "--json").out)
    schema = json.loads(mla("schema", "history").out)
    jsonschema.validate(document, schema)
    file = tmp_path / "h.json"
    file.write_text(json.dumps(document))
    assert mla("schema", "--check", file).out == "valid: h.json, history of 24 profiles\n"
    document["changed"][0]["change_points"][0]["p"] = "small"
    file.write_text(json.dumps(document, indent=1))
    assert mla("schema", "--check", file).code == 5


def test_json_tells_change_points_and_reasons(root: Path) -> None:
    found = json.loads(mla("history", root, "--json").out)
    assert found["format"] == "mla_var3/history" and len(found["profiles"]) == 24
    (point,) = found["changed"][0]["change_points"]
    assert (point["first_after"], point["runs_before"], point["runs_after"]) == (12, 12, 12)
    first = found["profiles"][0]
    assert first["missing"]["temperature_c"] == "the driver does not tell"
    assert "temperature_c" not in first
    assert list(found["damaged"]) == ["event/flash_mla_v1/b32_s16/run-99999"]


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("nowhere",), 2, "NOT_FOUND nowhere"),
        (("--csv", "--json"), 2, "--csv or --json, not both"),
        (("--last=-1",), 2, "must be at least 0"),
        (("--kernel=nope",), 2, "no profile of --kernel=nope; there are flash_mla (event)"),
        (("--mode=ncu",), 2, "no profile of --mode=ncu"),
    ],
)
def test_what_is_refused(root: Path, words: tuple[str, ...], code: int, told: str) -> None:
    where = () if words == ("nowhere",) else (root,)
    ran = mla("history", *where, *words, cwd=root)
    assert (ran.code, ran.out) == (code, "")
    assert told in ran.err and ran.err.count("\n") == 1


def test_an_empty_store_is_no_error(tmp_path: Path) -> None:
    ran = mla("history", cwd=tmp_path)
    assert (ran.code, ran.out.partition(".")[0]) == (0, "No profiles are stored there yet")


def test_sql_as_table_csv_and_json(root: Path) -> None:
    pytest.importorskip("duckdb")
    sql = "SELECT version, count(*) AS n, max(duration_us) AS most FROM profiles GROUP BY 1"
    assert mla("history", root, "--sql", sql).out.splitlines() == [
        "version   n   most", "v1       24  110.4", "", "1 row",
    ]  # fmt: skip
    assert mla("history", root, "--sql", sql, "--csv").out == "version,n,most\nv1,24,110.4\n"
    told = json.loads(mla("history", root, "--sql", sql, "--json").out)
    assert told == [{"version": "v1", "n": 24, "most": 110.4}]
    ran = mla("history", root, "--sql", "DELETE FROM profiles")
    assert (ran.code, ran.out) == (2, "")
    wide = mla("history", root, "--sql", "SELECT * FROM profiles").out
    assert max(map(len, wide.splitlines())) <= 100


def test_sql_needs_the_extra(root: Path, tmp_path: Path) -> None:
    """Python without its site-packages' DuckDB: a finder that hides it."""
    hide = tmp_path / "hide"
    hide.mkdir()
    (hide / "sitecustomize.py").write_text(
        "import importlib.util as u\nreal = u.find_spec\n"
        "u.find_spec = lambda n, p=None: None if n == 'duckdb' else real(n, p)\n"
    )
    ran = mla("history", root, "--sql", "SELECT 1", PYTHONPATH=f"{hide}:{':'.join(sys.path[1:2])}")
    assert (ran.code, ran.out) == (3, "")
    assert "pip install 'mla_var3[history]'" in ran.err


def children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_thousands_of_profiles_are_quick(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """In full: 10,000 profiles, half of them of 20 kB, in 2 s by table and by SQL.

    Processor time of the command, the best of three: other programs of the machine do not count.
    """
    full = request.config.getoption("--full")
    count = 10_000 if full else 400
    for place, half in (("a", "annotation_flash_mla_v1_s16"), ("e", "event_flash_mla_v1_s16")):
        many(tmp_path / place, count // 2, as_files(load_profile(H200 / half)))
    ways: list[tuple[str, ...]] = [(), ("--csv",)]
    if full:
        pytest.importorskip("duckdb")
        ways.append(("--sql", "SELECT count(*), sum(duration_us) FROM profiles"))
    for words in ways:
        took = []
        for _ in range(3):
            begin = children_s()
            ran = mla("history", tmp_path, *words)
            took.append(children_s() - begin)
            assert ran.code == 0
        if not words:
            assert f"{count} profiles" in ran.out
        assert min(took) <= LIMIT_S, (words, took)
