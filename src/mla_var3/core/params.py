"""The fields of a plan and of its tilings as options, and plans made from what was typed."""

import dataclasses
import re
import types
import typing
from collections.abc import Mapping
from typing import Any, NamedTuple

from mla_var3.core.errors import BadArgument
from mla_var3.core.plan import DTYPE_NAMES, KernelPlan, Tiling, stages_of

Value = int | float | str | bool | None
_KINDS = {int: "a whole number", float: "a number"}
_SM_COUNTS = (1, 10, 46, 84, 108, 132, 148, 188)
"""Of small and large GPUs: a plan that is the same for all of them is so for any."""
_TRUE, _FALSE = ("true", "1", "yes"), ("false", "0", "no")


class PlanOption(NamedTuple):
    """One field that may be typed. `stage` is empty for the problem's own fields."""

    name: str
    """`b`, `latent.tile_m`, or `tile_m` for a plan with one stage."""
    field: str
    stage: str
    kind: type
    optional: bool
    """Whether `none` may be typed."""
    default: Value
    help: str
    unit: str


def plan_options(plan: type[KernelPlan]) -> tuple[PlanOption, ...]:
    """Options for every field of the problem, then of every stage's tiling."""
    own = _options(plan, "", "", {f.name: f.default for f in plan.problem_fields()})
    taken = {option.name for option in own}
    found = list(own)
    single = len(plan.TILINGS) == 1
    for stage, tiling in plan.TILINGS.items():
        options = _options(type(tiling), stage, f"{stage}.", tiling.as_dict())
        if single and not taken & {option.field for option in options}:
            options = tuple(option._replace(name=option.field) for option in options)
        found += options
    return tuple(found)


def read_value(option: PlanOption, text: str) -> Value:
    """The typed text as the field's type; `BadArgument` names the option and what it needs."""
    if option.optional and text.lower() == "none":
        return None
    if option.kind is bool:
        if text.lower() in (*_TRUE, *_FALSE):
            return text.lower() in _TRUE
        raise BadArgument(f"--{option.name} needs true or false, not {text!r}")
    try:
        value: Value = option.kind(text)
    except ValueError:
        wanted = _KINDS.get(option.kind, "a value")
        raise BadArgument(f"--{option.name} needs {wanted}, not {text!r}") from None
    if option.stage and isinstance(value, int) and value < 1 and option.default != value:
        raise BadArgument(f"--{option.name}={text}: must be at least 1")
    return value


def build_plan(plan: type[KernelPlan], typed: Mapping[PlanOption, Value]) -> KernelPlan:
    """The validated plan with the typed fields, and the others by default.

    Raises `BadArgument` for a problem that cannot exist and for a tile that does not fit it.
    """
    own: dict[str, Any] = {o.field: value for o, value in typed.items() if not o.stage}
    made = plan(**own)
    made.validate()
    changes: dict[str, dict[str, Value]] = {}
    for option, value in typed.items():
        if option.stage:
            changes.setdefault(option.stage, {})[option.field] = value
    if changes:
        made = made.with_tilings(
            {s: dataclasses.replace(made.tiling(s), **change) for s, change in changes.items()}
        )
    for stage in _stages_used(made) | set(changes):
        if stage in made.TILINGS:
            _check_tiling(made, stage, changes.get(stage))
    return made


def check_tilings(plan: KernelPlan) -> None:
    """Raise `BadArgument` where a tiling cannot run the plan's problem, or was chosen for nothing.

    Which stages are launched may depend on the SMs: the plan knows its device (`for_sms`).
    """
    used = _stages_used(plan)
    chosen = dict(plan.chosen)
    for stage in plan.TILINGS:
        if stage in used:
            _check_tiling(plan, stage)
        elif stage in chosen:
            sms = f" on {plan.target_sms} SMs" if plan.target_sms else ""
            raise BadArgument(f"stage {stage!r} is not launched for this problem{sms}")


