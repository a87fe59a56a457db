"""What the texts of a timeline are made from, and the words that they share."""

import msgspec

from mla_var3 import conf
from mla_var3.core import units
from mla_var3.core.diagnosis import ProfileDiagnosis
from mla_var3.core.params import params_text
from mla_var3.core.record import Profile
from mla_var3.core.timeline import Timeline
from mla_var3.core.timeline_findings import (
    DeviceFigures,
    Scope,
    StreamKey,
    TimelineFindings,
    stream_labels,
)
from mla_var3.render.layout import flow, plain


class TimelineView(msgspec.Struct, frozen=True, kw_only=True):
    """Record, diagnosis, spans and what was concluded from them."""

    title: str
    """`demo_concurrent base`, or the name of an imported file."""
    profile: Profile
    diagnosis: ProfileDiagnosis
    timeline: Timeline
    findings: TimelineFindings

    @property
    def scopes(self) -> tuple[Scope, Scope]:
        return self.findings.capture, self.findings.window

    @property
    def labels(self) -> dict[StreamKey, str]:
        """`stream 13`, by stream."""
        return stream_labels(stream.key for stream in self.findings.capture.streams)

    @property
    def on_cpu(self) -> bool:
        """Whether nothing ran on a GPU."""
        return all(device.device < 0 for device in self.findings.capture.devices)

    def device_name(self, device: int) -> str:
        """`GPU 0 NVIDIA H200`; the CPU is device -1."""
        if device < 0:
            return "CPU"
        known = [one for one in self.timeline.devices if one.ordinal == device]
        if not known and len(self.timeline.devices) == 1:
            known = list(self.timeline.devices)
        return f"GPU {device} {plain(known[0].name)}" if known else f"GPU {device}"

    def call_name(self, call: int) -> str:
        """`cudaLaunchKernel` of `cudaLaunchKernel_v7000`; empty for none."""
        if call < 0:
            return ""
        return short_call(self.timeline.names[self.timeline.calls[call].name])

    @property
    def call_names(self) -> list[str]:
        """Name of every call, by its position; the one after the last, -1, is empty."""
        names = [short_call(name) for name in self.timeline.names]
        return [*(names[call.name] for call in self.timeline.calls), ""]

    def operation_name(self, position: int) -> str:
        """Short name of what ran."""
        return self.timeline.shape_of(self.timeline.operations[position]).name

    def range_name(self, position: int) -> str:
        return self.timeline.names[self.timeline.ranges[position].name]


def short_call(name: str) -> str:
    """An API call's name without the version that CUPTI appends: `_v7000`."""
    stem, mark, number = name.rpartition("_v")
    return stem if mark and number.isdigit() else name


def headline(view: TimelineView) -> list[str]:
    """`demo_concurrent base · torch · n=4096 … · NVIDIA H200 · nsys 2025.3.2 · clocks locked`."""
    plan = view.profile.plan
    parts = [view.title]
    if plan is not None:
        parts += [plan.language, params_text(plan.params)]
    device = view.profile.environment.device
    if not device:
        device = ", ".join(dict.fromkeys(one.name for one in view.timeline.devices))
    parts += [plain(device) if device else "a device that is not told"]
    tool = view.timeline.tool
    parts.append(f"{tool} ({view.timeline.collector})" if named_apart(view) else tool)
    if not view.on_cpu:
        parts.append(clocks_text(view))
    return flow([part for part in parts if part], indent="  ")


def named_apart(view: TimelineView) -> bool:
    """Whether the tool's own name does not tell the collector: `torch 2.11.0`."""
    return not view.timeline.tool.startswith(view.timeline.collector)


def clocks_text(view: TimelineView) -> str:
    locked = view.profile.environment.clocks_locked
    if locked is None:
        return "clock lock not told"
    return "clocks locked" if locked else "clocks not locked"


def scope_text(view: TimelineView) -> str:
    """`2.36 of 194.6 ms captured: from the first to the last operation …`."""
    capture, window = view.scopes
    return (
        f"{units.total(window.length_ns)} of {units.total(capture.length_ns)} captured: "
        f"{view.findings.window_rule}"
    )


def idle_pct(device: DeviceFigures, scope: Scope) -> float | None:
    """Share of a scope in which a device idled; None in a scope of no length."""
    return 100.0 * device.idle_ns / scope.length_ns if scope.length_ns else None


def percent(value: float | None) -> str:
    """`48.6 %`."""
    return units.NA if value is None else f"{value:.1f} %"


def words(kind: str) -> dict[str, str]:
    """Texts of conf/timeline.json: `verdicts`, `causes`, `advice`."""
    found: dict[str, str] = conf.table("timeline")["words"][kind]
    return found
