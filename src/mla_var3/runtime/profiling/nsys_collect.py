"""Both ways of collecting the spans of a plan, and what is left of their files."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import msgspec

from mla_var3 import conf
from mla_var3.core import artifacts
from mla_var3.core.errors import MlaError, NotFound, NoUsableData
from mla_var3.core.plan import KernelPlan
from mla_var3.core.record import Environment, Profile
from mla_var3.core.target import arch
from mla_var3.core.timeline import Collector, PlanTimeline, Timeline, load_timeline
from mla_var3.core.timing import Clock
from mla_var3.measure.clocks import ClockWatch, read_clocks
from mla_var3.measure.gpus import Gpu
from mla_var3.measure.nsys_command import NsysJob
from mla_var3.measure.nsys_reader.scrub import scrub
from mla_var3.measure.nsys_run import (
    EARLIER_LOG,
    EXPORT_LOG,
    LOG,
    UNIMPORTED,
    NsysTool,
    record_timeline,
)
from mla_var3.measure.tool_faults import FaultContext, explain, remarks
from mla_var3.measure.worker_run import JOB, run_worker, worker_command
from mla_var3.measure.worker_spec import WorkerSpec, spec_for, write_spec
from mla_var3.runtime.measuring import MeasureOptions, device_lock

FILES = (artifacts.SPANS, LOG, EARLIER_LOG, EXPORT_LOG)
"""What says more than the error does, where a run fails."""
RAW_FILES = (
    artifacts.NSYS_REPORT,
    Path(artifacts.NSYS_REPORT).with_suffix(UNIMPORTED).name,
    artifacts.KINETO_TRACE,
)
"""What the collectors write: environment, host name and paths of this machine are in it."""


@dataclass(frozen=True, kw_only=True)
class Collection:
    """What is to be collected of which plan, where, and by whom."""

    plan: KernelPlan
    gpu: Gpu | None
    collector: Collector
    bench_runs: int | None
    environment: Mapping[str, str]
    """Variables of nsys and its program."""
    nsys: Path | None
    """None where the collector is kineto."""
    on_step: Callable[[str], None]


class Collected(NamedTuple):
    """The spans, and what must be said of how they were taken."""

    timeline: Timeline
    environment: Environment
    """As the collector tells."""
    warnings: tuple[str, ...] = ()
    failure: str = ""

    def with_plan(self, plan: PlanTimeline) -> "Collected":
        """The same with what the plan means its stages to do."""
        return self._replace(timeline=msgspec.structs.replace(self.timeline, plan=plan))

    def with_clock(self, clock: Clock) -> "Collected":
        """The same with what nvidia-smi told while it ran; a figure of the collector stays."""
        most = clock.max_sm_mhz * 1e6 if clock.max_sm_mhz else None
        told = msgspec.structs.replace(
            self.environment,
            clocks_locked=clock.locked,
            clock_max_hz=self.environment.clock_max_hz or most,
        )
        return self._replace(environment=told)


class Kept(NamedTuple):
    """What became of the raw files, for the record."""

    warnings: tuple[str, ...]
    missing: Mapping[str, str]

    def noted(self, profile: Profile) -> Profile:
        """The record with it."""
        return msgspec.structs.replace(
            profile,
            warnings=(*profile.warnings, *self.warnings),
            missing=profile.missing | dict(self.missing),
        )


def collect(job: Collection, folder: Path, options: MeasureOptions) -> Collected:
    """Run the plan in a child under the collector, with the device's lock; files go to `folder`."""
    spec = spec_for(
        job.plan,
        "timeline",
        f"cuda:{job.gpu.index}" if job.gpu else "cpu",
        folder,
        uuid=job.gpu.uuid if job.gpu else "",
        seed=options.seed,
        bench_runs=job.bench_runs,
        collector=job.collector,
        compile_for=arch(job.gpu.capability) if job.gpu else "",
    )
    with device_lock(job.gpu, options):
        watch = _clock_watch(job.gpu)
        if job.nsys is None:
            found = _by_kineto(job, spec, folder, options)
        else:
            found = _by_nsys(job, job.nsys, spec, options)
    return found if watch is None else found.with_clock(watch.result())


