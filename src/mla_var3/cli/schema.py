"""`mla schema`: the published formats, and the check of a file against its format."""

import dataclasses
import json
from pathlib import Path

from mla_var3.cli.arguments import nearest, parse
from mla_var3.cli.console import show
from mla_var3.cli.options import option, positional
from mla_var3.core.errors import BadArgument, MlaError, NoUsableData
from mla_var3.runtime.checking import check_file
from mla_var3.runtime.formats import FORMATS


@dataclasses.dataclass(frozen=True)
class Schema:
    """The JSON Schema of one of our formats, or check a file against the format it names."""

    kind: str = positional(
        ", ".join(FORMATS),
        metavar="FORMAT",
        shown="default: profile",
        default="profile",
    )
    check: str = option(
        "",
        "check this profile folder, contract.md or JSON file instead",
        metavar="FILE",
        shown="default: print the schema",
    )


def run(argv: list[str]) -> int:
    """Print the schema or the result of the check; returns the exit code."""
    options = parse(Schema, "schema", argv)
    known = FORMATS.get(options.kind)
    if known is None:
        hint = nearest(options.kind, list(FORMATS)) or f"; there are {', '.join(FORMATS)}"
        raise BadArgument(f"no format {options.kind!r}{hint}")
    if not options.check:
        show(json.dumps(known.schema(options.kind), indent=1, ensure_ascii=False) + "\n")
        return 0
    path = Path(options.check)
    try:
        show(f"valid: {path.name}, {check_file(path)}\n")
    except MlaError as error:
        if not isinstance(error, NoUsableData) or str(error).startswith("INVALID"):
            raise
        raise NoUsableData(f"INVALID {path.name}: {error}") from None
    return 0
