"""`mla compare`: two versions, plans or stored profiles against each other, with a verdict."""

import sys
from pathlib import Path

from mla_var3.analyse.comparison import GATE_INCONCLUSIVE, GATE_SLOWER, exit_code
from mla_var3.cli.arguments import nearest
from mla_var3.cli.compare_options import (
    Chosen,
    Typed,
    early,
    help_text,
    parse,
    shapes,
    split,
    wants_help,
)
from mla_var3.cli.console import say, show
from mla_var3.cli.progress import Progress
from mla_var3.cli.run_refusals import MEASURED, chosen_device
from mla_var3.core.errors import BadArgument, MachineCannot
from mla_var3.core.locate import kernel_name, list_kernels
from mla_var3.core.plan import KernelPlan
from mla_var3.measure.gpus import cuda_devices
from mla_var3.render.comparison_machine import render_comparison_json
from mla_var3.render.comparison_screen import render_comparison
from mla_var3.runtime.comparing import CompareOptions, ComparisonResult, compare_plans
from mla_var3.runtime.comparing_stored import (
    compare_stored,
    is_stored,
    load_stored,
    refuse_problem,
)
from mla_var3.runtime.contenders import Contender, Contenders, is_versions

COMMAND = "compare"
USAGE = """\
usage: mla compare KERNEL VERSION VERSION [--option=value …]
       mla compare LANG:KERNEL[:VERSION] LANG:KERNEL[:VERSION]
       mla compare KERNEL v1@REV v1                a revision of the git history against today
       mla compare PROFILE PROFILE                 two stored runs
       mla compare KERNEL VERSION --baseline PROFILE

Both sides run in turn in one process, on the same inputs, and are checked first. The verdict is
faster, slower, no change, inconclusive, unreliable or not comparable. A plan of your own is
my_pkg.my_mod:MyPlan or path/to/file.py:MyPlan. `mla compare KERNEL VERSION VERSION --help` shows
the problem's options too.

Exit: 0 any verdict, 4 wrong results (no ratio), 6 unreliable, 10 --gate and slower,
11 --gate and inconclusive, 12 not comparable.
"""
_WHY = {
    4: "a side gives wrong results, so there is no ratio",
    6: "the measurement is unreliable",
    GATE_SLOWER: "--gate: slower",
    GATE_INCONCLUSIVE: "--gate: inconclusive",
    12: "not comparable",
}


def run(argv: list[str]) -> int:
    """Compare, store and show; returns the exit code."""
    words, rest = split(argv)
    if not words:
        if wants_help(rest):
            show(help_text((), USAGE, COMMAND))
            return 0
        raise BadArgument("give two sides: mla compare KERNEL VERSION VERSION (mla compare --help)")
    baseline = early(rest, "baseline")
    paths = [is_stored(Path(word)) for word in words]
    if all(paths) or (any(paths) and len(words) == 2):
        return _profiles(words, rest, baseline)
    wanted = 1 if baseline else 2
    with Contenders() as contenders:
        _check_count(words, wanted)
        found = contenders.find(words, early(rest, "language"), bool(cuda_devices()))
        plans = tuple(contender.plan for contender in found)
        if wants_help(rest):
            show(help_text(plans, USAGE, COMMAND))
            return 0
        typed = parse(plans, rest, COMMAND)
        if typed.chosen.baseline:
            return _against_baseline(found[0], typed)
        return _versions(found, typed)


def finish(result: ComparisonResult, chosen: Chosen, steps: tuple[tuple[str, str], ...]) -> int:
    """Show the verdict; what ends in another code than 0 is said in one line too."""
    code = exit_code(result.verdict, chosen.gate, chosen.strict)
    if chosen.json:
        show(render_comparison_json(result.comparison, result.verdict, code))
    else:
        place = result.out_dir.as_posix() if result.out_dir else ""
        show(render_comparison(result.comparison, result.verdict, place, steps))
    if code:
        sys.stdout.flush()
        say(f"mla: {_WHY.get(code, '')}: {_reason(result, code)}")
    return code


def measure_options(typed: Typed, progress: Progress) -> CompareOptions:
    """How the children run."""
    chosen = typed.chosen
    return CompareOptions(
        device=chosen_device(chosen.device),
        seed=chosen.seed,
        cache="warm" if chosen.cache == "warm" else "cold",
        limit_s=float(chosen.limit_s),
        processes=chosen.processes,
        min_effect_pct=chosen.min_effect,
        on_wait=say,
        on_progress=lambda share: progress.update(round(100 * share), 100),
    )


