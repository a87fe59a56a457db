"""SQL over stored profiles: values against plain JSON, and no way out of the two tables."""

import importlib.util
import json
import statistics
from datetime import datetime
from pathlib import Path

import pytest
from tests.support.histories import store, stored

from mla_var3.core.errors import BadArgument, MachineCannot
from mla_var3.core.history import Run
from mla_var3.runtime.history import read_history
from mla_var3.runtime.history_sql import TABLES, query

H200 = Path(__file__).parents[2] / "examples" / "h200"
needs_duckdb = pytest.mark.skipif(
    importlib.util.find_spec("duckdb") is None, reason="DuckDB is not installed"
)


@pytest.fixture(scope="module")
def runs() -> tuple[Run, ...]:
    return read_history(H200).runs


def plain() -> list[dict[str, object]]:
    """The same files by the standard library alone."""
    return [json.loads(file.read_bytes()) for file in sorted(H200.glob("*/profile.json"))]


@needs_duckdb
def test_durations_agree_with_the_json_files(runs: tuple[Run, ...]) -> None:
    answer = query(runs, "SELECT profile, duration_us, s, dtype, causal FROM profiles ORDER BY 1")
    assert answer.columns == ("profile", "duration_us", "s", "dtype", "causal")
    wanted = []
    for file in sorted(H200.glob("*/profile.json")):
        data = json.loads(file.read_bytes())
        params = data["plan"]["params"]
        parts = [data["end_to_end"]] if "end_to_end" in data else data["stages"]
        us = sum(part["metrics"]["duration"][0] for part in parts) / 1e3
        wanted.append(
            (file.parent.name, us, params.get("s"), params["dtype"], params.get("causal"))
        )
    assert [row[0] for row in answer.rows] == [row[0] for row in wanted]
    for row, other in zip(answer.rows, wanted, strict=True):
        assert row[1] == pytest.approx(other[1], rel=1e-12)
        assert row[2:] == other[2:]


@needs_duckdb
def test_aggregates_agree_with_plain_arithmetic(runs: tuple[Run, ...]) -> None:
    sql = """SELECT kernel, count(*), median(duration_us), count(kernels_us)
             FROM profiles WHERE mode = 'annotation' GROUP BY ALL ORDER BY 1"""
    groups: dict[str, list[float]] = {}
    for data in plain():
        if data["mode"] == "annotation":
            name = data["plan"]["kernel"]  # type: ignore[index]
            us = data["end_to_end"]["metrics"]["duration"][0] / 1e3  # type: ignore[index]
            groups.setdefault(name, []).append(us)
    rows = query(runs, sql).rows
    assert [(row[0], row[1]) for row in rows] == [(k, len(groups[k])) for k in sorted(groups)]
    for row in rows:
        assert row[2] == pytest.approx(statistics.median(groups[row[0]]))


@needs_duckdb
def test_stages_join_their_profiles(runs: tuple[Run, ...]) -> None:
    sql = """SELECT stage, tensor_pct FROM stages JOIN profiles USING (profile)
             WHERE mode = 'annotation' AND kernel = 'flash_mla' AND version = 'v1' AND s = 1
             ORDER BY stage"""
    data = json.loads((H200 / "annotation_flash_mla_v1_s1" / "profile.json").read_bytes())
    wanted = sorted((s["name"], s["metrics"]["tensor"][0]) for s in data["stages"])
    assert query(runs, sql).rows == wanted


@needs_duckdb
def test_what_is_missing_is_null_and_never_zero(tmp_path: Path) -> None:
    failed = stored(1, 1.0, status="KERNEL_FAILED", stages=(), end_to_end=None, failure="died")
    odd = stored(
        2, 3.0, created="no time", params={"b": 2**63 - 1, "s": True, "t": 2.5, "dtype": 7}
    )
    store(tmp_path, [stored(0, 100.0), failed, odd])
    sql = "SELECT status, created, duration_us, power_w, failure, b, s, t, dtype FROM profiles"
    minutes = [datetime(2026, 1, 1, 0, minute) for minute in (0, 1)]
    assert query(read_history(tmp_path).runs, f"{sql} ORDER BY profile").rows == [
        ("OK", minutes[0], 100.0, None, None, 32, 16, 4096, "bfloat16"),
        ("KERNEL_FAILED", minutes[1], None, None, "died", 32, 16, 4096, "bfloat16"),
        ("OK", None, 3.0, None, None, 2**63 - 1, None, None, None),
    ]


