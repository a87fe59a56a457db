"""What runs: a plan (the problem), its stages (kernels), their tilings and the work they do.

A plan is a frozen dataclass whose fields are the problem's sizes: `KernelPlan` for any problem,
`MlaPlan` for attention (b s t h d k p dtype causal). `plan(*inputs)` gives what is launched: one
`Kernel`, a `KernelPipeline` (stages in order on one stream) or `ConcurrentKernels` (stages on
streams of their own). `plan_empty()` gives the same without tensors: names, tilings, grids and
costs, for rooflines and for `static`. Kernels know of no profiler; torch is imported inside
methods only.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from mla_var3.core.errors import BadArgument

Language = Literal["cutile", "triton", "torch", "peer"]
Tensor = Any
"""A torch tensor; core does not import torch."""

DTYPE_BYTES = {"bf16": 2, "fp16": 2, "fp32": 4}
DTYPE_NAMES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}


def problem(default: Any, what: str, unit: str = "") -> Any:
    """A field of a plan or tiling with the help text and unit that the command line shows."""
    return field(default=default, metadata={"help": what, "unit": unit})


@dataclass(frozen=True)
class Cost:
    """The algorithm's own work: FLOPs, and bytes that must cross device memory once."""

    flops: float
    read_bytes: float
    write_bytes: float

    @property
    def bytes(self) -> float:
        return self.read_bytes + self.write_bytes

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            self.flops + other.flops,
            self.read_bytes + other.read_bytes,
            self.write_bytes + other.write_bytes,
        )


@dataclass(frozen=True, order=True)
class Tiling:
    """Tile sizes and compiler hints of one stage: data that a tuner may search and store."""

    TUNED_FOR: ClassVar[tuple[str, ...]] = ()
    """Architectures it is meant for, such as `sm_90`; empty: any."""

    def validate(self, plan: "KernelPlan") -> bool:
        """Whether this tiling can run the plan's problem at all."""
        return True

    def as_dict(self) -> dict[str, int | float | str | bool | None]:
        return {f.name: getattr(self, f.name) for f in fields(self)}


