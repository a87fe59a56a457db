"""`mla race`: several plans of one problem in one child, and their ratios to the first."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from mla_var3.core import artifacts
from mla_var3.core.errors import BadArgument
from mla_var3.core.locate import kernel_name
from mla_var3.core.params import problem_folder
from mla_var3.core.plan import KernelPlan
from mla_var3.core.race import Contender as Runner
from mla_var3.core.race import Race, save_race
from mla_var3.measure import race as rounds
from mla_var3.measure.gpus import Gpu
from mla_var3.measure.worker_race import Raced, take_raced
from mla_var3.measure.worker_run import run_worker
from mla_var3.measure.worker_spec import plan_spec, spec_for
from mla_var3.runtime.comparing import CompareOptions
from mla_var3.runtime.comparison_reports import write_comparison_reports
from mla_var3.runtime.contenders import Contender
from mla_var3.runtime.machine_facts import MachineFacts, conditions_on, facts_of
from mla_var3.runtime.measuring import device_lock, find_gpu, kept_on_failure, need_language
from mla_var3.runtime.on_device import plan_on
from mla_var3.runtime.store import new_folder, timestamp

MODE = "race"
OPTIONS = CompareOptions()


class RaceResult(NamedTuple):
    """What was seen, and where it lies."""

    race: Race
    out_dir: Path


def race_plans(
    contenders: Sequence[Contender],
    plans: Sequence[KernelPlan],
    out_dir: Path | str | None = None,
    options: CompareOptions = OPTIONS,
) -> RaceResult:
    """Race plans of one problem, stored below `out/profiles/race/` unless `out_dir` is given.

    Raises `KernelFailed` where one gives a wrong result: then there is no ratio at all.
    """
    if len(plans) < 2:
        raise BadArgument("a race needs two contenders or more")
    gpus = [find_gpu(plan, options.device) for plan in plans]
    for plan in plans:
        need_language(plan)
    gpu = gpus[0]
    made = [plan_on(plan, gpu) for plan in plans]
    now = datetime.now(UTC)
    names = "_vs_".join(dict.fromkeys(kernel_name(type(plan)) for plan in made))[:80]
    place = artifacts.profile_folder(
        artifacts.PROFILES, MODE, names, problem_folder(made[0]), timestamp(now)
    )
    wanted = Path(out_dir) if out_dir else place
    with new_folder(wanted) as folder:
        work = folder.work
        with kept_on_failure(work, wanted, ()), device_lock(gpu, options):
            facts = facts_of(gpu)
            raced = _child(contenders, made, gpu, work, options)
        race = _race(contenders, made, raced, facts, options)
        race = msgspec.structs.replace(race, created=now.isoformat(timespec="seconds"))
        save_race(race, work / artifacts.RACE)
        write_comparison_reports(work)
    return RaceResult(race, folder.final)


def _child(
    contenders: Sequence[Contender],
    plans: Sequence[KernelPlan],
    gpu: Gpu | None,
    folder: Path,
    options: CompareOptions,
) -> Raced:
    spec = spec_for(
        plans[0],
        "race",
        f"cuda:{gpu.index}" if gpu else "cpu",
        folder,
        uuid=gpu.uuid if gpu else "",
        seed=options.seed,
        cache=options.cache,
        settings=options.settings,
        rivals=tuple(map(plan_spec, plans[1:])),
        labels=tuple(f"{kernel_name(c.plan)} {c.label}" for c in contenders),
        protocol=options.protocol,
    )

    def told(done: int, total: int) -> None:
        if options.on_progress:
            options.on_progress(done / total)

    run_worker(spec, options.limit_s, told)
    return take_raced(folder)


def _race(
    contenders: Sequence[Contender],
    plans: Sequence[KernelPlan],
    raced: Raced,
    facts: MachineFacts,
    options: CompareOptions,
) -> Race:
    where = msgspec.structs.replace(
        conditions_on(facts, raced.machine, options), params=plans[0].params(), timer=raced.timer
    )
    runners = tuple(
        Runner(side=contender.side(plan), relative_error=error)
        for contender, plan, error in zip(contenders, plans, raced.errors, strict=True)
    )
    shared = ("shared GPU: other processes compute on it",) if facts.shared else ()
    return Race(
        created="",
        contenders=runners,
        rounds=raced.rounds,
        conditions=where,
        settings=rounds.settings(options.protocol),
        machine=raced.machine,
        warm_up=raced.warm_up,
        warnings=(*shared, *raced.warnings),
        clock_source=raced.clock_source,
        missing={"clock of each leg": raced.no_clock} if raced.no_clock else {},
    )
