"""How a mode measures: where it runs, the lock of that device, and what a failure leaves behind."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from mla_var3.core import artifacts
from mla_var3.core.errors import BadArgument, MachineCannot
from mla_var3.core.locate import is_installed, kernel_name, missing_package
from mla_var3.core.plan import KernelPlan
from mla_var3.core.timing import Regime
from mla_var3.measure.gpu_lock import CPU, gpu_lock
from mla_var3.measure.gpus import Gpu, cuda_devices
from mla_var3.measure.worker_spec import Cache
from mla_var3.runtime.leftovers import PARTIAL

LIMIT_S = 600.0


@dataclass(frozen=True, kw_only=True)
class MeasureOptions:
    """How a plan is measured, beside what the recipes of all modes take."""

    device: str = ""
    """`cuda:0` or `cpu`; empty: the first GPU, else the CPU."""
    seed: int = 0
    cache: Cache = "cold"
    """State of the cache before each sample."""
    regime: Regime = "sustained"
    """Of event mode: without idle between samples, or in bursts."""
    strict: bool = False
    """Raise `Unreliable` for a timed run that did not settle, lost its lock or shared its GPU."""
    baseline: Path | None = None
    """A stored profile or comparison that the new profile is held against; None: the newest."""
    limit_s: float = LIMIT_S
    """Time limit of the measuring child, seconds."""
    settings: dict[str, float] = field(default_factory=dict)
    """Figures of conf/event.json by name, replaced."""
    on_wait: Callable[[str], None] | None = None
    """Told whom we wait for, where another profiling holds the device."""


def find_gpu(plan: KernelPlan, device: str) -> Gpu | None:
    """The GPU that a plan is measured on; None: the CPU.

    Raises `MachineCannot` where that device is not there or cannot run the plan's language.
    """
    gpus = cuda_devices()
    if not device:
        device = f"cuda:{gpus[0].index}" if gpus else "cpu"
    name = f"{kernel_name(type(plan))} {plan.VERSION}"
    if device == "cpu":
        if plan.LANGUAGE != "torch":
            raise MachineCannot(f"{name} ({plan.LANGUAGE}) needs a CUDA GPU to be measured")
        return None
    kind, _, number = device.partition(":")
    if kind != "cuda" or (number and not number.isdigit()):
        raise BadArgument(f"no device {device!r}: cuda:0 or cpu")
    found = next((gpu for gpu in gpus if gpu.index == int(number or 0)), None)
    if found is None:
        raise MachineCannot(f"no {device} here: {name} cannot be measured on it")
    return found


def need_language(plan: KernelPlan) -> None:
    """Raise `MachineCannot`, with the line that installs it, where a language is missing."""
    for language in ("torch", plan.LANGUAGE):
        if not is_installed(language):
            raise missing_package(language)


@contextmanager
def device_lock(gpu: Gpu | None, options: MeasureOptions) -> Iterator[None]:
    """One profiling at a time on a device."""
    with gpu_lock((gpu.uuid or f"cuda-{gpu.index}") if gpu else CPU, options.on_wait):
        yield


@contextmanager
def kept_on_failure(work: Path, wanted: Path, names: tuple[str, ...]) -> Iterator[None]:
    """Keep logs and raw data of a run that failed, beside where its profile would have been.

    Their folder begins with `.incomplete-`: it is in no list and looks like no profile.
    """
    try:
        yield
    except Exception as error:
        place = _rescue(work, wanted, names, str(error))
        if place is None:
            raise
        # The same kind of error: its exit code tells the caller what happened.
        error.args = (f"{error}; kept: {place.as_posix()}", *error.args[1:])
        raise


def _rescue(work: Path, wanted: Path, names: tuple[str, ...], told: str) -> Path | None:
    """Copy the files that say more than the error does; the folder, or None for nothing kept."""
    there = [work / name for name in (artifacts.WORKER_LOG, *names)]
    there = [file for file in there if file.is_file() and _says_more(file, told)]
    if not there:
        return None
    place = wanted.with_name(f"{PARTIAL}{wanted.name}")
    try:
        place.mkdir(parents=True, exist_ok=True)
        for file in there:
            shutil.copy2(file, place / file.name)
    except OSError:
        return None
    return place


def _says_more(file: Path, told: str) -> bool:
    text = file.read_text(encoding="utf-8", errors="replace").strip()
    return bool(text) and text != told.strip()