@dataclass(frozen=True)
class CompiledStage:
    """What the compiler gave for one stage and one architecture; sizes in bytes a block."""

    arch: str
    files: tuple[str, ...]
    registers: int | None = None
    spill_bytes: int | None = None
    """Local-memory bytes a thread (stack frame or spills); None where the tools do not tell."""
    static_shared_bytes: int | None = None
    dynamic_shared_bytes: int | None = None
    threads: int | None = None
    barriers: int | None = None
    """Named barriers a block uses (`BARRIER` of cuobjdump --dump-resource-usage)."""
    opcodes: Mapping[str, int] = field(default_factory=dict)
    """SASS opcode to how often it stands in the code (static count, not executed)."""
    remarks: tuple[str, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    """Artifact or figure to the reason it is not here."""


@dataclass(frozen=True)
class Kernel:
    """One stage. `launch` is bound to its tensors; in `plan_empty()` it is None."""

    name: str
    tiling: Tiling
    cost: Cost
    grid: tuple[int, ...]
    candidates: tuple[Tiling, ...] = ()
    launch: Callable[[], None] | None = None
    """Runs the stage once: on CUDA on torch's current stream, without waiting for it."""
    outputs: tuple[Tensor, ...] = ()
    """Tensors this stage writes, so that a check can poison them; the first one of the last stage
    is the plan's result."""
    compile_to_files: Callable[[Path, str], CompiledStage] | None = None
    """`(folder, arch)` writes the artifacts and tells what came out; None: nothing to compile."""
    no_compile_reason: str = ""
    sms: int | None = None
    """SMs this stage is meant to have; None: all."""
    compute_dtype: str = "bf16"
    """Peak that its FLOPs count against."""
    cpu_seconds: float | None = None
    """Estimated time of one launch on this machine's CPU, where that is not what torch would take:
    an interpreter's. None: estimated from the cost."""

    @property
    def stages(self) -> tuple["Kernel", ...]:
        return (self,)


@dataclass(frozen=True)
class KernelPipeline:
    """Stages in order on one stream."""

    stages: tuple[Kernel, ...]

    def __iter__(self) -> Iterator[Kernel]:
        return iter(self.stages)


@dataclass(frozen=True)
class ConcurrentKernels:
    """Stages on streams of their own, joined by events; `after` runs when all are done."""

    stages: tuple[Kernel, ...]
    after: tuple[Kernel, ...] = ()
    streams: int = 2
    """1 runs the same stages one after the other."""
    wait_for_each_other: bool = False
    """Whether one of `stages` waits on the device for what another of them does: none of them can
    run alone, nor be replayed by ncu."""

    def __iter__(self) -> Iterator[Kernel]:
        return iter(self.stages + self.after)


Runnable = Kernel | KernelPipeline | ConcurrentKernels


Sample = tuple[tuple[int, ...], ...]
"""Parts of a result: one index for each of the plan's `SAMPLE_AXES`, such as (b, h)."""


@dataclass(frozen=True, kw_only=True)
class KernelPlan(ABC):
    """One problem of one kernel. Subclasses are found by their file; see `core.locate`.

    Fields made with `problem(...)` are the problem, and options of the command line; at most one
    of them, `dtype`, names an element type.
    """

    KERNEL: ClassVar[str] = ""
    VERSION: ClassVar[str] = "base"
    LANGUAGE: ClassVar[Language] = "torch"
    TILINGS: ClassVar[Mapping[str, Tiling]] = {}
    """Default tiling of each stage that has one to choose, by the stage's name."""
    SAMPLE_AXES: ClassVar[Mapping[str, int]] = {}
    """Axes of the result whose parts a reference can be computed for alone, by name."""
    SHRINK: ClassVar[Mapping[str, int]] = {}
    """Sizes that a smaller problem may halve, and where to stop; empty: all whole numbers, 1."""

    chosen: tuple[tuple[str, Tiling], ...] = ()
    """Tilings other than the defaults; set by `with_tilings`."""
    target_sms: int | None = None
    """SMs that `plan_empty` makes grids for, set by `for_sms`; None: its language's default."""

    def validate(self) -> None:
        """Raise `BadArgument`, one line, for a problem that cannot exist."""
        for f in self.problem_fields():
            value = getattr(self, f.name)
            if isinstance(value, int) and not isinstance(value, bool) and value < 1:
                raise BadArgument(f"--{f.name}={value}: must be at least 1")
        dtype = getattr(self, "dtype", "bf16")
        if dtype not in DTYPE_BYTES:
            raise BadArgument(f"--dtype={dtype}: one of {', '.join(DTYPE_BYTES)}")

    @classmethod
    def problem_fields(cls) -> tuple[Field[Any], ...]:
        """The fields that are the problem, with help and unit in their metadata."""
        return tuple(f for f in fields(cls) if "help" in f.metadata)

    def params(self) -> dict[str, int | float | str | bool]:
        """The problem as it stands in params.json, dtype by its full name."""
        values = {f.name: getattr(self, f.name) for f in self.problem_fields()}
        if "dtype" in values:
            values["dtype"] = DTYPE_NAMES.get(values["dtype"], values["dtype"])
        return values

    def tiling(self, stage: str) -> Tiling:
        """The tiling in use for one stage: chosen, or its default."""
        return dict(self.chosen).get(stage) or self.TILINGS[stage]

    def tilings(self) -> dict[str, Tiling]:
        """Tiling of each stage by its name."""
        return {kernel.name: kernel.tiling for kernel in stages_of(self.plan_empty())}

    def with_tilings(self, tilings: Mapping[str, Tiling]) -> Self:
        """The same plan with other tilings for some of its stages."""
        for stage, tiling in tilings.items():
            if stage not in self.TILINGS:
                stages = ", ".join(self.TILINGS) or "none"
                raise BadArgument(f"{self.KERNEL} has no stage {stage!r} with a tiling ({stages})")
            if not isinstance(tiling, type(self.TILINGS[stage])):
                raise BadArgument(f"{type(tiling).__name__} is not a tiling of stage {stage!r}")
        return replace(self, chosen=tuple((dict(self.chosen) | dict(tilings)).items()))

    def for_sms(self, count: int | None) -> Self:
        """The same plan, for a device with that many SMs where no tensor tells which it is.

        What is recorded of a run is told by `for_sms(<SMs of the device it ran on>).plan_empty()`.
        """
        return replace(self, target_sms=count)

    @abstractmethod
    def prepare_inputs(self, device: str, seed: int = 0) -> tuple[Tensor, ...]:
        """Seeded random inputs on `device`, in the order that `plan` takes them."""

    @abstractmethod
    def reference_fn(self, *inputs: Tensor) -> Tensor:
        """The result in float32, computed plainly with torch."""

    def reference_sample(self, sample: Sample, *inputs: Tensor) -> Tensor:
        """Only the sampled parts of `reference_fn`, one after the other on a new first axis."""
        raise NotImplementedError(f"{type(self).__name__} names SAMPLE_AXES without a reference")

    @abstractmethod
    def plan(self, *inputs: Tensor) -> Runnable:
        """What is launched for these inputs."""

    @abstractmethod
    def plan_empty(self) -> Runnable:
        """The same stages without tensors."""

    def _autotune_configs(self) -> dict[str, tuple[Tiling, ...]]:
        """Candidates of each stage; by default the tiling in use."""
        return {name: (tiling,) for name, tiling in self.tilings().items()}

    @abstractmethod
    def _algorithmic_flops_bytes(self, tiling: Tiling | None = None) -> Cost:
        """Work of the whole algorithm, independent of how it is tiled."""


@dataclass(frozen=True, kw_only=True)
class MlaPlan(KernelPlan):
    """An attention problem. The result is [b, s, h, ...]; see `kernel.mla_problem` for the designs.

    Shapes by letter: b sequences, s new tokens, t context tokens (the new ones included), h heads,
    d head size, k latent size, p rope size.
    """

    SAMPLE_AXES: ClassVar[Mapping[str, int]] = {"b": 0, "h": 2}
    SHRINK: ClassVar[Mapping[str, int]] = {"b": 1, "h": 4, "t": 64, "s": 1}

    b: int = problem(32, "sequences in the batch", "sequences")
    s: int = problem(1, "new tokens a sequence", "tokens")
    t: int = problem(4096, "context a sequence, the new tokens included", "tokens")
    h: int = problem(128, "query heads", "heads")
    d: int = problem(128, "size of a head", "elements")
    k: int = problem(512, "size of the latent", "elements")
    p: int = problem(64, "size of the rope part", "elements")
    dtype: str = problem("bf16", "element type of inputs and output: bf16 or fp16")
    causal: bool = problem(False, "mask the future among the s new tokens")

    def validate(self) -> None:
        super().validate()
        if self.s > self.t:
            raise BadArgument(
                f"--s={self.s} is larger than --t={self.t}: t counts the new tokens too"
            )


def stages_of(runnable: Runnable) -> tuple[Kernel, ...]:
    """All stages of what a plan launches, in order."""
    if isinstance(runnable, ConcurrentKernels):
        return runnable.stages + runnable.after
    return runnable.stages
