"""The reports of a timeline from `profile.json` and `spans.json`."""

import gc
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from mla_var3.analyse.timeline import analyse_timeline
from mla_var3.core import artifacts
from mla_var3.core.errors import NotFound, NoUsableData
from mla_var3.core.timeline import Timeline, load_timeline
from mla_var3.core.timeline_findings import TimelineFindings
from mla_var3.render.contract import Contract
from mla_var3.render.event_contract import build_event_contract
from mla_var3.render.timeline_csv import csv_files
from mla_var3.render.timeline_report import render_timeline_report
from mla_var3.render.timeline_screen import TimelineRequest, render_timeline
from mla_var3.render.timeline_svg import timeline_svg
from mla_var3.render.timeline_trace import chrome_trace
from mla_var3.render.timeline_view import TimelineView
from mla_var3.runtime.diagnosing import Diagnosed

__all__ = ["TimelineRequest", "contract", "files", "report", "screen", "view_of"]


def view_of(read: Diagnosed, folder: Path) -> TimelineView:
    """Record, diagnosis and findings of a profile; raises `NoUsableData` without its spans."""
    seen = _seen(folder / artifacts.SPANS)
    plan = read.profile.plan
    return TimelineView(
        title=f"{plan.kernel} {plan.version or 'base'}" if plan else read.title,
        profile=read.profile,
        diagnosis=read.diagnosis,
        timeline=seen.timeline,
        findings=seen.findings,
    )


def contract(read: Diagnosed, folder: Path) -> Contract:
    """Raises `NoUsableData` where no stage has a class: without a plan none has."""
    return build_event_contract(read.profile, read.diagnosis)


def report(read: Diagnosed, folder: Path, no_contract: str) -> str:
    """`report.md`."""
    return render_timeline_report(view_of(read, folder), no_contract)


def files(read: Diagnosed, folder: Path) -> dict[str, bytes]:
    """The six tables, the picture and the trace, by file name."""
    view = view_of(read, folder)
    with _uncollected():
        return csv_files(view) | {
            artifacts.TIMELINE_SVG: timeline_svg(view),
            artifacts.TIMELINE_JSON: chrome_trace(view),
        }


def screen(read: Diagnosed, folder: Path, request: TimelineRequest) -> str:
    """The whole screen."""
    return render_timeline(view_of(read, folder), request)


class _Seen(NamedTuple):
    digest: bytes
    timeline: Timeline
    findings: TimelineFindings


_last: list[_Seen] = []
"""What the last spans gave: a command makes several texts of the same file."""


def _seen(path: Path) -> _Seen:
    """The spans and what is concluded from them, again only where the file is another one."""
    try:
        digest = hashlib.sha256(path.read_bytes()).digest()
    except OSError:
        raise NoUsableData(f"INVALID {path.parent.name}: no {path.name}, all spans") from None
    if not _last or _last[0].digest != digest:
        try:
            timeline = load_timeline(path)
        except NotFound as error:
            raise NoUsableData(str(error)) from error
        with _uncollected():
            _last[:] = [_Seen(digest, timeline, analyse_timeline(timeline))]
    return _last[0]


@contextmanager
def _uncollected() -> Iterator[None]:
    """Many small objects that all stay: a look for garbage takes a fifth of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