def refuse_without_gpu(plans: tuple[type[KernelPlan], ...], device: str, command: str) -> None:
    """Raise `MachineCannot`, with a command that works here, for a plan that needs a GPU."""
    needing = [plan for plan in plans if plan.LANGUAGE != "torch"]
    if not needing or chosen_device(device).startswith("cuda"):
        return
    name = kernel_name(needing[0])
    here = any(f.kernel == name and f.language == "torch" for f in list_kernels())
    kernel = name if here else "flash_mla"
    sizes = "".join(f" --{key}={value}" for key, value in MEASURED.items())
    raise MachineCannot(
        f"{name} {needing[0].VERSION} ({needing[0].LANGUAGE}) needs a CUDA GPU to be measured; "
        f"what works here: mla {command} torch:{kernel} torch:{kernel}{sizes}"
    )


def _check_count(words: list[str], wanted: int) -> None:
    """As many sides as are compared."""
    missing = [w for w in words if "/" in w and not w.endswith(".py") and ":" not in w]
    if missing:
        raise BadArgument(
            f"NOT_FOUND {Path(missing[0]).name}: no such profile; mla list shows them"
        )
    sides = len(words) - 1 if is_versions(words) else len(words)
    if sides == wanted:
        return
    typed = " ".join(words)
    if wanted == 1:
        raise BadArgument(f"--baseline is the first side: give one other, not {sides} ({typed})")
    kernels = sorted({file.kernel for file in list_kernels()})
    hint = "" if words[0] in kernels or ":" in words[0] else nearest(words[0], kernels)
    raise BadArgument(
        f"{sides} side{'' if sides == 1 else 's'} in {typed!r}: it takes KERNEL VERSION VERSION, "
        f"or two of LANG:KERNEL:VERSION{hint}; mla race takes more"
    )


def _versions(found: tuple[Contender, ...], typed: Typed) -> int:
    a, b = found
    refuse_without_gpu((a.plan, b.plan), typed.chosen.device, COMMAND)
    pairs = [(first, second) for first, second in shapes((a.plan, b.plan), typed.problem)]
    title = f"{kernel_name(a.plan)} {a.label} → {b.label}"
    with Progress(title, "%") as progress:
        options = measure_options(typed, progress)
        result = compare_plans((a, b), pairs, typed.chosen.out_dir or None, options)
    return finish(result, typed.chosen, ())


def _against_baseline(contender: Contender, typed: Typed) -> int:
    """Measure one version now as event mode does, and hold it against a stored run."""
    from mla_var3.runtime.profiling.event import event_profile_plan

    plans = [shape[0] for shape in shapes((contender.plan,), typed.problem)]
    if len(plans) > 1:
        raise BadArgument("a stored baseline is of one shape: give one value each")
    if contender.revision or typed.chosen.processes > 1:
        raise BadArgument("--baseline takes neither @REV nor --processes: nothing is interleaved")
    refuse_without_gpu((contender.plan,), typed.chosen.device, COMMAND)
    baseline = Path(typed.chosen.baseline)
    stored = load_stored(baseline)
    with Progress("", "") as progress:
        options = measure_options(typed, progress)
        refuse_problem(stored, plans[0])
        after = event_profile_plan(plans[0], options=options).out_dir
        result = compare_stored(baseline, after, typed.chosen.out_dir or None, options)
    return finish(result, typed.chosen, ())


def _profiles(words: list[str], rest: list[str], baseline: str | None) -> int:
    """Two stored runs; `PROFILE --baseline PROFILE` is the same."""
    if wants_help(rest):
        show(help_text((), USAGE, COMMAND))
        return 0
    typed = parse((), rest, COMMAND)
    chosen = typed.chosen
    for name in ("device", "language", "processes", "cache", "seed", "limit_s"):
        if getattr(chosen, name) != Chosen._field_defaults[name]:
            raise BadArgument(f"--{name} has no meaning for stored profiles: nothing is run")
    sides = [*([baseline] if baseline else []), *words]
    if len(sides) != 2:
        raise BadArgument(
            f"give two stored profiles, not {len(sides)}: mla compare PROFILE PROFILE"
        )
    options = CompareOptions(min_effect_pct=chosen.min_effect)
    result = compare_stored(Path(sides[0]), Path(sides[1]), chosen.out_dir or None, options)
    return finish(result, chosen, ())


def _reason(result: ComparisonResult, code: int) -> str:
    """Which shapes, and why."""
    word = {4: "failed", 6: "unreliable", 12: "not comparable", 10: "slower", 11: "inconclusive"}
    found = []
    for shape in result.verdict.shapes:
        if shape.word == word[code]:
            change = _change(shape.time) if code in (GATE_SLOWER, GATE_INCONCLUSIVE) else ""
            told = (*shape.differs, change, shape.detail)
            found.append(", ".join(text for text in told if text))
        elif code == 6:
            found += shape.doubts
    return "; ".join(dict.fromkeys(text for text in found if text))


def _change(time: object) -> str:
    change = getattr(time, "change_pct", None)
    return "" if change is None else f"{change:+.1f} %".replace("-", "−")
