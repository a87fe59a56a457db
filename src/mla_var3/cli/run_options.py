"""Options of `mla run`: every field of the plan and of its tilings, and how to run it.

Parsed here and not by tyro: they depend on the kernel, and a kernel's help must be quick.
"""

import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, get_args

from mla_var3.core.errors import BadArgument
from mla_var3.core.locate import nearest
from mla_var3.core.params import PlanOption, Value, plan_options, read_value
from mla_var3.core.plan import KernelPlan
from mla_var3.core.timeline import Collector
from mla_var3.core.timing import Regime

WIDTH = 100
_KIND_WORDS = {int: "INT", float: "NUMBER", str: "TEXT", bool: ""}


class RunOptions(NamedTuple):
    """How a plan is run."""

    prof_type: str = "annotation"
    check: bool = False
    bench_runs: int | None = None
    out_dir: str = ""
    device: str = ""
    target: str | None = None
    language: str | None = None
    seed: int = 0
    cache: str = "cold"
    regime: str = "sustained"
    strict: bool = False
    baseline: str = ""
    limit_s: int = 600
    collector: str = ""
    keep_raw: bool = False
    json: bool = False


_RUN: tuple[tuple[str, type, str, str], ...] = (
    ("prof_type", str, "annotation, event, ncu, nsys, static or disabled", "annotation"),
    ("check", bool, "compare with the float32 reference; alone it means disabled", ""),
    (
        "bench_runs",
        int,
        "samples of the timed part; ncu: launches of each stage; nsys: calls of the plan",
        "until it is stable; ncu: 1; nsys: 5",
    ),
    ("out_dir", str, "the folder to make", "out/profiles/<mode>/<kernel>/<params>/<time>"),
    ("device", str, "where it runs: cuda:0 or cpu", "cuda:0 where a GPU is, else cpu"),
    ("target", str, "what static compiles for: h200, rtx-5090, sm_90", "first GPU, else h200"),
    ("language", str, "cutile, triton or torch", "what runs here"),
    ("seed", int, "seed of the random inputs, a whole number", "0"),
    ("cache", str, "state of the cache before each timed sample: cold or warm", "cold"),
    ("regime", str, "event, annotation: sustained (no idle) or burst (busy 20 %)", "sustained"),
    (
        "strict",
        bool,
        "event, annotation: exit 6 where not settled, the lock not held, or the GPU shared",
        "",
    ),
    (
        "baseline",
        str,
        "event, annotation: the stored profile or comparison to hold it against",
        "the newest of this problem",
    ),
    ("limit_s", int, "time limit of a measuring child", "600 s"),
    (
        "collector",
        str,
        "who records for nsys mode: nsys or kineto (torch.profiler)",
        "nsys; cpu: kineto",
    ),
    ("keep_raw", bool, "nsys mode: keep the collector's own file, which holds the environment", ""),
    ("json", bool, "one JSON document instead of the screen (all modes but disabled)", ""),
)
RUN_OPTIONS = tuple(
    PlanOption(name, name, "", kind, False, default, about, "")
    for name, kind, about, default in _RUN
)


class Typed(NamedTuple):
    """What was typed after kernel and version."""

    run: RunOptions
    plan: dict[PlanOption, Value]


def is_help(words: list[str]) -> bool:
    """Whether help is asked for."""
    return any(word in ("--help", "-h") for word in words)


def early(words: list[str], name: str) -> str | None:
    """Value of an option that is needed before the plan is known; None: not typed."""
    for option, value in option_pairs(words, {name: _run_option(name)}, strict=False):
        if option.name == name:
            return value
    return None


def parse(plan: type[KernelPlan], words: list[str], help_: str) -> Typed:
    """The options; `BadArgument` in one line with the nearest name. `help_` is how to see all."""
    own = plan_options(plan)
    names = {option.name: option for option in (*own, *RUN_OPTIONS)}
    names |= {f"{o.stage}.{o.field}": o for o in own if o.stage}
    run: dict[str, Any] = {}
    problem: dict[PlanOption, Value] = {}
    for option, text in option_pairs(words, names, help_=help_):
        value = read_value(option, text)
        if option in RUN_OPTIONS:
            run[option.name] = value
        else:
            problem[option] = value
    if run.get("check") and "prof_type" not in run:
        run["prof_type"] = "disabled"
    options = RunOptions(**run)
    if options.bench_runs is not None and options.bench_runs < 1:
        raise BadArgument(f"--bench_runs={options.bench_runs}: must be at least 1")
    if options.cache not in ("cold", "warm"):
        raise BadArgument(f"--cache={options.cache}: cold or warm")
    _check_collector(options)
    _check_timed(options)
    if options.limit_s < 1:
        raise BadArgument(f"--limit_s={options.limit_s}: must be at least 1")
    if options.seed < 0:
        raise BadArgument(f"--seed={options.seed}: must be at least 0")
    return Typed(options, problem)