def depends_on_sms(plan: KernelPlan) -> bool:
    """Whether stages, grids or work differ from device to device."""

    def made(sms: int) -> list[tuple[Any, ...]]:
        kernels = stages_of(plan.for_sms(sms).plan_empty())
        return [(kernel.name, kernel.grid, kernel.cost) for kernel in kernels]

    first = made(_SM_COUNTS[0])
    return any(made(sms) != first for sms in _SM_COUNTS[1:])


def _stages_used(plan: KernelPlan) -> set[str]:
    return {kernel.name for kernel in stages_of(plan.plan_empty())}


def _check_tiling(plan: KernelPlan, stage: str, typed: Mapping[str, Value] | None = None) -> None:
    tiling = plan.tiling(stage)
    if tiling.validate(plan):
        return
    words = typed or tiling.as_dict()
    shown = " ".join(f"{name}={value}" for name, value in words.items())
    raise BadArgument(f"stage {stage!r}: {shown} does not fit this problem ({problem_text(plan)})")


def problem_text(plan: KernelPlan) -> str:
    """`b=32 s=16 t=4096 h=128 d=128 k=512 p=64 bfloat16`, `causal` where it is set."""
    return params_text(plan.params())


def params_text(params: Mapping[str, Value]) -> str:
    """The same from the problem as it stands in a record."""
    return " ".join(_words(params, "=", {}))


def problem_folder(plan: KernelPlan) -> str:
    """`b32_s16_t4096_h128_d128_k512_p64_bf16`: the problem as a folder name."""
    short = {full: name for name, full in DTYPE_NAMES.items()}
    words = (re.sub(r"[^\w.-]+", "-", word) for word in _words(plan.params(), "", short))
    return "_".join(words) or "default"


def tiling_source(plan: KernelPlan, stage: str) -> str:
    """`typed` where the stage's tiling was chosen, else `default`."""
    return "typed" if stage in dict(plan.chosen) else "default"


def tiling_document(plan: KernelPlan, stage: str, tiling: Tiling) -> dict[str, Any]:
    """What `tiling/<stage>.json` holds."""
    return {
        "stage": stage,
        "source": tiling_source(plan, stage),
        "class": type(tiling).__name__,
        "tuned_for": list(tiling.TUNED_FOR),
        "tiling": tiling.as_dict(),
    }


def _words(params: Mapping[str, Value], equals: str, short: Mapping[str, str]) -> list[str]:
    """The problem's fields as words, the element type last and without its name."""
    words, dtype = [], ""
    for name, value in params.items():
        if name == "dtype":
            dtype = short.get(str(value), str(value))
        elif isinstance(value, bool):
            words += [name] if value else []
        else:
            words.append(f"{name}{equals}{value}")
    return [*words, dtype] if dtype else words


def _options(
    kind: type[Any], stage: str, prefix: str, defaults: Mapping[str, Any]
) -> tuple[PlanOption, ...]:
    hints = typing.get_type_hints(kind)
    options = []
    for field in dataclasses.fields(kind):
        if "help" not in field.metadata and not stage:
            continue
        plain, optional = _plain_type(hints[field.name])
        options.append(
            PlanOption(
                name=prefix + field.name,
                field=field.name,
                stage=stage,
                kind=plain,
                optional=optional,
                default=defaults[field.name],
                help=field.metadata.get("help", ""),
                unit=field.metadata.get("unit", ""),
            )
        )
    return tuple(options)


def _plain_type(hint: Any) -> tuple[type, bool]:
    """`(int, True)` of `int | None`; text for anything that is no plain type."""
    if typing.get_origin(hint) is typing.Literal:
        return str, False
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        parts = [part for part in typing.get_args(hint) if part is not type(None)]
        plain = parts[0] if isinstance(parts[0], type) else str
        return plain, len(parts) < len(typing.get_args(hint))
    return (hint if hint in (int, float, str, bool) else str), False
