"""What a measuring child is told: which plan, with what, where it runs, and what to do with it.

The child rebuilds the plan from this alone; nothing else of the parent reaches it.
"""

import dataclasses
import inspect
import sys
from pathlib import Path
from typing import Any, Literal

import msgspec

from mla_var3.core.errors import BadArgument, NoUsableData
from mla_var3.core.locate import find
from mla_var3.core.params import Value
from mla_var3.core.plan import KernelPlan
from mla_var3.core.timeline import Collector
from mla_var3.core.timing import Regime

Task = Literal["event", "ranges", "operators", "timeline", "compare", "race"]
Cache = Literal["cold", "warm"]


class PlanSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A plan beside the job's own, on the same device: the other side of a comparison."""

    plan: str
    search_path: tuple[str, ...] = ()
    params: dict[str, Value]
    tilings: dict[str, dict[str, Value]] = {}


class WorkerSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One job of the worker. Paths are absolute; they stay in this file and in no record."""

    plan: str
    """`module:Class`, or `/path/file.py:Class`."""
    search_path: tuple[str, ...] = ()
    """Folders that the plan's module is imported from, beside the child's own."""
    params: dict[str, Value]
    """The problem's fields as the plan takes them (`dtype` by its short name)."""
    tilings: dict[str, dict[str, Value]] = {}
    """Fields of the tiling of each stage; a stage that is not named keeps its default."""
    device: str
    """`cuda:0` or `cpu`."""
    uuid: str = ""
    """`GPU-…` of a CUDA device: what nvidia-smi is asked about."""
    seed: int = 0
    task: Task
    rivals: tuple[PlanSpec, ...] = ()
    """Of the tasks `compare` and `race`: what the plan is timed against."""
    bench_runs: int | None = None
    """Samples (event), launches a stage (ranges), calls of the whole plan (timeline). None: the
    protocol's stop rule, 1, or what conf/nsys.json says."""
    cache: Cache = "cold"
    regime: Regime = "sustained"
    """Of the task `event`: without idle between samples, or in bursts."""
    collector: Collector = "nsys"
    """Of the task `timeline`: who records it."""
    out_dir: str
    """Where the child writes its files; it exists."""
    compile_for: str = ""
    """Architecture `sm_90` whose artifacts go to `compiled/<stage>/`; empty: none."""
    settings: dict[str, float] = {}
    """Figures that replace those of conf/event.json, by name: shorter limits for a test."""
    protocol: dict[str, float] = {}
    """The same of conf/compare.json: of its `settings` (compare), of `race`."""
    labels: tuple[str, ...] = ()
    """What errors call the plan and its rivals."""
    floor_pct: float = 0.0
    """Of the task `compare`: changes below it are none."""
    shapes: int = 1
    """Of the task `compare`: of how many shapes this is one."""


def spec_for(
    plan: KernelPlan, task: Task, device: str, out_dir: Path, **more: object
) -> WorkerSpec:
    """The job of measuring a plan. Raises `BadArgument` for a plan that no child can rebuild.

    The SMs of `for_sms` are not handed over: the child sees the device itself.
    """
    return WorkerSpec(
        **msgspec.structs.asdict(plan_spec(plan)),
        device=device,
        task=task,
        out_dir=str(out_dir.resolve()),
        **more,  # type: ignore[arg-type]  # fields of WorkerSpec, checked where it is decoded
    )


def plan_spec(plan: KernelPlan) -> PlanSpec:
    """How a child rebuilds a plan. Raises `BadArgument` where none can."""
    where, search_path = _origin(type(plan))
    known = {field.name for field in plan.problem_fields()}
    for field in dataclasses.fields(plan):
        if (
            field.name not in known | {"chosen", "target_sms"}
            and getattr(plan, field.name) != field.default
        ):
            raise BadArgument(
                f"{type(plan).__name__}.{field.name} is set but no problem(...) field: "
                "the measuring child cannot rebuild this plan"
            )
    return PlanSpec(
        plan=where,
        search_path=search_path,
        params={name: getattr(plan, name) for name in sorted(known)},
        tilings={stage: tiling.as_dict() for stage, tiling in plan.chosen},
    )


def plan_of(spec: WorkerSpec | PlanSpec) -> KernelPlan:
    """The plan that the spec describes, validated."""
    sys.path.extend(folder for folder in spec.search_path if folder not in sys.path)
    fields: dict[str, Any] = dict(spec.params)
    plan = find(spec.plan)(**fields)
    plan.validate()
    tilings = {
        stage: dataclasses.replace(plan.tiling(stage), **values)
        for stage, values in spec.tilings.items()
    }
    return plan.with_tilings(tilings) if tilings else plan


def write_spec(spec: WorkerSpec, path: Path) -> Path:
    """Save a job as the JSON file that `python -m mla_var3.measure.worker` takes."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(spec), indent=1) + b"\n")
    return path


def read_spec(path: Path) -> WorkerSpec:
    """Load a job; `NoUsableData` names what is wrong with the file."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=WorkerSpec)
    except OSError as error:
        raise NoUsableData(f"{path.name} cannot be read: {error.strerror}") from error
    except msgspec.MsgspecError as error:
        raise NoUsableData(f"{path.name} is no job of the worker: {error}") from error


def _origin(plan: type[KernelPlan]) -> tuple[str, tuple[str, ...]]:
    """`module:Class` with the folder its package lies in, or `file.py:Class`."""
    name = plan.__qualname__
    if "<locals>" in name:
        raise BadArgument(
            f"{plan.__name__} is defined inside a function: the measuring child cannot import it; "
            "define it at the top of a file"
        )
    try:
        file = Path(inspect.getfile(plan)).resolve()
    except (OSError, TypeError):
        raise BadArgument(f"{plan.__name__} has no file: the measuring child needs one") from None
    words = plan.__module__.split(".")
    parts = file.parent.parts if file.name == "__init__.py" else file.with_suffix("").parts
    if plan.__module__ == "__main__" or list(parts[-len(words) :]) != words:
        return f"{file}:{name}", ()  # loaded from its file, under a name of our own
    return f"{plan.__module__}:{name}", (str(Path(*parts[: -len(words)])),)
