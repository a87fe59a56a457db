"""What every probe is handed, and how an error becomes a finding."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from mla_var3 import conf
from mla_var3.core.doctor import Check, State
from mla_var3.core.errors import MlaError
from mla_var3.measure.child import ChildResult, run_child
from mla_var3.measure.gpus import Gpu
from mla_var3.measure.worker_run import worker_environment

_INSTALLS = re.compile(r" \((apt-get [^)]+)\)")


@dataclass(frozen=True, kw_only=True)
class Machine:
    """The machine that is probed."""

    gpu: Gpu | None
    """The one that is looked at; None: there is none."""
    folder: Path
    """For what the probes write."""
    root: Path
    """Where profiles are stored."""
    environment: Mapping[str, str] = field(default_factory=worker_environment)
    devices: Path | None = None
    """A user's own table of peaks."""
    on_step: Callable[[str], None] | None = None

    def step(self, what: str) -> None:
        """Told what is being probed."""
        if self.on_step is not None:
            self.on_step(what)


class Advice(NamedTuple):
    """What to do about a finding."""

    fix: str = ""
    until_then: str = ""


NO_ADVICE = Advice()


def limit(name: str) -> float:
    """A figure of conf/doctor.json."""
    return float(conf.table("doctor")["limits"][name]["value"])


def check(name: str, state: State, text: str, advice: Advice = NO_ADVICE) -> Check:
    """A finding."""
    return Check(name=name, state=state, text=text, fix=advice.fix, until_then=advice.until_then)


def failed(name: str, error: MlaError, fix: str = "") -> Check:
    """A probe that failed. An error says what and why, then what to do, then what works meanwhile:
    `…; load the driver with …, meanwhile --prof_type=event needs no counters`.
    """
    text, _, rest = str(error).partition("; ")
    if not rest:
        text, _, rest = text.rpartition(": ")
    told, _, meanwhile = f", {rest}".partition(", meanwhile ")
    told = told.removeprefix(", ")
    installs = _INSTALLS.search(text)
    if installs:
        text, told = text.replace(installs.group(), ""), told or installs.group(1)
    return check(name, "FIX", text or str(error), Advice(fix or told or "see above", meanwhile))


def run(machine: Machine, command: list[str], seconds: float, log: str) -> ChildResult:
    """Run a command as a child of few variables."""
    return run_child(
        command,
        env=machine.environment,
        cwd=machine.folder,
        log=machine.folder / log,
        limit_s=seconds,
    )


def last_line(result: ChildResult) -> str:
    """What a command said last."""
    lines = (line.strip() for line in reversed(result.tail))
    return next((line for line in lines if line), "no output")[:160]
