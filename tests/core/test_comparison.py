"""`comparison.json`: what may stand in it, and that its verdict follows from the file."""

import json
from pathlib import Path

import jsonschema
import msgspec
import pytest
from tests.support.comparisons import WHERE, comparison_of, run_of, shape_of

from mla_var3.analyse.comparison import judge
from mla_var3.core.comparison import (
    Floors,
    Shape,
    StoredSeries,
    json_schema,
    load_comparison,
    save_comparison,
)
from mla_var3.core.errors import ContradictoryRecord, NotFound, NoUsableData

FULL = comparison_of(
    shape_of(run_of(-3.4, mhz=(1392.0, 1390.0)), params={"s": 32}),
    shape_of(run_of(0.9, 30, 4.0), params={"s": 48}),
    shape_of(failure="B gives wrong results", params={"s": 64}, outputs={}),
)


def test_the_file_gives_the_same_verdict_again(tmp_path: Path) -> None:
    path = tmp_path / "comparison.json"
    save_comparison(msgspec.structs.replace(FULL, verdict=judge(FULL)), path)
    loaded = load_comparison(path)
    assert loaded.shapes == FULL.shapes
    assert loaded.verdict == judge(loaded) == judge(FULL)
    assert [shape.word for shape in judge(FULL).shapes] == ["faster", "inconclusive", "failed"]


def test_the_file_fits_its_schema(tmp_path: Path) -> None:
    path = tmp_path / "comparison.json"
    save_comparison(msgspec.structs.replace(FULL, verdict=judge(FULL)), path)
    document = json.loads(path.read_text(encoding="utf-8"))
    jsonschema.validate(document, json_schema())
    assert document["format"] == "mla_var3/comparison"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**document, "shapes": "none"}, json_schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({k: v for k, v in document.items() if k != "format"}, json_schema())


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"format": "mla_var3/timing"}'])
def test_another_file_is_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "comparison.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(NoUsableData, match=r"comparison.json is no comparison of mla_var3"):
        load_comparison(path)


def test_a_damaged_quad_is_told(tmp_path: Path) -> None:
    path = tmp_path / "comparison.json"
    save_comparison(FULL, path)
    document = json.loads(path.read_text(encoding="utf-8"))
    document["shapes"][0]["runs"][0]["quads"][3]["legs"][0]["side"] = "A"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(NoUsableData, match="the legs of a quad are AAAB, not"):
        load_comparison(path)
    with pytest.raises(NotFound, match=r"no other.json"):
        load_comparison(tmp_path / "other.json")


def test_what_contradicts_itself_cannot_be_built() -> None:
    stored = (StoredSeries(samples_ns=(1.0,)), StoredSeries(samples_ns=(1.0,)))
    with pytest.raises(ContradictoryRecord, match="failed has no times"):
        Shape(a=WHERE, b=WHERE, runs=(run_of(0.0),), failure="wrong")
    with pytest.raises(ContradictoryRecord, match="not both"):
        Shape(a=WHERE, b=WHERE, runs=(run_of(0.0),), stored=stored)
    with pytest.raises(ContradictoryRecord, match="no shape"):
        comparison_of()


def test_the_largest_floor_counts() -> None:
    assert Floors(least_pct=1.0).pct == 1.0
    assert Floors(least_pct=1.0, machine_pct=1.4, typed_pct=0.5).pct == 1.4
    assert Floors(least_pct=1.0, machine_pct=0.4, typed_pct=2.0).pct == 2.0
