"""Options of `mla compare` and `mla race`: the problem of the plans, and how they are timed.

A field of the problem takes several values, `--s=32,48,64`: one shape each.
"""

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

from mla_var3.cli.run_options import entry, is_help, option_pairs
from mla_var3.core.errors import BadArgument
from mla_var3.core.params import PlanOption, build_plan, plan_options, read_value
from mla_var3.core.plan import KernelPlan

MOST_SHAPES = 64


class Chosen(NamedTuple):
    """How plans are timed against each other."""

    device: str = ""
    language: str | None = None
    processes: int = 1
    baseline: str = ""
    gate: bool = False
    strict: bool = False
    min_effect: float | None = None
    cache: str = "cold"
    seed: int = 0
    limit_s: int = 600
    out_dir: str = ""
    json: bool = False


_OPTIONS: tuple[tuple[str, type, str, str], ...] = (
    ("device", str, "where they run: cuda:0 or cpu", "cuda:0 where a GPU is, else cpu"),
    ("language", str, "cutile, triton or torch", "what runs here and has all versions"),
    ("processes", int, "fresh processes, all of which must agree; 3 for a release", "1"),
    ("baseline", str, "a stored profile instead of the first side: across runs", ""),
    ("gate", bool, "exit 10 where a shape is slower, 11 where one is inconclusive", ""),
    ("strict", bool, "exit 6 where the warm-up did not settle or the GPU is shared", ""),
    ("min_effect", float, "a smaller change is none", "1, or what A against A showed %"),
    ("cache", str, "state of the cache before each timed call: cold or warm", "cold"),
    ("seed", int, "seed of the random inputs, a whole number", "0"),
    ("limit_s", int, "time limit of a measuring child", "600 s"),
    ("out_dir", str, "the folder to make", "out/profiles/compare/<kernels>/<params>/<time>"),
    ("json", bool, "one JSON document instead of the screen", ""),
)
OPTIONS = tuple(
    PlanOption(name, name, "", kind, False, default, about, "")
    for name, kind, about, default in _OPTIONS
)
NOT_OF_RACE = ("processes", "baseline", "gate", "strict", "min_effect")


class Typed(NamedTuple):
    """What was typed: how to time, and the texts of the problem's options in their order."""

    chosen: Chosen
    problem: dict[str, str]


def split(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words before the first option, and the rest."""
    at = next((n for n, word in enumerate(argv) if word.startswith("-")), len(argv))
    return list(argv[:at]), list(argv[at:])


def early(words: list[str], name: str) -> str | None:
    """Value of an option of `mla compare` that is needed before the plans are known."""
    option = next(option for option in OPTIONS if option.name == name)
    pairs = option_pairs(words, {name: option}, strict=False)
    return next((text for _, text in pairs), None)


def options_of(command: str) -> tuple[PlanOption, ...]:
    """The command's own options."""
    if command == "compare":
        return OPTIONS
    return tuple(
        o._replace(default=str(o.default).replace("/compare/", "/race/"))
        for o in OPTIONS
        if o.name not in NOT_OF_RACE
    )


def parse(plans: Sequence[type[KernelPlan]], words: list[str], command: str) -> Typed:
    """The options; `BadArgument` in one line with the nearest name.

    Without plans, of two stored profiles, there is no problem to choose.
    """
    own = options_of(command)
    names = {option.name: option for option in own}
    for plan in plans:
        for option in plan_options(plan):
            names.setdefault(option.name, option)
            if option.stage:
                names.setdefault(f"{option.stage}.{option.field}", option)
    run: dict[str, Any] = {}
    problem: dict[str, str] = {}
    for option, text in option_pairs(words, names, f"(mla {command} --help)"):
        if option in own:
            run[option.name] = read_value(option, text)
        else:
            problem[option.name] = text
    chosen = Chosen(**run)
    _check(chosen)
    return Typed(chosen, problem)


def shapes(
    plans: Sequence[type[KernelPlan]], problem: dict[str, str]
) -> list[tuple[KernelPlan, ...]]:
    """All plans on each shape: every combination of the values that were typed.

    Raises `BadArgument` for an option that one of the plans does not have.
    """
    lists = [_values(name, text, plans) for name, text in problem.items()]
    count = 1
    for values in lists:
        count *= len(values)
    if count > MOST_SHAPES:
        raise BadArgument(f"{count} shapes: at most {MOST_SHAPES} in one comparison")
    found = []
    for combination in itertools.product(*lists):
        texts = dict(zip(problem, combination, strict=True))
        found.append(tuple(build_plan(plan, _typed(plan, texts)) for plan in plans))
    return found


def help_text(plans: Sequence[type[KernelPlan]], usage: str, command: str) -> str:
    """Usage, the plans' own options, and the command's."""
    own = plan_options(plans[0]) if plans else ()
    groups = {
        "problem (several values make several shapes: --s=32,48)": [o for o in own if not o.stage],
        "tilings": [o for o in own if o.stage],
        "options": list(options_of(command)),
    }
    width = max(len(o.name) for group in groups.values() for o in group) + 11
    lines = [usage.rstrip()]
    for name, group in groups.items():
        lines += ["", name, *(x for o in group for x in entry(o, width))] if group else []
    return "\n".join([*lines, "", "Every command takes --debug (a traceback for errors)."]) + "\n"


def wants_help(words: Sequence[str]) -> bool:
    """Whether help is asked for."""
    return is_help(list(words))


def _typed(plan: type[KernelPlan], texts: dict[str, str]) -> dict[PlanOption, Any]:
    known = {option.name: option for option in plan_options(plan)}
    return {known[name]: read_value(known[name], text) for name, text in texts.items()}


def _values(name: str, text: str, plans: Sequence[type[KernelPlan]]) -> list[str]:
    """The values of one option, each once; every plan must have it."""
    for plan in plans:
        option = next((o for o in plan_options(plan) if o.name == name), None)
        if option is None:
            who = f"{plan.KERNEL or plan.__name__} {plan.VERSION} ({plan.LANGUAGE})"
            raise BadArgument(f"--{name}: {who} has no such option, and both need it")
        values = [value.strip() for value in text.split(",")]
        if option.stage and len(values) > 1:
            raise BadArgument(f"--{name} takes one value: shapes differ in the problem alone")
    if not all(values):
        raise BadArgument(f"--{name}={text}: a value is missing between the commas")
    return list(dict.fromkeys(values))


def _check(chosen: Chosen) -> None:
    if chosen.cache not in ("cold", "warm"):
        raise BadArgument(f"--cache={chosen.cache}: cold or warm")
    if chosen.limit_s < 1:
        raise BadArgument(f"--limit_s={chosen.limit_s}: must be at least 1")
    if chosen.seed < 0:
        raise BadArgument(f"--seed={chosen.seed}: must be at least 0")
    if chosen.processes < 1:
        raise BadArgument(f"--processes={chosen.processes}: must be at least 1")
    if chosen.min_effect is not None and not 0 < chosen.min_effect < 100:
        raise BadArgument(f"--min_effect={chosen.min_effect:g}: percent, above 0 and below 100")
