"""The reports of an ncu profile from the files of its folder, recorded here or imported."""

from pathlib import Path

import msgspec

from mla_var3.analyse.recommendations import recommendations
from mla_var3.core import artifacts
from mla_var3.core.errors import NotFound
from mla_var3.core.ncu_facts import NcuFacts, load_facts
from mla_var3.core.record import PlanIdentity, Profile
from mla_var3.render.annotation_screen import AnnotationRequest
from mla_var3.render.ncu_reading import HEADING, render_reading
from mla_var3.render.ncu_report import render_ncu_report
from mla_var3.render.ncu_screen import render_ncu_screen
from mla_var3.render.ncu_view import NcuView
from mla_var3.runtime.diagnosing import Diagnosed

__all__ = ["AnnotationRequest", "report", "screen", "verbose", "view_of", "write_details"]

_LISTED = (artifacts.SOURCE, artifacts.SASS, artifacts.PTX)


def view_of(read: Diagnosed, folder: Path) -> NcuView:
    """Record, diagnosis and recommendations of a profile, with the files that lie beside it."""
    profile = read.profile
    return NcuView(
        title=_title(profile.plan) if profile.plan else read.title,
        profile=profile,
        diagnosis=read.diagnosis,
        device=read.device,
        recommendations={
            stage.name: recommendations(stage, profile.environment, read.device)
            for stage in profile.stages
        },
        facts=_facts(folder),
        files=_files(folder),
    )


def report(read: Diagnosed, folder: Path, no_contract: str) -> str:
    """`report.md`."""
    return render_ncu_report(view_of(read, folder), no_contract)


def verbose(read: Diagnosed, folder: Path) -> dict[str, bytes]:
    """`report-verbose.md`: NVIDIA's sections where they were made, and our reading behind them."""
    file = folder / artifacts.REPORT_VERBOSE_MD
    sections = file.read_text(encoding="utf-8") if file.is_file() else ""
    sections = f"\n{sections}".partition(f"\n{HEADING}\n")[0].removeprefix("\n")
    own = render_reading(view_of(read, folder))
    whole = f"{sections.rstrip()}\n\n{own}" if sections.strip() else own
    return {artifacts.REPORT_VERBOSE_MD: whole.encode()}


def screen(read: Diagnosed, folder: Path, request: AnnotationRequest, place: str = "") -> str:
    """The whole screen of a plan's profile; `place` is the device as it was typed: `cuda:0`."""
    return render_ncu_screen(view_of(read, folder), request, place)


def write_details(profile: Profile, folder: Path) -> Profile:
    """Make report-verbose.md, source/, sass/ and ptx/ of the folder's report.

    Returns the profile with the warnings that came of it.
    """
    from mla_var3.runtime.ncu_files import write_ncu_files

    ptx = {}
    for stage in profile.stages:
        own = stage.nvtx[0] if stage.nvtx else stage.name
        found = sorted((folder / artifacts.compiled_folder(own)).glob("*.ptx"))
        if found and stage.name == own:
            ptx[stage.name] = found[0]
    told = write_ncu_files(folder / artifacts.FULL_REPORT, profile, folder, ptx)
    return msgspec.structs.replace(profile, warnings=(*profile.warnings, *told))


def _title(plan: PlanIdentity) -> str:
    return f"{plan.kernel} {plan.version or 'base'}"


def _facts(folder: Path) -> NcuFacts | None:
    try:
        return load_facts(folder / artifacts.NCU_FACTS)
    except NotFound:
        return None


def _files(folder: Path) -> frozenset[str]:
    """Names of the files that the report lists; the verbose one is made with it."""
    below = (path for name in _LISTED for path in (folder / name).rglob("*") if path.is_file())
    found = {path.relative_to(folder).as_posix() for path in below}
    return frozenset(found | {artifacts.REPORT_VERBOSE_MD})
