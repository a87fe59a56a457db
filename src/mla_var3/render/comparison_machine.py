"""The verdict of a comparison for programs: one JSON document, without the raw samples."""

from typing import Any, Literal

import msgspec

from mla_var3.core.comparison import Comparison, Conditions, Floors, Side
from mla_var3.core.comparison_verdict import ComparisonVerdict

FORMAT: Literal["mla_var3/comparison-verdict"] = "mla_var3/comparison-verdict"


class ComparisonDocument(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What `mla compare --json` prints; `shapes` and `verdict.shapes` are in the same order."""

    format: Literal["mla_var3/comparison-verdict"]
    schema_version: Literal[1]
    a: Side
    b: Side
    shapes: tuple[Conditions, ...]
    """Of side A."""
    floors: Floors
    verdict: ComparisonVerdict
    exit_code: int
    processes: int = 1
    warnings: tuple[str, ...] = ()
    missing: dict[str, str] = {}


def render_comparison_json(
    comparison: Comparison, verdict: ComparisonVerdict, exit_code: int
) -> str:
    """The document on one line, with the end of the line."""
    document = ComparisonDocument(
        format=FORMAT,
        schema_version=1,
        a=comparison.a,
        b=comparison.b,
        shapes=tuple(shape.a for shape in comparison.shapes),
        floors=comparison.floors,
        verdict=verdict,
        exit_code=exit_code,
        processes=comparison.processes,
        warnings=comparison.warnings,
        missing=comparison.missing,
    )
    return msgspec.json.encode(document).decode() + "\n"


def json_schema() -> dict[str, Any]:
    """The published JSON Schema of that document."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"{FORMAT} 1"}
    return head | msgspec.json.schema(ComparisonDocument)
