"""`mla compare`: two plans timed against each other in children, judged, and stored."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from mla_var3.analyse.comparison import judge
from mla_var3.core import artifacts
from mla_var3.core.comparison import (
    Comparison,
    Conditions,
    Floors,
    QuadRun,
    Shape,
    Side,
    save_comparison,
)
from mla_var3.core.comparison_verdict import ComparisonVerdict
from mla_var3.core.errors import BadArgument, KernelFailed
from mla_var3.core.locate import folder_name
from mla_var3.core.params import problem_folder
from mla_var3.core.plan import KernelPlan
from mla_var3.core.timing import Machine
from mla_var3.measure import quads
from mla_var3.measure.gpus import Gpu
from mla_var3.measure.worker import ERROR
from mla_var3.measure.worker_compare import LETTERS, Compared, take_compared
from mla_var3.measure.worker_run import run_worker
from mla_var3.measure.worker_spec import plan_spec, spec_for
from mla_var3.runtime.comparison_reports import write_comparison_reports
from mla_var3.runtime.contenders import Contender
from mla_var3.runtime.machine_facts import (
    MachineFacts,
    conditions_on,
    facts_of,
    is_memory_bound,
    machine_floor_pct,
)
from mla_var3.runtime.measuring import (
    MeasureOptions,
    device_lock,
    find_gpu,
    kept_on_failure,
    need_language,
)
from mla_var3.runtime.on_device import plan_on
from mla_var3.runtime.store import new_folder, timestamp

MODE = "compare"
MOST_PROCESSES = 20


@dataclass(frozen=True, kw_only=True)
class CompareOptions(MeasureOptions):
    """How two plans are compared, beside how any plan is measured."""

    processes: int = 1
    """Fresh processes, all of which must agree."""
    min_effect_pct: float | None = None
    protocol: dict[str, float] = field(default_factory=dict)
    """Figures of conf/compare.json by name, replaced."""
    on_progress: Callable[[float], None] | None = None
    """Told which share is done, 0..1."""


class ComparisonResult(NamedTuple):
    """What was seen, what it says, and where it lies; None: not stored."""

    comparison: Comparison
    verdict: ComparisonVerdict
    out_dir: Path | None


class _Step(NamedTuple):
    """One child: which shape and process of how many."""

    number: int
    of: int


OPTIONS = CompareOptions()


def compare_plans(
    sides: tuple[Contender, Contender],
    shapes: Sequence[tuple[KernelPlan, KernelPlan]],
    out_dir: Path | str | None = None,
    options: CompareOptions = OPTIONS,
) -> ComparisonResult:
    """Compare side B with side A on each shape: a pair of plans of the same problem.

    Stored below `out/profiles/compare/` unless `out_dir` is given. A wrong result is a verdict
    (`failed`) and no error: other shapes keep theirs.
    """
    if not 1 <= options.processes <= MOST_PROCESSES:
        raise BadArgument(f"--processes={options.processes}: from 1 to {MOST_PROCESSES}")
    gpu = _device(shapes[0], options)
    made = [tuple(plan_on(plan, gpu) for plan in pair) for pair in shapes]
    chosen = quads.settings(options.protocol)
    now = datetime.now(UTC)
    wanted = Path(out_dir) if out_dir else _place(made, now)
    with new_folder(wanted) as folder:
        work = folder.work
        with kept_on_failure(work, wanted, (artifacts.COMPARISON,)), device_lock(gpu, options):
            facts = facts_of(gpu)
            comparison = Comparison(
                created=now.isoformat(timespec="seconds"),
                a=sides[0].side(made[0][0]),
                b=sides[1].side(made[0][1]),
                shapes=tuple(_untimed(pair) for pair in made),
                floors=_floors(facts, chosen, options),
                settings=chosen,
                processes=options.processes,
            )
            run = _Run(comparison, gpu, facts, options, work)
            for at, pair in enumerate(made):
                run.shape(at, (pair[0], pair[1]))
                save_comparison(run.comparison, work / artifacts.COMPARISON)
        comparison = run.comparison
        verdict = judge(comparison)
        comparison = msgspec.structs.replace(comparison, verdict=verdict)
        save_comparison(comparison, work / artifacts.COMPARISON)
        write_comparison_reports(work)
    return ComparisonResult(comparison, verdict, folder.final)


class _Run:
    """The children of one comparison, one after the other."""

    def __init__(
        self,
        comparison: Comparison,
        gpu: Gpu | None,
        facts: MachineFacts,
        options: CompareOptions,
        folder: Path,
    ) -> None:
        self.comparison = comparison
        self._gpu = gpu
        self._facts = facts
        self._options = options
        self._folder = folder

    def shape(self, at: int, pair: tuple[KernelPlan, KernelPlan]) -> None:
        """Time one shape in all processes, and put it into the comparison."""
        processes = self._options.processes
        count = len(self.comparison.shapes) * processes
        found: list[Compared] = []
        try:
            for process in range(processes):
                found.append(self._child(pair, _Step(at * processes + process, count)))
        except KernelFailed as error:
            (self._folder / ERROR).unlink(missing_ok=True)
            self._keep_log(at)
            shape = self._with_conditions(pair, None)
            self._put(at, msgspec.structs.replace(shape, failure=str(error)))
            return
        shape = self._with_conditions(pair, found[0])
        self._put(
            at,
            msgspec.structs.replace(
                shape, runs=tuple(map(self._run_of, found)), outputs=_worst(found)
            ),
            found[0],
        )

    def _child(self, pair: tuple[KernelPlan, KernelPlan], step: _Step) -> Compared:
        options, gpu = self._options, self._gpu
        a, b = self.comparison.a, self.comparison.b
        spec = spec_for(
            pair[0],
            "compare",
            f"cuda:{gpu.index}" if gpu else "cpu",
            self._folder,
            uuid=gpu.uuid if gpu else "",
            seed=options.seed,
            cache=options.cache,
            settings=options.settings,
            rivals=(plan_spec(pair[1]),),
            labels=_names(a, b),
            protocol=options.protocol,
            floor_pct=self.comparison.floors.pct,
            shapes=len(self.comparison.shapes),
        )

        def told(done: int, total: int) -> None:
            if options.on_progress:
                options.on_progress((step.number + done / total) / step.of)

        run_worker(spec, options.limit_s, told)
        return take_compared(self._folder)

    def _put(self, at: int, shape: Shape, seen: Compared | None = None) -> None:
        shapes = list(self.comparison.shapes)
        shapes[at] = shape
        machine = self.comparison.machine or (seen.machine if seen else None)
        a, b = self.comparison.a, self.comparison.b
        if seen:
            a, b = _counted(a, seen.launches.get("A")), _counted(b, seen.launches.get("B"))
        self.comparison = msgspec.structs.replace(
            self.comparison, a=a, b=b, shapes=tuple(shapes), machine=machine
        )

    def _run_of(self, seen: Compared) -> QuadRun:
        return msgspec.structs.replace(seen.run, shared_gpu=self._facts.shared)

    def _with_conditions(self, pair: tuple[KernelPlan, KernelPlan], seen: Compared | None) -> Shape:
        machine: Machine | None = seen.machine if seen else self.comparison.machine
        common = conditions_on(self._facts, machine, self._options)
        timed = seen.timer if seen else None
        a, b = (msgspec.structs.replace(common, params=plan.params(), timer=timed) for plan in pair)
        bound = is_memory_bound(pair[0], self._facts.gpu)
        by = "the model" if bound is not None else ""
        return Shape(a=a, b=b, memory_bound=bound, memory_bound_by=by)

    def _keep_log(self, at: int) -> None:
        log = self._folder / artifacts.WORKER_LOG
        if log.is_file():
            log.rename(self._folder / artifacts.shape_log(at))


def _names(a: Side, b: Side) -> tuple[str, str]:
    """What errors call them: `side A (v1)`, with their kernels where these differ."""
    words = (s.label if a.kernel == b.kernel else f"{s.kernel} {s.label}" for s in (a, b))
    first, second = words
    return f"side A ({first})", f"side B ({second})"


def shapes_folder(plans: Sequence[KernelPlan]) -> str:
    """`b32_s32-48-64_t4096_bf16`: the problems of several plans as one folder name."""
    words = [problem_folder(plan).split("_") for plan in plans]
    if len({len(each) for each in words}) != 1:
        return f"{problem_folder(plans[0])}_and_{len(plans) - 1}_more"
    joined = []
    for column in zip(*words, strict=True):
        first, *others = dict.fromkeys(column)
        name = first.rstrip("0123456789.")
        joined.append("-".join([first, *(other.removeprefix(name) for other in others)]))
    return "_".join(joined)[:150]


def _device(pair: Sequence[KernelPlan], options: CompareOptions) -> Gpu | None:
    """Where both run. Raises `MachineCannot` where one of them cannot."""
    found = [find_gpu(plan, options.device) for plan in pair]
    for plan in pair:
        need_language(plan)
    return found[0]


def _place(made: Sequence[Sequence[KernelPlan]], now: datetime) -> Path:
    a, b = (folder_name(type(plan)) for plan in made[0])
    problem = shapes_folder([pair[0] for pair in made])
    names = f"{a}_vs_{b}"
    return artifacts.profile_folder(artifacts.PROFILES, MODE, names, problem, timestamp(now))


def _floors(facts: MachineFacts, chosen: dict[str, float], options: CompareOptions) -> Floors:
    return Floors(
        least_pct=chosen["floor_pct"],
        machine_pct=machine_floor_pct(facts),
        typed_pct=options.min_effect_pct,
    )


def _untimed(pair: Sequence[KernelPlan]) -> Shape:
    a, b = (Conditions(tool="event", params=plan.params()) for plan in pair)
    return Shape(a=a, b=b, failure="not timed: the run ended before")


def _counted(side: Side, launches: int | None) -> Side:
    """With the kernels of a call: those of the first shape that was counted."""
    return msgspec.structs.replace(side, launches=side.launches or launches)


def _worst(found: Sequence[Compared]) -> dict[str, float]:
    return {letter: max(seen.outputs[letter] for seen in found) for letter in LETTERS}
