"""Everything that the short report, the screen and our reading of an ncu profile show."""

import msgspec

from mla_var3 import conf
from mla_var3.core import artifacts, units
from mla_var3.core.annotation import AnnotationRun
from mla_var3.core.device import Device
from mla_var3.core.diagnosis import ProfileDiagnosis
from mla_var3.core.ncu_facts import NcuFacts
from mla_var3.core.recommendation import Recommendation
from mla_var3.core.record import Profile, Stage
from mla_var3.render.annotation_view import AnnotationView
from mla_var3.render.layout import shorten

MESSAGE = 120
"""NVIDIA's own text is cut there, where it stands for an action of ours."""


class NcuView(msgspec.Struct, frozen=True, kw_only=True):
    """The record, its diagnosis, NVIDIA's recommendations, and how all of it was taken."""

    title: str
    """The plan, or the file that was imported."""
    profile: Profile
    diagnosis: ProfileDiagnosis
    device: Device | None = None
    recommendations: dict[str, tuple[Recommendation, ...]] = {}
    """By the kernel's name."""
    facts: NcuFacts | None = None
    """None: an imported report does not tell how it was taken."""
    files: frozenset[str] = frozenset()
    """Names of the files that lie in the folder, below it."""

    @property
    def as_stages(self) -> AnnotationView:
        """What the tables of stages are made from."""
        return AnnotationView(
            profile=self.profile, diagnosis=self.diagnosis, run=AnnotationRun(no_event="by ncu")
        )


def limit(name: str) -> int:
    """A figure of the report by its name in conf/ncu.json."""
    return int(conf.table("ncu")["limits"][name]["value"])


def measure_text(facts: NcuFacts) -> str:
    """`ncu 38 passes 21.3 s (2 launches, all sections, cold caches)`."""
    passes = f"{facts.passes} passes " if facts.passes else ""
    seconds = f"{facts.seconds:.1f} s " if facts.seconds is not None else ""
    runs = f", the median of {facts.runs} runs" if facts.runs > 1 else ""
    launches = "1 launch" if facts.launches == 1 else f"{facts.launches} launches"
    return f"ncu {passes}{seconds}({launches}{runs}, all sections, {facts.cache} caches)"


def spread_text(stage: Stage) -> str:
    """`3 launches, 610.1 to 615.0 µs`; empty where one stands for itself."""
    low, high, number = (stage.value(key) for key in ("duration_min", "duration_max", "samples"))
    if low is None or high is None or not number:
        return ""
    return f"{number:.0f} launches, {units.microseconds(low)} to {units.duration(high)}"


def recommendation_text(item: Recommendation, how: bool = True) -> str:
    """`Small Grid: ncu says up to 53 %, ours 12 % (roofline gap): give every SM a block`."""
    theirs = round(item.ncu_pct or 0.0, 1)
    said = f"ncu says up to {units.gain(theirs)} %" if item.ncu_pct is not None else ""
    if item.ours_pct is None:
        ours = ", ours unknown: no roof was read"
    elif units.gain(item.ours_pct) == units.gain(theirs):
        ours = ", ours no lower"
    else:
        ours = f", ours {units.gain(item.ours_pct)} % ({item.bound})"
    part = " of a part of the kernel" if item.scope == "LOCAL" else ""
    asks = item.action or shorten(item.message, MESSAGE)
    more = f": {item.how}" if how and item.action and item.how else ""
    return f"{item.title}: {said}{part}{ours}{f': {asks}{more}' if asks else ''}"


def kept(view: NcuView, kernel: str) -> list[Recommendation]:
    """NVIDIA's recommendations that hold, the most useful first."""
    return [item for item in view.recommendations.get(kernel, ()) if not item.dropped]


def files_of(view: NcuView, kernel: str) -> list[str]:
    """The files of one kernel that are there, below the profile's folder."""
    folder = artifacts.folder_names(stage.name for stage in view.profile.stages)[kernel]
    names = (
        artifacts.annotated_file(folder),
        artifacts.sass_file(folder, "md"),
        artifacts.ptx_file(folder),
        artifacts.ptx_lines_file(folder),
    )
    return [name for name in names if name in view.files]
