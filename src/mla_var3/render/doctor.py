"""The screen of `mla doctor`: a line a check, its fix, then whether the main job works here."""

import textwrap

from mla_var3.core.doctor import Check, Findings
from mla_var3.render.layout import WIDTH, plain

_NAME = 6
_TEXT = 20
"""Where names and texts begin."""
MAIN_JOB = "a kernel measured here with its counters (mla run KERNEL)"


def render_findings(found: Findings) -> str:
    """At most 100 columns, plain text."""
    lines = [line for one in found.checks for line in _check(one)]
    lines += [f"{'noise'.ljust(_TEXT)}{text}" for text in found.noise]
    return "\n".join([*lines, *_closing(found)]) + "\n"


def _check(one: Check) -> list[str]:
    head = f"{one.state.ljust(_NAME)}{one.name.ljust(_TEXT - _NAME)}"
    text = plain(one.text)
    if one.fix:
        text += f" → {plain(one.fix)}"
    if one.until_then:
        text += f"   (until then: {plain(one.until_then)})"
    return textwrap.wrap(head + text, WIDTH, subsequent_indent=" " * _TEXT, break_on_hyphens=False)


def _closing(found: Findings) -> list[str]:
    fixes = sum(one.state == "FIX" for one in found.checks)
    left = f"{'One' if fixes == 1 else fixes} thing{'' if fixes == 1 else 's'} to fix."
    if found.main_job:
        return [f"The main job works here. {left}" if fixes else "The main job works here."]
    why = ", ".join(found.hindered_by)
    first = f"The main job, {MAIN_JOB}, cannot be done here: {why}. What works on this machine:"
    width = max(len(step.command) for step in found.works)
    steps = [f"  {step.command.ljust(width)}   {step.gives}" for step in found.works]
    return [*textwrap.wrap(first, WIDTH), *steps]


def refusal(found: Findings) -> str:
    """The one line of an error."""
    why = ", ".join(found.hindered_by)
    return f"the main job cannot be done here: {why}; what works stands above"
