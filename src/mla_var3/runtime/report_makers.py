"""What makes the report, the contract and the screen of each mode, from record and folder."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from mla_var3.core import artifacts
from mla_var3.core.errors import NotFound, NoUsableData
from mla_var3.core.record import PlanIdentity, Profile
from mla_var3.core.target import arch
from mla_var3.core.timing import Timing, load_timing
from mla_var3.render.contract import Contract, build_contract
from mla_var3.render.static_screen import StaticRequest
from mla_var3.runtime.diagnosing import Diagnosed


class Shown(NamedTuple):
    """How the screen names what it leads to."""

    place: str
    """The profile's folder, as the user would type it."""
    steps: tuple[tuple[str, str], ...] = ()
    """Commands to type next, and what each gives."""
    top: int = 10
    """Kernels shown of a report, the longest ones."""


class Maker(NamedTuple):
    """How the texts of one mode are made."""

    contract: Callable[[Diagnosed, Path], Contract]
    report: Callable[[Diagnosed, Path, str], str]
    """From the record, the profile's folder, and why there is no contract."""
    screen: Callable[[Diagnosed, Path, str, Shown], str]
    plots: Callable[[Diagnosed, Path], dict[str, bytes]] = lambda read, folder: {}
    """Other files by name: pictures, and what is made beside the report."""


def maker_of(profile: Profile) -> Maker:
    """What makes the texts of a record, by its mode; raises `NoUsableData` for a mode without."""
    maker = MAKERS.get(profile.mode)
    if maker is None:
        known = ", ".join(MAKERS)
        raise NoUsableData(f"no report is made of mode {profile.mode} yet; of these: {known}")
    return maker


def static_request(
    profile: Profile,
    place: str = "",
    no_contract: str = "",
    steps: tuple[tuple[str, str], ...] = (),
) -> StaticRequest:
    """What the screen and the report of `static` show beside the record."""
    from mla_var3.analyse.predict import total
    from mla_var3.analyse.static_findings import advice
    from mla_var3.render.static_table import Totals

    compiled_for = _arch(profile)
    return StaticRequest(
        arch=compiled_for,
        folder=place,
        totals=Totals(*total(profile.stages)),
        advice=advice(profile.stages, compiled_for),
        no_contract=no_contract,
        next_steps=steps,
    )


def _ncu_contract(read: Diagnosed, folder: Path) -> Contract:
    return build_contract(read.profile, read.diagnosis, read.stem)


def _ncu_report(read: Diagnosed, folder: Path, no_contract: str) -> str:
    from mla_var3.runtime.ncu_reports import report

    return report(read, folder, no_contract)


def _ncu_verbose(read: Diagnosed, folder: Path) -> dict[str, bytes]:
    from mla_var3.runtime.ncu_reports import verbose

    return verbose(read, folder)


def _ncu_screen(read: Diagnosed, folder: Path, no_contract: str, shown: Shown) -> str:
    if read.profile.plan is None:
        return file_screen(read, shown)
    from mla_var3.runtime.ncu_reports import AnnotationRequest, screen

    request = AnnotationRequest(folder=shown.place, no_contract=no_contract, next_steps=shown.steps)
    return screen(read, folder, request)


def file_screen(read: Diagnosed, shown: Shown) -> str:
    """The screen of a report that was recorded elsewhere."""
    from mla_var3.render.screen import ScreenRequest, render_screen

    step = shown.steps[0] if shown.steps else ("", "")
    request = ScreenRequest(title=read.title, device=read.device, top=shown.top, next_step=step)
    return render_screen(read.profile, read.diagnosis, request)


def _static_contract(read: Diagnosed, folder: Path) -> Contract:
    from mla_var3.render.static_contract import build_static_contract

    return build_static_contract(read.profile, read.diagnosis)


def _static_report(read: Diagnosed, folder: Path, no_contract: str) -> str:
    from mla_var3.render.static_report import render_static_report

    return render_static_report(read.profile, read.diagnosis, static_request(read.profile))


