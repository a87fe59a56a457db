"""What a machine cannot do with a plan, and the commands that do work there."""

from mla_var3.core.errors import BadArgument, MachineCannot
from mla_var3.core.locate import (
    file_of,
    is_installed,
    kernel_name,
    language_order,
    list_kernels,
    nearest,
)
from mla_var3.core.params import PlanOption, Value
from mla_var3.core.plan import KernelPlan
from mla_var3.measure.gpus import Gpu, cuda_devices
from mla_var3.render.static_screen import commands
from mla_var3.runtime.profiling import MODES, Mode

SMALL = {"b": 1, "h": 4, "s": 3, "t": 200}
"""A problem that an interpreter finishes in seconds."""
_DIAGNOSE = ("mla diagnose FILE.ncu-rep", "a report recorded elsewhere")
MEASURED = {"b": 1, "h": 8, "s": 4, "t": 1024}
"""A problem that a CPU is profiled with in half a minute."""


def find_mode(word: str) -> Mode:
    """The mode of `--prof_type`; `BadArgument` with the nearest name."""
    mode = MODES.get(word)
    if mode is None:
        near = nearest(word, MODES)
        hint = f"did you mean {near}?" if near else f"there are {', '.join(MODES)}"
        raise BadArgument(f"no mode {word!r}; {hint}")
    return mode


def chosen_device(word: str) -> str:
    """`cuda:N` or `cpu`; nothing typed: the first GPU, else the CPU.

    Raises `BadArgument` for another word, `MachineCannot` for a device that is not there.
    """
    gpus = cuda_devices()
    if not word:
        return f"cuda:{gpus[0].index}" if gpus else "cpu"
    kind, colon, number = word.partition(":")
    if word == "cpu":
        return word
    if kind != "cuda" or (colon and not number.isdigit()):
        near = nearest(word, ("cpu", "cuda:0"))
        hint = f"did you mean {near}?" if near else "cuda:0 or cpu"
        raise BadArgument(f"--device={word}: no such device; {hint}")
    return f"cuda:{typed_gpu(word).index}"


def typed_gpu(word: str) -> Gpu:
    """The GPU of `cuda` or `cuda:N`; `MachineCannot` where it is not there."""
    gpus = cuda_devices()
    index = int(word.partition(":")[2] or 0)
    if index >= len(gpus):
        there = ", ".join(f"cuda:{gpu.index} {gpu.name}" for gpu in gpus) or "none"
        raise MachineCannot(f"--device={word}: no such CUDA device here (there is {there})")
    return gpus[index]


def not_built(mode: Mode) -> MachineCannot:
    """The refusal of a mode that this version does not have yet."""
    working = ", ".join(name for name, other in MODES.items() if other.built)
    return MachineCannot(f"--prof_type={mode.name} is not built yet; what works: {working}")


def needs_gpu(plan: type[KernelPlan], device: str, mode: Mode) -> bool:
    """Whether this plan cannot be measured on that device: its language, or ncu, needs CUDA."""
    return not device.startswith("cuda") and (plan.LANGUAGE != "torch" or mode.name == "ncu")


def for_running(plan: type[KernelPlan], command: str) -> str:
    """The command with this plan's language, where a run on this machine would take another."""
    here = file_of(plan)
    if here is None or ":" in command:
        return command
    same = (here.kernel, here.version)
    languages = [file.language for file in list_kernels() if file[:2] == same]
    first = min(languages, key=language_order(bool(cuda_devices())).index)
    return command if first == here.language else f"{command} --language={here.language}"


def no_gpu_lines(
    plan: type[KernelPlan], typed: dict[PlanOption, Value], name: str, mode: Mode
) -> list[str]:
    """Why it cannot be measured here, and commands that do work on this machine.

    `name` is the kernel and its version as they were typed.
    """
    title = f"{kernel_name(plan)} {plan.VERSION} ({plan.LANGUAGE})"
    lines = [f"{title} needs a CUDA GPU to be measured; none is here. What works on this machine:"]
    return [*lines, *commands(_steps(plan, typed, f"mla run {name}", mode), 2)]


def _steps(
    plan: type[KernelPlan], typed: dict[PlanOption, Value], command: str, mode: Mode
) -> list[tuple[str, str]]:
    options = "".join(f" --{o.name}={v}" for o, v in typed.items())
    running = for_running(plan, command)
    found = []
    names = {field.name for field in plan.problem_fields()}
    small = "".join(f" --{key}={value}" for key, value in SMALL.items() if key in names)
    if is_installed("torch") and is_installed(plan.LANGUAGE):
        place = "the interpreter" if plan.LANGUAGE != "torch" else "torch"
        found.append((f"{running}{small} --check", f"numerics, in {place}"))
    if is_installed(plan.LANGUAGE):
        gives = "registers, spills, predicted time"
        found.append((f"{command}{options} --prof_type=static --target=h200", gives))
    kernel = kernel_name(plan)
    if plan.LANGUAGE == "torch":
        sizes = "".join(f" --{key}={value}" for key, value in MEASURED.items() if key in names)
        return [(f"{running}{sizes}", "a profile on this CPU"), *found[:1], _DIAGNOSE]
    if is_installed("torch"):
        if any(file.kernel == kernel and file.language == "torch" for file in list_kernels()):
            sizes = "".join(f" --{key}={value}" for key, value in MEASURED.items() if key in names)
            torch = f"mla run {kernel} --language=torch{sizes}"
            if mode.name == "nsys":
                traced = f"{torch} --prof_type=nsys --collector=kineto"
                found.append((traced, "a real timeline of the torch version on this CPU"))
            else:
                found.append((torch, "a real profile of the torch version on this CPU"))
    if mode.name == "nsys":
        found.append(("mla import FILE.sqlite", "a recording of nsys made elsewhere"))
    return [*found, _DIAGNOSE]