@needs_duckdb
@pytest.mark.parametrize("table", ["stages", "STAGES", '"stages"', "query('SELECT * FROM stages')",
                                   "query_table('stages')", "(TABLE stages)"])  # fmt: skip
def test_a_table_is_full_however_it_is_named(runs: tuple[Run, ...], table: str) -> None:
    count = sum(len(run.stages) for run in runs)
    assert query(runs, f"SELECT count(*) FROM {table}").rows == [(count,)]
    both = f"WITH x AS (SELECT * FROM {table}) SELECT count(*) FROM x, (SELECT 1)"
    assert query(runs, both).rows == [(count,)]


@needs_duckdb
def test_every_declared_column_is_there_with_its_type(runs: tuple[Run, ...]) -> None:
    for name, columns in TABLES.items():
        told = [(row[0], row[1]) for row in query(runs, f"DESCRIBE {name}").rows]
        assert told == [(column.name, column.type) for column in columns]
        assert query((), f"SELECT count(*) FROM {name}").rows == [(0,)]


@needs_duckdb
@pytest.mark.parametrize(
    ("sql", "word"),
    [
        ("INSERT INTO profiles (kernel) VALUES ('x')", "INSERT"),
        ("DROP TABLE profiles", "DROP"),
        ("SELECT 1; SELECT 2", "SELECT and SELECT"),
        ("SELECT 1; DROP TABLE profiles", "SELECT and DROP"),
        ("COPY profiles TO 'out.csv'", "COPY"),
        ("ATTACH 'x.db'", "ATTACH"),
        ("INSTALL httpfs", "LOAD"),
        ("SET enable_external_access = true", "SET"),
        ("PRAGMA version", "PRAGMA"),
        ("CREATE TABLE t AS SELECT 1", "CREATE"),
        ("", "nothing"),
        ("-- only a remark", "nothing"),
    ],
)
def test_only_one_select_is_taken(runs: tuple[Run, ...], sql: str, word: str) -> None:
    with pytest.raises(BadArgument, match=f"takes one SELECT, not {word}"):
        query(runs, sql)


@needs_duckdb
@pytest.mark.parametrize(
    "source",
    ["read_csv('{file}')", "read_text('{file}')", "read_blob('{file}')", "glob('{folder}/*')",
     "read_json('{file}')", "'{file}'", "read_parquet('https://example.invalid/x.parquet')"],
)  # fmt: skip
def test_no_file_is_reached(runs: tuple[Run, ...], tmp_path: Path, source: str) -> None:
    file = tmp_path / "secret.csv"
    file.write_text("word\nhidden-word\n")
    sql = f"SELECT * FROM {source.format(file=file, folder=tmp_path)}"
    with pytest.raises(BadArgument) as error:
        query(runs, sql)
    assert "hidden-word" not in str(error.value)
    assert [path.name for path in tmp_path.iterdir()] == ["secret.csv"]


@needs_duckdb
@pytest.mark.parametrize("sql", ["SELEC 1", "SELECT nope FROM profiles", "SELECT * FROM other"])
def test_a_wrong_query_is_one_line(runs: tuple[Run, ...], sql: str) -> None:
    with pytest.raises(BadArgument) as error:
        query(runs, sql)
    assert str(error.value).startswith("--sql: ") and "\n" not in str(error.value)
    assert "DESCRIBE profiles" in str(error.value)


def test_without_duckdb_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec

    def absent(name: str, package: str | None = None) -> object:
        return None if name == "duckdb" else real(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", absent)
    with pytest.raises(MachineCannot, match=r"pip install 'mla_var3\[history\]'") as error:
        query((), "SELECT 1")
    assert error.value.exit_code == 3