def _static_screen(read: Diagnosed, folder: Path, no_contract: str, shown: Shown) -> str:
    from mla_var3.render.static_screen import headline, render_static

    profile = read.profile
    plan = profile.plan or PlanIdentity(kernel="unnamed", version="")
    first = headline(plan, profile.environment.device or _arch(profile), _arch(profile))
    request = static_request(profile, shown.place, no_contract, shown.steps)
    return "\n".join(first) + "\n" + render_static(profile, read.diagnosis, request)


def _event_contract(read: Diagnosed, folder: Path) -> Contract:
    from mla_var3.core.baseline import load_baseline
    from mla_var3.render.contract_baseline import with_baseline
    from mla_var3.render.event_contract import build_event_contract

    baseline = load_baseline(folder / artifacts.BASELINE)
    contract = build_event_contract(read.profile, read.diagnosis)
    return with_baseline(contract, baseline.before if baseline else None)


def _event_report(read: Diagnosed, folder: Path, no_contract: str) -> str:
    from mla_var3.render.event_report import render_event_report

    timing = _timing(folder)
    return render_event_report(read.profile, read.diagnosis, timing, no_contract)


def _event_screen(read: Diagnosed, folder: Path, no_contract: str, shown: Shown) -> str:
    from mla_var3.render.event_screen import EventRequest, device_text, headline, render_event

    timing = _timing(folder)
    first = headline(read.profile, device_text(timing))
    request = EventRequest(folder=shown.place, no_contract=no_contract, next_steps=shown.steps)
    return "\n".join(first) + "\n" + render_event(read.profile, read.diagnosis, timing, request)


def _annotation_contract(read: Diagnosed, folder: Path) -> Contract:
    from mla_var3.runtime.annotation_reports import contract

    return contract(read, folder)


def _annotation_report(read: Diagnosed, folder: Path, no_contract: str) -> str:
    from mla_var3.runtime.annotation_reports import report

    return report(read, folder, no_contract)


def _annotation_screen(read: Diagnosed, folder: Path, no_contract: str, shown: Shown) -> str:
    from mla_var3.runtime.annotation_reports import AnnotationRequest, screen

    request = AnnotationRequest(folder=shown.place, no_contract=no_contract, next_steps=shown.steps)
    return screen(read, folder, request)


def _annotation_plots(read: Diagnosed, folder: Path) -> dict[str, bytes]:
    from mla_var3.runtime.annotation_reports import plots

    return plots(read, folder)


def _timeline_contract(read: Diagnosed, folder: Path) -> Contract:
    from mla_var3.runtime.timeline_reports import contract

    return contract(read, folder)


def _timeline_report(read: Diagnosed, folder: Path, no_contract: str) -> str:
    from mla_var3.runtime.timeline_reports import report

    return report(read, folder, no_contract)


def _timeline_screen(read: Diagnosed, folder: Path, no_contract: str, shown: Shown) -> str:
    from mla_var3.runtime.timeline_reports import TimelineRequest, screen

    place = shown.place if read.stored else ""
    request = TimelineRequest(folder=place, no_contract=no_contract, next_steps=shown.steps)
    return screen(read, folder, request)


def _timeline_files(read: Diagnosed, folder: Path) -> dict[str, bytes]:
    from mla_var3.runtime.timeline_reports import files

    return files(read, folder)


def _timing(folder: Path) -> Timing:
    """The samples beside the record; a profile without them is damaged."""
    try:
        return load_timing(folder / artifacts.TIMING)
    except NotFound:
        raise NoUsableData(f"INVALID {folder.name}: no {artifacts.TIMING}, all samples") from None


def _arch(profile: Profile) -> str:
    """The architecture that a `static` profile was compiled for."""
    capability = profile.environment.compute_capability
    return arch(capability) if capability else "an unknown architecture"


MAKERS: dict[str, Maker] = {
    "annotation": Maker(
        _annotation_contract, _annotation_report, _annotation_screen, _annotation_plots
    ),
    "ncu": Maker(_ncu_contract, _ncu_report, _ncu_screen, _ncu_verbose),
    "event": Maker(_event_contract, _event_report, _event_screen),
    "static": Maker(_static_contract, _static_report, _static_screen),
    "nsys": Maker(_timeline_contract, _timeline_report, _timeline_screen, _timeline_files),
}
"""By mode of the record: a mode is added here, and its recipe calls `write_reports`."""
