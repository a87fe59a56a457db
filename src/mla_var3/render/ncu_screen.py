"""What `--prof_type=ncu` shows: stages, why, what to try, and what NVIDIA recommends."""

from mla_var3.core import artifacts, units
from mla_var3.render.annotation_screen import (
    COLUMN,
    AnnotationRequest,
    aligned,
    labelled,
)
from mla_var3.render.annotation_tables import stage_rows
from mla_var3.render.annotation_view import headline
from mla_var3.render.layout import WIDTH
from mla_var3.render.ncu_report import NVIDIA
from mla_var3.render.ncu_view import (
    NcuView,
    kept,
    limit,
    measure_text,
    recommendation_text,
    spread_text,
)
from mla_var3.render.screen import longest, remarks
from mla_var3.render.static_screen import commands


def render_ncu_screen(view: NcuView, request: AnnotationRequest, place: str = "") -> str:
    """The whole screen as plain text at most 100 columns wide; `place` is `cuda:0`."""
    lines = headline(view.as_stages, place)
    lines += labelled("measure", measure_text(view.facts) if view.facts else "")
    lines += [""]
    if view.profile.failure:
        lines += [*labelled(view.profile.status, view.profile.failure), ""]
    lines += aligned(stage_rows(view.as_stages))
    lines += ["", *labelled("Why", view.diagnosis.root_cause)]
    for number, item in enumerate(view.diagnosis.opportunities, start=1):
        bound = f" ({item.bound})" if item.bound else ""
        text = f"{number}. {item.name}, up to {units.gain(item.gain_pct)} %{bound}"
        lines += labelled("Try" if number == 1 else "", f"{text} · trigger: {item.trigger}")
    lines += _nvidia(view)
    for text in _notes(view):
        lines += labelled("note", text)
    lines += ["", *_files(view, request)]
    if request.no_contract:
        lines += labelled("contract", request.no_contract)
    steps = commands(request.next_steps, COLUMN)
    if steps:
        lines += [f"{'next'.ljust(COLUMN)}{steps[0].strip()}", *steps[1:]]
    return "\n".join(lines) + "\n"


def _nvidia(view: NcuView) -> list[str]:
    """NVIDIA's recommendations for the longest kernel that has any that hold."""
    stages = sorted(view.profile.stages, key=lambda stage: -(stage.value("duration") or 0.0))
    for stage in stages:
        shown = kept(view, stage.name)[: limit("recommendations")]
        if not shown:
            continue
        of = f"{stage.name}: " if len(stages) > 1 else ""
        lines: list[str] = []
        for number, item in enumerate(shown):
            text = f"{of}{recommendation_text(item, how=False)}"
            lines += labelled(NVIDIA if number == 0 else "", text)
        return lines
    return labelled(NVIDIA, "no recommendation holds here") if stages else []


def _notes(view: NcuView) -> list[str]:
    texts = [text for text in remarks(view.profile, view.diagnosis, view.device)]
    texts = [text for text in texts if text != view.profile.failure]
    for stage in longest(view.profile.stages, limit("detailed")):
        spread = spread_text(stage)
        texts += [f"{stage.name}: {spread}"] if spread else []
    return texts


def _files(view: NcuView, request: AnnotationRequest) -> list[str]:
    """Where the reports lie, and what else lies there."""
    folders = {name.partition("/")[0] for name in view.files}
    names = (artifacts.REPORT_VERBOSE_MD, artifacts.SOURCE, artifacts.SASS, artifacts.PTX)
    others = [name if "." in name else f"{name}/" for name in names if name in folders]
    line = f"{'report'.ljust(COLUMN)}{request.folder}/{artifacts.REPORT_MD}"
    if not others:
        return [line]
    both = f"{line}  ({', '.join(others)})"
    return [both] if len(both) <= WIDTH else [line, f"{' ' * COLUMN}({', '.join(others)})"]
