"""Save and load a record as `profile.json`: small, versioned, byte-stable.

In the file a metric is `[value, n]`, where `columns[n]` is `[unit, source, raw name]`: the names
are written once, not once a stage. `missing` is grouped by reason. Nothing else differs from the
types of `record.py`. Beyond `INLINE_STAGES` stages the rest lie in `stages/NNN.json`, in the
same form, each with its own columns.
"""

from pathlib import Path
from typing import Any

import msgspec

from mla_var3.core import artifacts
from mla_var3.core.errors import NotFound, NoUsableData
from mla_var3.core.record import SCHEMA_VERSION, Profile, Stage

FORMAT = "mla_var3/profile"
Json = dict[str, Any]


def to_files(profile: Profile) -> dict[str, bytes]:
    """The record as file contents by relative name; the first is `profile.json`."""
    data = msgspec.to_builtins(profile)
    stages: list[Json] = data.pop("stages")
    inline, rest = stages[: artifacts.INLINE_STAGES], stages[artifacts.INLINE_STAGES :]
    data["missing"] = _group(data.get("missing", {}))
    head = {"format": FORMAT, "schema_version": SCHEMA_VERSION, **data}
    if rest:
        head["more_stages"] = len(rest)
    files = {artifacts.PROFILE: _encode(_packed_head(head, inline))}
    for position, stage in enumerate(rest, start=len(inline)):
        files[artifacts.stage_file(position)] = _encode(_pack([stage]))
    return files


def save_profile(profile: Profile, folder: Path) -> Path:
    """Write the record below `folder` and return the path of its `profile.json`."""
    for name, content in to_files(profile).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder / artifacts.PROFILE


def load_profile(path: Path | str) -> Profile:
    """Read a record from a profile folder or its `profile.json`.

    Raises `NotFound` without the file and `NoUsableData` where it is not such a record.
    """
    path = Path(path)
    if path.is_dir():
        path = path / artifacts.PROFILE
    if not path.is_file():
        raise NotFound(f"no {path}: give a profile folder or its {artifacts.PROFILE}")
    head = _decode(path)
    _check_version(head, path)
    stages = _unpack(head, path)
    more = head.pop("more_stages", 0)
    if not isinstance(more, int) or more < 0:
        raise NoUsableData(f"{path} is damaged: more_stages is {more!r}")
    for position in range(len(stages), len(stages) + more):
        file = path.parent / artifacts.stage_file(position)
        stages += _unpack(_decode(file), file)
    try:
        return msgspec.convert(head | {"stages": stages}, Profile)
    except (msgspec.ValidationError, ValueError) as error:
        raise NoUsableData(f"{path} is not a valid record: {error}") from error


def json_schema() -> Json:
    """The published JSON Schema of `profile.json`, version `SCHEMA_VERSION`."""
    schema = msgspec.json.schema(Profile)
    definitions = schema["$defs"]
    profile, stage = definitions["Profile"], definitions["Stage"]
    definitions.pop("Metric")
    packed = {
        "type": "array",
        "prefixItems": [{"type": "number"}, {"type": "integer", "minimum": 0}],
        "minItems": 2,
        "maxItems": 2,
        "description": "[value, n]: unit, source and raw name are columns[n]",
    }
    reasons = {
        "type": "object",
        "additionalProperties": {"type": "array", "items": {"type": "string"}},
        "description": "reason -> the keys that are missing for it",
    }
    stage["properties"]["metrics"] = {"type": "object", "additionalProperties": packed}
    stage["properties"]["missing"] = profile["properties"]["missing"] = reasons
    source = definitions["Shares"]["properties"]["source"]
    profile["properties"] = {
        "format": {"const": FORMAT},
        "schema_version": {"const": SCHEMA_VERSION},
        **profile["properties"],
        "more_stages": {"type": "integer", "minimum": 1},
        "columns": {
            "type": "array",
            "items": {
                "type": "array",
                "prefixItems": [{"type": "string"}, source, {"type": "string", "minLength": 1}],
                "minItems": 3,
                "maxItems": 3,
            },
        },
    }
    profile["required"] = ["format", "schema_version", "columns", *profile["required"]]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"{FORMAT} {SCHEMA_VERSION}",
        **schema,
    }


def _packed_head(head: Json, stages: list[Json]) -> Json:
    """The head with its stages; the figures of groups and the whole plan share their columns."""
    groups: list[Json] = head.pop("groups", [])
    whole = [head.pop("end_to_end")] if head.get("end_to_end") is not None else []
    packed = _pack([*stages, *groups, *whole])
    others = packed["stages"][len(stages) :]
    if whole:
        head["end_to_end"] = others.pop()
    if others:
        head["groups"] = others
    return head | packed | {"stages": packed["stages"][: len(stages)]}


def _pack(stages: list[Json]) -> Json:
    columns: dict[tuple[str, str, str], int] = {}
    for stage in stages:
        stage["metrics"] = {
            key: [m["value"], columns.setdefault((m["unit"], m["source"], m["raw"]), len(columns))]
            for key, m in stage["metrics"].items()
        }
        stage["missing"] = _group(stage.get("missing", {}))
    return {"columns": list(columns), "stages": stages}


def _unpack(data: Json, path: Path) -> list[Json]:
    try:
        columns = dict(enumerate(data.pop("columns")))  # a dict: -1 must not mean the last
        stages: list[Json] = data.pop("stages")
        whole = [data["end_to_end"]] if data.get("end_to_end") is not None else []
        for stage in [*stages, *data.get("groups", []), *whole]:
            stage["metrics"] = {
                key: dict(zip(("unit", "source", "raw"), columns[n], strict=True), value=value)
                for key, (value, n) in stage["metrics"].items()
            }
            stage["missing"] = _ungroup(stage.get("missing", {}))
        data["missing"] = _ungroup(data.get("missing", {}))
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise NoUsableData(f"{path} has damaged columns or stages: {error!r}") from error
    return stages


def _group(missing: dict[str, str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for key, reason in missing.items():
        groups.setdefault(reason, []).append(key)
    return groups


def _ungroup(groups: dict[str, list[str]]) -> dict[str, str]:
    if not all(isinstance(keys, list) for keys in groups.values()):
        raise TypeError("missing is not reason -> keys")
    return {key: reason for reason, keys in groups.items() for key in keys}


def _encode(data: Json) -> bytes:
    return msgspec.json.encode(data) + b"\n"


def _decode(path: Path) -> Json:
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except FileNotFoundError as error:
        raise NoUsableData(f"{path} is missing: the record is incomplete") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NoUsableData(f"{path} is not a record of mla_var3: {error}") from error


def _check_version(head: Json, path: Path) -> None:
    if head.pop("format", None) != FORMAT:
        raise NoUsableData(f"{path} is not a record of mla_var3")
    version = head.pop("schema_version", None)
    if version != SCHEMA_VERSION:
        raise NoUsableData(
            f"{path} has schema version {version}, this mla_var3 reads {SCHEMA_VERSION}"
        )


__all__ = ["Profile", "Stage", "json_schema", "load_profile", "save_profile", "to_files"]