def _clock_watch(gpu: Gpu | None) -> ClockWatch | None:
    """Asks nvidia-smi beside the run: whether the clocks are locked, and how high they go."""
    if gpu is None:
        return None
    uuid = gpu.uuid
    watch = ClockWatch(lambda: read_clocks(uuid))
    watch.start()
    return watch


def tidy(folder: Path, keep_raw: bool) -> Kept:
    """Take away what holds the environment, scrub the export, and keep it where it is small."""
    warnings: list[str] = []
    for name in RAW_FILES:
        file = folder / name
        if keep_raw and file.is_file():
            warnings.append(conf.table("nsys")["texts"]["raw"].format(file=name))
        else:
            file.unlink(missing_ok=True)
    (folder / EXPORT_LOG).unlink(missing_ok=True)
    for name in (LOG, EARLIER_LOG):
        _without_folder(folder / name, folder)
    return Kept(tuple(warnings), _keep_sqlite(folder / artifacts.NSYS_SQLITE))


def _by_nsys(job: Collection, nsys: Path, spec: WorkerSpec, options: MeasureOptions) -> Collected:
    folder = Path(spec.out_dir)
    file = write_spec(spec, folder / JOB)
    tool = NsysTool(
        nsys=nsys,
        environment=job.environment,
        limit_s=options.limit_s,
        on_step=job.on_step,
    )
    asked = NsysJob(tuple(worker_command(file)), folder / artifacts.NSYS_REPORT)
    try:
        found = record_timeline(tool, asked)
    finally:
        file.unlink()  # it names directories of this machine
    return Collected(found.timeline, found.environment, found.warnings, found.failure)


def _by_kineto(
    job: Collection, spec: WorkerSpec, folder: Path, options: MeasureOptions
) -> Collected:
    job.on_step("torch's profiler: record")
    log = folder / artifacts.WORKER_LOG
    try:
        run_worker(spec, options.limit_s)
    except NoUsableData as error:
        raise _with_cause(error, _text(log)) from error
    try:
        timeline = load_timeline(folder / artifacts.SPANS)
    except NotFound as error:
        raise NoUsableData("the measuring child wrote no spans: nothing was recorded") from error
    environment = Environment(capture_tool=f"{timeline.tool} (torch.profiler, kineto)")
    return Collected(timeline, environment, remarks("kineto", _text(log)))


def _with_cause(error: NoUsableData, text: str) -> MlaError:
    """What CUPTI said in the child's log, before what followed from it."""
    cause = explain("kineto", text, 1, FaultContext(no_report=True))
    return error if cause is None else type(cause)(f"{cause}; {error}")


def _keep_sqlite(sqlite: Path) -> dict[str, str]:
    """Scrub the export and keep it up to a size; why it is not there, by its name."""
    if not sqlite.is_file():
        return {}
    try:
        scrub(sqlite)
    except MlaError as error:
        sqlite.unlink(missing_ok=True)
        return {sqlite.name: f"it could not be scrubbed: {error}"}
    size, most = sqlite.stat().st_size, conf.table("nsys")["limits"]["sqlite_bytes"]["value"]
    if size <= most:
        return {}
    sqlite.unlink()
    return {
        sqlite.name: f"{size / 1e6:.1f} MB: above {most / 1e6:.1f} MB it is not kept, "
        f"{artifacts.SPANS} holds the same spans"
    }


def _without_folder(log: Path, folder: Path) -> None:
    """The log with the names in `folder` alone: it will lie elsewhere, and is nobody's business."""
    if log.is_file():
        text = _text(log).replace(f"{folder.resolve()}/", "").replace(f"{folder}/", "")
        log.write_text(text, encoding="utf-8")


def _text(log: Path) -> str:
    try:
        return log.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