def _check_timed(options: RunOptions) -> None:
    """What only the modes that time a plan can use, and the two regimes that there are."""
    known = get_args(Regime)
    if options.regime not in known:
        near = nearest(options.regime, known)
        hint = f"did you mean {near}?" if near else " or ".join(known)
        raise BadArgument(f"--regime={options.regime}: no such regime; {hint}")
    if options.prof_type in ("event", "annotation"):
        return
    typed = {
        "baseline": bool(options.baseline),
        "regime": options.regime != "sustained",
        "strict": options.strict,
    }
    for name, is_typed in typed.items():
        if is_typed:
            raise BadArgument(f"--{name} has a meaning for event and annotation alone")


def _check_collector(options: RunOptions) -> None:
    """What only nsys mode can use, and the two collectors that there are."""
    known = get_args(Collector)
    if options.collector and options.collector not in known:
        near = nearest(options.collector, known)
        hint = f"did you mean {near}?" if near else " or ".join(known)
        raise BadArgument(f"--collector={options.collector}: no such collector; {hint}")
    if options.prof_type == "nsys":
        if options.cache == "warm":
            raise BadArgument("--cache has no meaning for nsys: no cache is emptied between calls")
        return
    for name in ("collector", "keep_raw"):
        if getattr(options, name):
            raise BadArgument(f"--{name} has a meaning for --prof_type=nsys alone")


def help_text(plan: type[KernelPlan], title: str, command: str) -> str:
    """Every option with its help, default and unit, by group."""
    about = " ".join((plan.__doc__ or "").partition("\n\n")[0].split())
    options = plan_options(plan)
    groups: dict[str, list[PlanOption]] = {
        "problem": [option for option in options if not option.stage]
    }
    for option in options:
        if option.stage:
            groups.setdefault(f"tiling of stage {option.stage}", []).append(option)
    groups["run"] = list(RUN_OPTIONS)
    width = max(len(_syntax(option)) for group in groups.values() for option in group)
    lines = [f"usage: {command} [--option=value …]", "", *_wrapped(f"{title}: {about}", 0)]
    for name, group in groups.items():
        lines += ["", name, *(line for option in group for line in entry(option, width))]
    return "\n".join([*lines, "", "Every command takes --debug (a traceback for errors)."]) + "\n"


def option_pairs(
    words: list[str], names: Mapping[str, PlanOption], help_: str = "", strict: bool = True
) -> Iterator[tuple[PlanOption, str]]:
    """Options with their texts: `--name=value`, `--name value`, or `--name` for a flag."""
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        name, equals, value = word.removeprefix("--").partition("=")
        option = names.get(name.replace("-", "_")) if word.startswith("--") else None
        if option is None:
            if strict:
                raise _unknown(word, names, help_)
            continue
        following = words[position] if position < len(words) else None
        if equals:
            pass
        elif option.kind is bool:
            value = "true"
        elif following is not None and not _is_option(following):
            value, position = following, position + 1
        else:
            raise BadArgument(f"--{option.name} needs a value {help_}".rstrip())
        if not value:
            raise BadArgument(f"--{option.name} needs a value {help_}".rstrip())
        yield option, value


def _is_option(word: str) -> bool:
    """`--x` and `-x`, but not a negative number."""
    return word.startswith("-") and not re.fullmatch(r"-\d.*", word)


def _unknown(word: str, names: Mapping[str, PlanOption], help_: str) -> BadArgument:
    if not word.startswith("-"):
        return BadArgument(f"cannot use {word!r}: options are typed --name=value {help_}")
    name = word.partition("=")[0]
    near = nearest(name.removeprefix("--").replace("-", "_"), names)
    hint = f"; did you mean --{near}?" if near else f" {help_}"
    return BadArgument(f"unknown option {name}{hint}")


def _run_option(name: str) -> PlanOption:
    return next(option for option in RUN_OPTIONS if option.name == name)


def _syntax(option: PlanOption) -> str:
    word = _KIND_WORDS.get(option.kind, "TEXT")
    return f"  --{option.name}{'=' if word else ''}{word}"


def entry(option: PlanOption, width: int) -> list[str]:
    """Its lines of a help text, with the text from column `width` + 3 on."""
    default = "" if option.default in ("", None) else str(option.default)
    if option.kind is bool:
        off = f"; --{option.name}=false: not"
        default = f"yes{off}" if option.default is True else "no"
    default = f"{default} {option.unit}".strip() if default else "none"
    text = f"{option.help} (default: {default})".strip()
    wrapped = _wrapped(text, width + 3)
    return [_syntax(option).ljust(width + 3) + wrapped[0].strip(), *wrapped[1:]]


def _wrapped(text: str, indent: int) -> list[str]:
    space = " " * indent
    return textwrap.wrap(text, WIDTH, initial_indent=space, subsequent_indent=space)
