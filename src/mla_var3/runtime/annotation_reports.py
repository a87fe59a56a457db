"""The reports of an annotation profile from the files of its folder."""

from pathlib import Path

import msgspec

from mla_var3.analyse import compare_model, cpu_roofline
from mla_var3.analyse.cross_method import note_of
from mla_var3.core import artifacts
from mla_var3.core.annotation import AnnotationRun, load_run
from mla_var3.core.errors import NotFound
from mla_var3.core.operators import load_operators
from mla_var3.core.timing import load_timing
from mla_var3.render.annotation_contract import build_annotation_contract
from mla_var3.render.annotation_plot import annotation_plot
from mla_var3.render.annotation_report import render_annotation_report
from mla_var3.render.annotation_screen import AnnotationRequest, render_annotation
from mla_var3.render.annotation_view import AnnotationView, headline
from mla_var3.render.contract import Contract
from mla_var3.runtime.diagnosing import Diagnosed

__all__ = ["AnnotationRequest", "contract", "plots", "report", "run_of", "screen", "view_of"]


def view_of(read: Diagnosed, folder: Path) -> AnnotationView:
    """Record, diagnosis and comparisons of a profile, with the files that lie beside it."""
    view = AnnotationView(profile=read.profile, diagnosis=read.diagnosis, run=run_of(folder))
    if (folder / artifacts.TIMING).is_file():
        timing = load_timing(folder / artifacts.TIMING)
        view = msgspec.structs.replace(view, timing=timing)
    if cpu_roofline.is_cpu(read.profile):
        return msgspec.structs.replace(
            view,
            operators=load_operators(folder / artifacts.OPERATORS),
            rooflines=cpu_roofline.roofline_rows(read.profile),
            roofs=cpu_roofline.roofs(read.profile),
        )
    return msgspec.structs.replace(
        view,
        rooflines=compare_model.roofline_rows(read.profile, read.device),
        work=compare_model.work_rows(read.profile, read.device),
        roofs=compare_model.roofs(read.profile, read.device),
        methods=None if view.run.cut else note_of(read.profile),
    )


def run_of(folder: Path) -> AnnotationRun:
    """How the profile was taken; without its file nothing is told of that."""
    try:
        return load_run(folder / artifacts.ANNOTATION)
    except NotFound:
        return AnnotationRun(no_event="annotation.json is not here")


def contract(read: Diagnosed, folder: Path) -> Contract:
    """Raises `NoUsableData` where no stage has a class."""
    return build_annotation_contract(read.profile, read.diagnosis, run_of(folder))


def report(read: Diagnosed, folder: Path, no_contract: str) -> str:
    """`report.md`."""
    return render_annotation_report(view_of(read, folder), no_contract)


def plots(read: Diagnosed, folder: Path) -> dict[str, bytes]:
    """The roofline plot by its file name."""
    return {artifacts.ROOFLINE_PLOT: annotation_plot(view_of(read, folder)).encode()}


def screen(read: Diagnosed, folder: Path, request: AnnotationRequest, place: str = "") -> str:
    """The whole screen; `place` is the device as it was typed: `cuda:0`."""
    view = view_of(read, folder)
    return "\n".join(headline(view, place)) + "\n" + render_annotation(view, request)
