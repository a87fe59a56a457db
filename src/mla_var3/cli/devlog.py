"""`mla devlog`: the measured figures of a version into the development log of its kernel."""

import dataclasses
from pathlib import Path

from mla_var3.cli.arguments import parse
from mla_var3.cli.console import say, show
from mla_var3.cli.options import option, positional
from mla_var3.core.errors import BadArgument
from mla_var3.runtime.devlog import LOGS, write_devlog


@dataclasses.dataclass(frozen=True)
class Devlog:
    """Write a profile's Performance block into the kernel's development log; the rest is kept."""

    kernel: str = positional(
        "kernel of the profile", metavar="KERNEL", shown="required", default=""
    )
    version: str = positional(
        "its version; base, v0: the base", metavar="VERSION", shown="required", default=""
    )
    from_: str = option(
        "", "profile that the figures are taken from", metavar="PROFILE", shown="required",
        name="from",
    )  # fmt: skip
    baseline: str = option(
        "",
        "profile, or comparison of mla compare, that it is held against",
        metavar="PROFILE",
        shown="default: the newest comparable profile of the version before, where one is stored",
    )
    logs: str = option("", "folder of the logs", metavar="DIR", shown=f"default: {LOGS.as_posix()}")


def run(argv: list[str]) -> int:
    """Write the log and print its path; returns 0, also where nothing had to be changed."""
    options = parse(Devlog, "devlog", argv)
    if not (options.kernel and options.version and options.from_):
        raise BadArgument(
            "give a kernel, its version and --from=PROFILE: mla devlog flash_mla v1 --from=out/…"
        )
    written = write_devlog(
        options.kernel,
        options.version,
        Path(options.from_),
        Path(options.baseline) if options.baseline else None,
        Path(options.logs) if options.logs else LOGS,
    )
    show(f"{written.path.as_posix()}\n")
    say("written" if written.changed else "nothing to change")
    say(f"vs Previous: {written.previous}")
    return 0
