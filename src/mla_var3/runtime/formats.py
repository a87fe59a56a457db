"""Every JSON that is written with a `format`, by its name: what reads it, and its JSON Schema.

A format is added here, and `mla schema` prints and checks it. Modules are imported when asked for.
"""

import importlib
from typing import Any, NamedTuple

import msgspec

DIALECT = "https://json-schema.org/draft/2020-12/schema"


class Format(NamedTuple):
    """Where the struct of a format lives, and what its files are counted by."""

    module: str
    struct: str
    counted: str = ""
    """Path of what is counted: `series.samples_ns`; empty: nothing is."""
    noun: str = ""

    @property
    def kind(self) -> type[msgspec.Struct]:
        """The struct that a file is decoded as."""
        found: type[msgspec.Struct] = getattr(self._loaded(), self.struct)
        return found

    def schema(self, name: str) -> dict[str, Any]:
        """The JSON Schema; of the module itself where it publishes one."""
        own = getattr(self._loaded(), "json_schema", None)
        if own is not None:
            published: dict[str, Any] = own()
            return published
        schema = msgspec.json.schema(self.kind)
        required = schema["$defs"][self.struct].setdefault("required", [])
        required += [field for field in ("format", "schema_version") if field not in required]
        return {"$schema": DIALECT, "title": f"{PREFIX}{name} 1"} | schema

    def counted_in(self, found: Any) -> str:
        """` of 3 samples`; empty where nothing is counted."""
        if not self.counted:
            return ""
        for word in self.counted.split("."):
            found = getattr(found, word)
        return f" of {len(found)} {self.noun}" + ("" if len(found) == 1 else "s")

    def _loaded(self) -> Any:
        return importlib.import_module(f"mla_var3.{self.module}")


PREFIX = "mla_var3/"
FORMATS = {
    "profile": Format("core.record_file", "Profile", "stages", "stage"),
    "contract": Format("render.contract", "Contract", "stages", "stage"),
    "diagnosis": Format("render.machine", "DiagnosisDocument", "profile.stages", "stage"),
    "timing": Format("core.timing", "Timing", "series.samples_ns", "sample"),
    "annotation": Format("core.annotation", "AnnotationRun"),
    "operators": Format("core.operators", "OperatorTable", "stages", "stage"),
    "ncu": Format("core.ncu_facts", "NcuFacts"),
    "baseline": Format("core.baseline", "Baseline"),
    "spans": Format("core.timeline", "Timeline", "operations", "operation"),
    "comparison": Format("core.comparison", "Comparison", "shapes", "shape"),
    "comparison-verdict": Format("render.comparison_machine", "ComparisonDocument"),
    "doctor": Format("core.doctor", "Findings", "checks", "check"),
    "history": Format("render.history_data", "HistoryDocument", "profiles", "profile"),
    "race": Format("core.race", "Race", "rounds", "round"),
    "race-standings": Format("render.race_screen", "RaceDocument", "standings", "contender"),
}
