"""A damaged record: rejected by the published schema and by the reader, always in one line."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.support.records import simple

from mla_var3.core.errors import NotFound, NoUsableData
from mla_var3.core.record_file import json_schema, load_profile, save_profile, to_files

SCHEMA = json_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
Edit = Callable[[dict[str, Any]], object]


def damage(edit: Edit, stages: int = 1) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(to_files(simple(stages))["profile.json"])
    edit(data)
    return data


SCHEMA_VIOLATIONS: dict[str, Edit] = {
    "no format": lambda d: d.pop("format"),
    "other format": lambda d: d.update(format="ncu"),
    "version 2": lambda d: d.update(schema_version=2),
    "no stages": lambda d: d.pop("stages"),
    "no columns": lambda d: d.pop("columns"),
    "column of two": lambda d: d["columns"][0].pop(),
    "unknown source": lambda d: d["columns"][0].__setitem__(1, "guess"),
    "empty raw name": lambda d: d["columns"][0].__setitem__(2, ""),
    "metric of one": lambda d: d["stages"][0]["metrics"]["duration"].pop(),
    "text as value": lambda d: d["stages"][0]["metrics"].update(duration=["1000", 0]),
    "negative column": lambda d: d["stages"][0]["metrics"].update(duration=[1, -1]),
    "plain metric": lambda d: d["stages"][0]["metrics"].update(duration=1000),
    "missing ungrouped": lambda d: d["stages"][0].update(missing={"dram": "why"}),
    "unknown status": lambda d: d.update(status="FINE"),
    "unknown mode": lambda d: d.update(mode="guess"),
    "stage without name": lambda d: d["stages"][0].pop("name"),
}
DAMAGE: dict[str, Edit] = SCHEMA_VIOLATIONS | {
    "column out of range": lambda d: d["stages"][0]["metrics"].update(duration=[1, 7]),
    "OK with a failure": lambda d: d.update(failure="why"),
    "twice the same stage": lambda d: d["stages"].append(d["stages"][0]),
    "measured and missing": lambda d: d["stages"][0].update(missing={"why": ["duration"]}),
    "stages an object": lambda d: d.update(stages={}),
    "stage a number": lambda d: d.update(stages=[1]),
    "columns null": lambda d: d.update(columns=None),
    "metrics null": lambda d: d["stages"][0].update(metrics=None),
    "missing a list": lambda d: d["stages"][0].update(missing=["dram"]),
    "profile missing a list": lambda d: d.update(missing=["dram"]),
    "profile missing a number": lambda d: d.update(missing={"why": 3}),
    "more stages than files": lambda d: d.update(more_stages=3),
    "more stages a text": lambda d: d.update(more_stages="three"),
    "more stages negative": lambda d: d.update(more_stages=-1),
}


def assert_one_line(error: NoUsableData) -> None:
    message = str(error)
    assert message and "\n" not in message and error.exit_code == 5
    assert "nan" not in message.lower().split() and "Traceback" not in message


def test_the_schema_is_a_valid_schema_with_an_address_and_a_title() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert SCHEMA["title"] == "mla_var3/profile 1"


@pytest.mark.parametrize("name", SCHEMA_VIOLATIONS)
def test_the_schema_rejects_a_damaged_file(name: str) -> None:
    data = damage(SCHEMA_VIOLATIONS[name])
    assert not VALIDATOR.is_valid(data)


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_file_is_one_line(name: str, tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(damage(DAMAGE[name])))
    with pytest.raises(NoUsableData) as caught:
        load_profile(path)
    assert_one_line(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"1",
        b"null",
        b"\xff\xfe",
        b'{"a": 1}',
        b"==PROF== Connected",
        b"{}",
        b"[" * 10**6,
        b'{"a":' * 10**5,
    ],
)
def test_a_file_that_is_no_record_is_one_line(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    path.write_bytes(content)
    with pytest.raises(NoUsableData) as caught:
        load_profile(path)
    assert_one_line(caught.value)
    assert "is not a record of mla_var3" in str(caught.value)


def test_an_unknown_version_is_named(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(damage(lambda d: d.update(schema_version=7))))
    with pytest.raises(NoUsableData, match="has schema version 7, this mla_var3 reads 1"):
        load_profile(path)


def test_every_cut_of_a_file_is_one_line(tmp_path: Path) -> None:
    content = to_files(simple())["profile.json"]
    path = tmp_path / "profile.json"
    for length in range(0, len(content) - 2, 7):
        path.write_bytes(content[:length])
        with pytest.raises(NoUsableData) as caught:
            load_profile(path)
        assert_one_line(caught.value)


def test_a_changed_byte_never_crashes(tmp_path: Path) -> None:
    content = to_files(simple())["profile.json"]
    path = tmp_path / "profile.json"
    rng = random.Random(1)
    for _ in range(400):
        position = rng.randrange(len(content))
        path.write_bytes(content[:position] + bytes([rng.randrange(256)]) + content[position + 1 :])
        try:
            load_profile(path)
        except NoUsableData as error:
            assert_one_line(error)


def test_a_missing_stage_file_is_one_line(tmp_path: Path) -> None:
    save_profile(simple(12), tmp_path)
    (tmp_path / "stages" / "012.json").unlink()
    with pytest.raises(NoUsableData, match="the record is incomplete") as caught:
        load_profile(tmp_path)
    assert_one_line(caught.value)


@pytest.mark.parametrize("content", [b"", b"[]", b'{"columns": []}', b'{"stages": [{}]}'])
def test_a_damaged_stage_file_is_one_line(content: bytes, tmp_path: Path) -> None:
    save_profile(simple(12), tmp_path)
    (tmp_path / "stages" / "012.json").write_bytes(content)
    with pytest.raises(NoUsableData) as caught:
        load_profile(tmp_path)
    assert_one_line(caught.value)


def test_a_place_without_a_record_is_not_found(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "none", tmp_path / "none.json"):
        with pytest.raises(NotFound) as caught:
            load_profile(place)
        assert caught.value.exit_code == 2 and "\n" not in str(caught.value)


def test_no_nan_can_stand_in_a_file(tmp_path: Path) -> None:
    path = save_profile(simple(), tmp_path)
    for word in (b"NaN", b"Infinity", b"1e999", b"null", b'"1000"'):
        path.write_bytes(to_files(simple())["profile.json"].replace(b"[1000,0]", b"[%s,0]" % word))
        with pytest.raises(NoUsableData) as caught:
            load_profile(path)
        assert_one_line(caught.value)
