"""The diagnosis for programs: record and verdict in one JSON document."""

from typing import Any, Literal

import msgspec

from mla_var3.core.device import Device
from mla_var3.core.diagnosis import ProfileDiagnosis
from mla_var3.core.record import Profile

FORMAT = "mla_var3/diagnosis"


class DiagnosisDocument(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What `mla diagnose --json` prints: every figure has its value, unit, source and raw name."""

    format: Literal["mla_var3/diagnosis"]
    schema_version: Literal[1]
    file: str
    """Name of the file that was read, without its directory."""
    diagnosis: ProfileDiagnosis
    profile: Profile
    """The record as it was read, each metric written out in full."""
    device: Device | None = None
    """The device's entry in the table of peaks; None: the product is not in it."""


def render_json(
    profile: Profile, diagnosis: ProfileDiagnosis, file: str, device: Device | None
) -> str:
    """The document on one line, with the end of the line."""
    document = DiagnosisDocument(
        format="mla_var3/diagnosis",
        schema_version=1,
        file=file,
        diagnosis=diagnosis,
        profile=profile,
        device=device,
    )
    return msgspec.json.encode(document).decode() + "\n"


def json_schema() -> dict[str, Any]:
    """The published JSON Schema of that document."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"{FORMAT} 1"}
    return head | msgspec.json.schema(DiagnosisDocument)
