"""`mla schema`: the published formats, and the check of a file against its format."""

import dataclasses
import json
from pathlib import Path

from mla_var3.cli.arguments import nearest, parse
from mla_var3.cli.console import show
from mla_var3.cli.options import option, positional
from mla_var3.core import record_file, timing
from mla_var3.core.errors import BadArgument, MlaError, NoUsableData
from mla_var3.render import contract, machine
from mla_var3.runtime.checking import check_file

SCHEMAS = {
    "profile": record_file.json_schema,
    "contract": contract.json_schema,
    "diagnosis": machine.json_schema,
    "timing": timing.json_schema,
}


@dataclasses.dataclass(frozen=True)
class Schema:
    """The JSON Schema of a profile, a contract, the diagnosis or a timing; or check a file."""

    kind: str = positional(
        "profile, contract, diagnosis or timing",
        metavar="FORMAT",
        shown="default: profile",
        default="profile",
    )
    check: str = option(
        "",
        "check this profile, contract, timing.json or --json output instead",
        metavar="FILE",
        shown="default: print the schema",
    )


def run(argv: list[str]) -> int:
    """Print the schema or the result of the check; returns the exit code."""
    options = parse(Schema, "schema", argv)
    if options.kind not in SCHEMAS:
        hint = nearest(options.kind, list(SCHEMAS)) or f"; there are {', '.join(SCHEMAS)}"
        raise BadArgument(f"no format {options.kind!r}{hint}")
    if not options.check:
        show(json.dumps(SCHEMAS[options.kind](), indent=1, ensure_ascii=False) + "\n")
        return 0
    path = Path(options.check)
    try:
        show(f"valid: {path.name}, {check_file(path)}\n")
    except MlaError as error:
        if not isinstance(error, NoUsableData) or str(error).startswith("INVALID"):
            raise
        raise NoUsableData(f"INVALID {path.name}: {error}") from None
    return 0
