"""Everything that the screen and the reports of annotation mode show, in one value."""

import msgspec

from mla_var3.core import units
from mla_var3.core.annotation import AnnotationRun, RooflineRow, Roofs, WorkRow
from mla_var3.core.diagnosis import Diagnosis, ProfileDiagnosis
from mla_var3.core.methods import MethodNote
from mla_var3.core.operators import OperatorTable
from mla_var3.core.params import params_text
from mla_var3.core.record import PlanIdentity, Profile, Stage
from mla_var3.core.timing import Timing
from mla_var3.render.layout import flow, plain


class AnnotationView(msgspec.Struct, frozen=True, kw_only=True):
    """The record, its diagnosis, the comparisons, and how all of it was taken."""

    profile: Profile
    diagnosis: ProfileDiagnosis
    run: AnnotationRun
    rooflines: tuple[RooflineRow, ...] = ()
    work: tuple[WorkRow, ...] = ()
    roofs: tuple[Roofs, ...] = ()
    timing: Timing | None = None
    """None: the plan was not timed end to end; the run says why."""
    operators: OperatorTable | None = None
    """Of a CPU."""
    methods: MethodNote | None = None
    """The plan's time by events and its kernels' by ncu, where both are whole."""

    @property
    def verdicts(self) -> dict[str, Diagnosis]:
        """The verdict on each kernel by its name."""
        return {verdict.stage: verdict for verdict in self.diagnosis.stages}

    @property
    def plan(self) -> PlanIdentity:
        """Which plan it is."""
        return self.profile.plan or PlanIdentity(kernel="unnamed", version="")

    @property
    def title(self) -> str:
        """`flash_mla v1`."""
        return f"{self.plan.kernel} {self.plan.version or 'base'}"


def headline(view: AnnotationView, place: str = "") -> list[str]:
    """`flash_mla v1 · cutile · b=32 … · NVIDIA H200 (cuda:0) · clocks not locked`."""
    plan = view.plan
    device = plain(view.profile.environment.device or "device n/a")
    parts = [view.title, plan.language, params_text(plan.params)]
    parts.append(f"{device} ({place})" if place else device)
    return flow([*parts, _state(view)], indent="  ")


def is_cpu(view: AnnotationView) -> bool:
    """Whether it ran on a CPU."""
    return view.operators is not None


def speaker(view: AnnotationView, kernels: tuple[Stage, ...]) -> Diagnosis:
    """The verdict that stands for a stage of several kernels: its longest in the leading class."""
    verdicts = view.verdicts
    weights: dict[str, float] = {}
    for kernel in kernels:
        bound = verdicts[kernel.name].bound
        weights[bound] = weights.get(bound, 0.0) + (kernel.value("duration") or 0.0)
    leading = max(weights, key=weights.__getitem__)
    own = [kernel for kernel in kernels if verdicts[kernel.name].bound == leading]
    return verdicts[max(own, key=lambda kernel: kernel.value("duration") or 0.0).name]


def _state(view: AnnotationView) -> str:
    machine = view.timing.machine if view.timing else None
    if machine is not None and machine.threads is not None:
        return units.count(machine.threads, "thread")
    if is_cpu(view):
        return "CPU"
    return units.clock_state(view.profile.environment.clocks_locked)
