"""`mla race A B C…`: several plans of one problem in turn, and their ratios to the first."""

from mla_var3.cli.compare import measure_options, refuse_without_gpu
from mla_var3.cli.compare_options import early, help_text, parse, shapes, split, wants_help
from mla_var3.cli.console import show
from mla_var3.cli.progress import Progress
from mla_var3.core.errors import BadArgument
from mla_var3.measure.gpus import cuda_devices
from mla_var3.render.race_screen import render_race, render_race_json
from mla_var3.runtime.contenders import Contenders
from mla_var3.runtime.racing import race_plans

COMMAND = "race"
USAGE = """\
usage: mla race A B C… [--option=value …]        A, B, C: LANG:KERNEL[:VERSION], file.py:MyPlan
       mla race KERNEL VERSION VERSION VERSION…

All run in one process, on the same inputs, in rounds there and back: A B C C B A, then from B on.
Each is checked against the reference first. The result is each one's time over that of the first,
with its interval. For a verdict on two of them: mla compare.

Exit: 0 done, 4 wrong results (no ratio), 12 not comparable: other inputs.
"""


def run(argv: list[str]) -> int:
    """Race, store and show; returns the exit code."""
    words, rest = split(argv)
    if not words:
        if wants_help(rest):
            show(help_text((), USAGE, COMMAND))
            return 0
        raise BadArgument("give two contenders or more: mla race A B C… (mla race --help)")
    with Contenders() as contenders:
        found = contenders.find(words, early(rest, "language"), bool(cuda_devices()))
        plans = tuple(contender.plan for contender in found)
        if wants_help(rest):
            show(help_text(plans, USAGE, COMMAND))
            return 0
        if len(found) < 2:
            raise BadArgument("a race needs two contenders or more (mla race --help)")
        typed = parse(plans, rest, COMMAND)
        made = shapes(plans, typed.problem)
        if len(made) > 1:
            raise BadArgument("a race is of one shape: give one value each; mla compare takes more")
        refuse_without_gpu(plans, typed.chosen.device, COMMAND)
        with Progress(f"race of {len(found)}", "%") as progress:
            options = measure_options(typed, progress)
            result = race_plans(found, made[0], typed.chosen.out_dir or None, options)
    if typed.chosen.json:
        show(render_race_json(result.race))
    else:
        show(render_race(result.race, result.out_dir.as_posix()))
    return 0
